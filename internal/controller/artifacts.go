package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/junit"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/internal/kept"
	"gascity.dev/gc/runtime"
)

// Recorder writes a session's recording, an asciicast. It returns
// runtime.ErrUnsupported if the backend keeps none.
type Recorder func(ctx context.Context, session string, w io.Writer) error

// Files in an agent's folder, which is below the artifacts' folder.
const (
	ArtifactScreen     = kept.Screen
	ArtifactScrollback = kept.Scrollback
	ArtifactCast       = kept.Cast
	ArtifactResult     = kept.Result
	ArtifactSummary    = "summary.json" // beside the agents' folders
	ArtifactJUnit      = "junit.xml"    // beside them: see [junit.Report]
)

// artifacts is what a run leaves behind.
type artifacts struct {
	p      runtime.Provider
	dir    string
	rows   int // of a screen
	status api.Status
	absent map[string]bool // sessions that did not run: what the backend keeps under the name is of an earlier run
	record Recorder        // may be nil
	began  time.Time       // of the run
	result error           // of the run
}

// artifacts collects what to keep of this run.
func (g *goal) artifacts(st api.Status, result error) artifacts {
	a := artifacts{
		p: g.p, dir: g.o.Artifacts, rows: g.o.City.Session.Size.Rows, status: st,
		absent: map[string]bool{}, record: g.o.Record,
		began: g.began, result: result,
	}
	for name, ag := range g.l.agents.all {
		ranBefore := ag.oneShot() && ag.seen.Record.Job.Run == g.runID // under an earlier controller
		a.absent[name] = ag.foreign || ag.start.attempts == 0 && ag.seen.Presence == plan.Gone && !ranBefore
	}
	return a
}

// write keeps each agent's last screen, scrollback, recording and result as
// JSON, and the city's status as JSON and as JUnit. A failure for one agent does
// not affect the others.
func (a *artifacts) write(ctx context.Context) error {
	if err := os.MkdirAll(a.dir, 0o755); err != nil {
		return fmt.Errorf("artifacts: %w", err)
	}
	var errs []error
	screens := map[string]string{}
	for _, s := range a.status.Agents {
		screen, err := a.agent(ctx, filepath.Join(a.dir, s.Session), s)
		if err != nil {
			errs = append(errs, fmt.Errorf("artifacts of %s: %w", s.Name, err))
		}
		screens[s.Session] = screen
	}
	errs = append(errs, writeJSON(filepath.Join(a.dir, ArtifactSummary), a.status))
	run := junit.Run{Status: a.status, Screens: screens, Result: a.result, Began: a.began, Now: time.Now()}
	var blocked *BlockedError
	if errors.As(a.result, &blocked) {
		run.Blocked = blocked.Agent
	}
	report, err := junit.Report(run)
	if err == nil {
		err = writeFile(filepath.Join(a.dir, ArtifactJUnit), report)
	}
	return errors.Join(append(errs, err)...)
}

// agent keeps the files of one agent and returns its last screen.
func (a *artifacts) agent(ctx context.Context, dir string, s api.AgentStatus) (screen string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	errs := []error{writeJSON(filepath.Join(dir, ArtifactResult), s)}
	for _, f := range []struct {
		name  string
		lines int
	}{{ArtifactScreen, a.rows}, {ArtifactScrollback, 0}} {
		text, err := a.peek(ctx, s.Session, f.lines)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if text != "" {
			text += "\n"
		}
		if f.name == ArtifactScreen {
			screen = text
		}
		errs = append(errs, writeFile(filepath.Join(dir, f.name), []byte(text)))
	}
	if a.record != nil && !a.absent[s.Session] {
		errs = append(errs, writeRecording(ctx, filepath.Join(dir, ArtifactCast), s.Session, a.record))
	}
	return screen, errors.Join(errs...)
}

// peek returns "" for a session that never ran or is no longer kept.
func (a *artifacts) peek(ctx context.Context, session string, lines int) (string, error) {
	if a.absent[session] {
		return "", nil
	}
	text, err := query.Ask(ctx, func(ctx context.Context) (string, error) { return a.p.Peek(ctx, session, lines) })
	if errors.Is(err, runtime.ErrSessionNotFound) {
		return "", nil
	}
	return text, err
}

// writeRecording writes one recording; without support it leaves no file.
func writeRecording(ctx context.Context, path, session string, rec Recorder) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = errors.Join(rec(ctx, session, f), f.Close())
	if err == nil {
		return nil
	}
	os.Remove(path)
	if errors.Is(err, runtime.ErrUnsupported) || errors.Is(err, runtime.ErrSessionNotFound) {
		return nil
	}
	return err
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, append(b, '\n'))
}

// writeFile writes a whole file or, as on a full disk, leaves none.
func writeFile(path string, b []byte) error {
	err := os.WriteFile(path, b, 0o644)
	if err != nil {
		os.Remove(path)
	}
	return err
}

// keepEvery is how often everything that the city keeps is counted.
const keepEvery = 5 * time.Minute

// keep removes the oldest files and recordings of ended sessions when the city keeps too
// much, now and from time to time until the workers end.
func (l *loop) keep() {
	l.ops.Go(func() {
		tick := time.NewTicker(keepEvery)
		defer tick.Stop()
		last := "" // a host that is away is logged once
		for {
			err := l.keepWithin(l.ops.ctx)
			if l.ops.ctx.Err() != nil {
				return
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != "" && text != last {
				l.logf("kept files: %s", text)
			}
			last = text
			select {
			case <-tick.C:
			case <-l.ops.ctx.Done():
				return
			}
		}
	})
}

func (l *loop) keepWithin(ctx context.Context) error {
	var city *config.City
	if err := l.do(ctx, func() { city = l.o.City }); err != nil {
		return err
	}
	max := int64(city.Daemon.MaxKept)
	items, err := kept.Find(city.Dir)
	recordings, errRecordings := query.Ask(ctx, func(ctx context.Context) ([]kept.Item, error) {
		return kept.Recordings(ctx, l.p, city.Dir)
	})
	items = append(items, recordings...)
	over := kept.Total(items) - max
	errs := []error{err, errRecordings}
	for _, it := range kept.Oldest(items, max) {
		if over <= 0 {
			break
		}
		removed, err := l.removeKept(ctx, it)
		if removed {
			over -= it.Bytes
			l.logf("removed %s, %d bytes: the city keeps at most %d ([daemon] max_kept)", it.What(), it.Bytes, max)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// removeKept removes what is kept of a session unless it may live. The loop removes the
// files of an agent, which cannot be started meanwhile.
func (l *loop) removeKept(ctx context.Context, it kept.Item) (removed bool, err error) {
	if it.Recording != nil {
		return query.Ask(ctx, func(ctx context.Context) (bool, error) { return kept.RemoveRecording(ctx, l.p, it) })
	}
	if run, err := filepath.Abs(l.o.Artifacts); it.Artifacts && (err != nil || l.o.Artifacts != "" && filepath.Dir(it.Dir) == run) {
		return false, err // of this run
	}
	known := it.Artifacts
	if e := l.do(ctx, func() {
		if ag := l.agents.all[it.Session]; ag != nil && !it.Artifacts {
			known = true
			if ag.op.name != "" || ag.seen.Presence != plan.Gone {
				return
			}
		}
		if known {
			err = it.Remove()
			removed = err == nil
		}
	}); e != nil || known {
		return removed, errors.Join(e, err)
	}
	lives, err := query.Ask(ctx, func(ctx context.Context) (bool, error) { return l.p.IsRunning(ctx, it.Session) })
	if err != nil || lives {
		return false, nil // unknown is not dead
	}
	err = it.Remove()
	return err == nil, err
}
