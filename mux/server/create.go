package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/limits"
	"gascity.dev/gc/mux/internal/nudge"
	"gascity.dev/gc/mux/internal/program"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keeper"
)

// enterFault is called when a session's program runs and the session is not entered yet;
// tests replace it.
var enterFault = func() {}

// create starts a session; that of a background command if command is not nil.
func (srv *server) create(r api.CreateRequest, command *commandStart) (*session, error) {
	if r.Cols == 0 {
		r.Cols = api.DefaultCols
	}
	if r.Rows == 0 {
		r.Rows = api.DefaultRows
	}
	if err := program.Check(&r); err != nil {
		return nil, err
	}
	if r.ID == "" {
		r.ID = newID(time.Now())
	}
	if err := srv.sessions.reserve(r.Name, r.ID); err != nil {
		return nil, err
	}
	s, err := srv.spawn(r, command)
	srv.sessions.release(r.Name, r.ID, err == nil)
	if err != nil {
		if errors.Is(err, unix.EMFILE) {
			err = api.ErrOpenFiles
		}
		return nil, err
	}
	return s, nil
}

// spawn starts the program of a reserved name and enters the session.
func (srv *server) spawn(r api.CreateRequest, command *commandStart) (*session, error) {
	rec := sessionRecord{
		ID: r.ID, Name: r.Name, Created: time.Now().UnixNano(), Cols: r.Cols, Rows: r.Rows,
		HistLines: r.ScrollbackLines, HistBytes: r.ScrollbackBytes, Recording: r.Recording, RecordMax: r.RecordingMax,
		Ready: r.ReadyPrefix, Rules: r.StatusRules, MaxedOut: r.LimitRules, Zone: zoneOf(r.Env), Composer: r.Composer,
		First: nudge.FirstPrint(r.FirstMessage), Reports: r.ReportsStatus, Interrupt: r.InterruptKeys, Stuck: r.StuckAfter,
	}
	if command != nil {
		rec.Exec, rec.Pipes, rec.Owner = true, command.pipes, command.owner
	}
	if err := srv.checkDescriptors(); err != nil {
		return nil, err
	}
	if r.Control {
		var err error
		if rec.Control, err = srv.newControl(); err != nil {
			return nil, err
		}
	}
	spec, shown, err := program.Spec(&r, program.Session{ID: rec.ID, Pipes: rec.Pipes, Env: rec.Control.environ()})
	if err != nil {
		return nil, err
	}
	rec.Command, rec.WorkDir = shown, spec.Dir
	if err := srv.meta.Put(rec.ID, r.Meta); err != nil {
		return nil, err
	}
	s, err := srv.launchLimited(spec, rec, r.Limits)
	if err != nil {
		_ = srv.meta.Drop(rec.ID)
		return nil, err
	}
	s.mu.Lock()
	s.storage.startRecording()
	s.output.open()
	s.mu.Unlock()
	enterFault()
	srv.mu.Lock()
	srv.sessions.enter(s, true)
	srv.events.emit(s, api.Event{Type: api.EventStarted}) // under mu, so before its exit is noticed
	later := srv.keeper.link
	srv.mu.Unlock()
	if later != s.life.spawner { // its keeper died, and the next one was given everything before this session existed
		if err := srv.keeper.give(later, s); err != nil {
			slog.Warn("cannot give a session to the new keeper", "session", s.rec.ID, "error", err)
		}
	}
	if err := srv.loop.Add(&s.tty); err != nil {
		srv.lifetime.work.Go(func() { _ = srv.reaper.kill(context.Background(), s, 0) }) // nothing would read its output
		return nil, fmt.Errorf("%w: %w", api.ErrSpawn, err)
	}
	srv.queue.SessionsChanged()
	srv.commands.OwnersChanged()
	srv.sessions.lateExit(s)
	return s, nil
}

// reservedFDs is how many descriptors no session may take, so that clients are served and
// trees ended even when sessions have used up all others.
const reservedFDs = 24

// checkDescriptors returns ErrSpawn if there are no others left.
func (srv *server) checkDescriptors() error {
	var l unix.Rlimit
	srv.mu.Lock()
	guess := 4*uint64(len(srv.sessions.byID)) + 256 // more than are open, apart from clients
	srv.mu.Unlock()
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil && guess < l.Cur {
		return nil
	}
	var probes []int
	defer func() { sys.CloseAll(probes) }()
	for range reservedFDs {
		fd, err := unix.FcntlInt(uintptr(srv.keeper.lock), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("%w: %w", api.ErrSpawn, err)
		}
		probes = append(probes, fd)
	}
	return nil
}

// launchLimited is launch with limits: in a cgroup, or without one if the program cannot
// be started in it.
func (srv *server) launchLimited(spec *keeper.Spec, rec sessionRecord, l api.Limits) (*session, error) {
	var group *limits.Cgroup
	if limits.WantsCgroup(l) {
		group = limits.Make(srv.settings.paths, rec.ID, l)
	}
	rec.Cgroup = group.Path()
	spec.Cgroup = rec.Cgroup
	spec.Rlimits, rec.Limits = limits.Plan(l, group)
	s, err := srv.launch(spec, rec)
	if err == nil || rec.Cgroup == "" {
		return s, err
	}
	if err := limits.Remove(rec.Cgroup); err != nil {
		slog.Warn("cannot remove a cgroup", "cgroup", rec.Cgroup, "error", err)
	}
	group = &limits.Cgroup{Reason: err.Error()}
	rec.Cgroup, spec.Cgroup = "", ""
	spec.Rlimits, rec.Limits = limits.Plan(l, group)
	return srv.launch(spec, rec)
}

// launch makes the journal and starts the program.
func (srv *server) launch(spec *keeper.Spec, rec sessionRecord) (*session, error) {
	var err error
	if rec.Slot, err = srv.journals.table.Alloc(); err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrSpawn, err)
	}
	fd, err := sys.NewMemory(srv.settings.paths.Dir, journal.Size)
	if err != nil {
		srv.journals.table.Release(rec.Slot)
		return nil, fmt.Errorf("%w: %w", api.ErrSpawn, err)
	}
	j, err := journal.Open(fd, srv.journals.table.At(rec.Slot))
	if err != nil {
		srv.journals.table.Release(rec.Slot)
		return nil, fmt.Errorf("%w: %w", api.ErrSpawn, err)
	}
	rec.Started = time.Now().UnixNano()
	spec.Data = rec.encode()
	link, p, err := srv.keeper.spawn(spec, fd)
	if err != nil {
		j.Close()
		srv.journals.table.Release(rec.Slot)
		return nil, err
	}
	if rec.Pipes && len(p.FDs) < 2 { // an older keeper gave a terminal
		_ = unix.Kill(-p.PID, unix.SIGKILL)
		_ = srv.keeper.current().Forget(rec.ID)
		sys.CloseAll(p.FDs)
		j.Close()
		srv.journals.table.Release(rec.Slot)
		return nil, fmt.Errorf("%w: the keeper is from an older gc and cannot make pipes; use a terminal or restart the mux", api.ErrSpawn)
	}
	s, err := newSession(srv, rec, p.PID, p.Start, p.FDs[0], j)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrSize, err) // checkSize excludes it
	}
	s.tty.stdin, s.life.spawner = newStdin(rec, p.FDs[1:]), link
	return s, nil
}

// newID returns a new session id. It begins with the creation time, so that ids sort by
// age.
func newID(now time.Time) string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%012x%s", now.UnixMilli(), hex.EncodeToString(b[:]))
}

// shutdown ends all sessions. ErrBusy if there are any, unless force.
func (srv *server) shutdown(ctx context.Context, force bool) error {
	all, err := srv.sessions.close(force)
	if err != nil {
		return err
	}
	if err := srv.reaper.killAll(ctx, all); err != nil {
		srv.sessions.reopen()
		return err
	}
	return nil
}

// zoneOf is TZ of an environment, "" if it is not set.
func zoneOf(env []string) (tz string) {
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "TZ="); ok {
			tz = value
		}
	}
	return tz
}

// zone is the time zone of the program; the server's if its own is not known.
func (r *sessionRecord) zone() *time.Location {
	if r.Zone == "" {
		return time.Local
	}
	zone, err := time.LoadLocation(strings.TrimPrefix(r.Zone, ":"))
	if err != nil {
		return time.Local
	}
	return zone
}
