package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// starter carries out starts, and what follows until the agent runs.
type starter struct {
	l      *loop
	ctx    context.Context // ends every start
	cancel context.CancelFunc
}

// start begins a new incarnation. Its identity is on record before the session
// exists.
func (sr *starter) begin(m *member, why string) {
	r, now := &m.seen.Record, time.Now()
	before := *r
	if r.Crashed {
		r.Restarted(now)
	}
	inst := agent.NewInstance(r.Epoch+1, now)
	r.ID, r.Epoch, r.Token, r.Started, r.Open = inst.ID, inst.Epoch, inst.Token, now, true
	r.StartedWith, r.Host, r.Served, r.Finished = m.spec.Hashes.Core, sr.l.o.ProviderName, false, false
	inst.Conversation, inst.Resume = converse(r, m.spec)
	if m.oneShot() {
		r.Job = session.Job{Run: sr.l.runID, Hash: m.spec.Hashes.Core}
	}
	ticket := sr.l.save(m)
	m.start.attempts++
	m.start.putOff, m.start.warning = "", ""
	sr.l.begin(m, opStart)
	sr.l.noteAgent(m, api.EventStarting, why, "")
	spec, limit := m.spec, sr.limit(m.spec)
	sr.l.ops.Go(func() {
		// Without the record a crash of the controller would lose the session.
		if err := ticket.Wait(); err != nil {
			sr.l.post(func() { sr.notSaved(m, before, err) })
			return
		}
		err := launch(sr.ctx, sr.l.p, spec, inst, limit)
		pushed := err == nil && pushes(sr.l.ops.ctx, sr.l.p, spec.Session)
		sr.l.post(func() {
			m.start.pushed = pushed
			sr.started(m, spec, err)
		})
	})
}

// converse chooses the conversation of the next incarnation, on its record.
func converse(r *session.Record, s *agent.Spec) (id string, resume bool) {
	by := s.Resolved.Provider
	if !s.Resumes() || r.ConversesBy != by {
		r.Conversation, r.Conversed = "", false
	}
	r.Resumed = r.Conversation != "" && r.Conversed
	if !r.Resumed && s.Resolved.SessionIDFlag != "" {
		r.Conversation, r.ConversesBy, r.Conversed = agent.NewConversation(), by, false
	}
	return r.Conversation, r.Resumed
}

// restOfStart is what the steps of a start may take that have limits of their
// own: until the process lives, dialogs, the nudge.
const restOfStart = 2 * time.Minute

// stepDone tells of a step that went wrong and did not end the start, or the
// live commands: nobody else would. It is called by the backend.
func (sr *starter) stepDone(s runtime.Step) {
	if s.Accepted != nil {
		sr.l.post(func() { sr.accepted(s.Session, *s.Accepted) })
		return
	}
	if !s.Warning {
		return
	}
	sr.l.post(func() {
		m := sr.l.agents.all[s.Session]
		if m == nil {
			return
		}
		text := strings.ReplaceAll(s.Err.Error(), "\n", "; ")
		m.start.warning = fmt.Sprintf("%s: %s", s.Name, text)
		sr.l.noteAgent(m, api.EventWarning, string(s.Name), text+", after "+s.Took.Round(time.Millisecond).String())
	})
}

// startLimit is the deadline of a whole start of an agent: startup_timeout for
// becoming ready and for each command before it, setup_timeout for each command
// after it.
func (sr *starter) limit(spec *agent.Spec) time.Duration {
	s, cfg := &sr.l.o.City.Session, &spec.Config
	setups := len(cfg.SessionSetup) + len(cfg.SessionLive) + 1
	return s.StartupTimeout*time.Duration(1+len(cfg.PreStart)) + s.SetupTimeout*time.Duration(setups) + restOfStart
}

// launch starts the session and marks it as this city's.
func launch(ctx context.Context, p runtime.Provider, spec *agent.Spec, inst agent.Instance, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cfg, err := spec.StartConfig(inst)
	if err != nil {
		return err
	}
	if err := p.Start(ctx, spec.Session, cfg); err != nil {
		return err
	}
	err = spec.Mark(ctx, p, inst)
	if errors.Is(err, runtime.ErrSessionNotFound) {
		return nil // it has ended already; its exit tells how
	}
	return err
}

// saveRetry is when a start is tried again whose record could not be saved.
const saveRetry = 2 * time.Second

// notSaved puts a start off that was not begun: it is no crash of the agent.
func (sr *starter) notSaved(m *member, before session.Record, err error) {
	r := &m.seen.Record
	before.Stopped, before.Suspended, before.Asleep, before.Drained = r.Stopped, r.Suspended, r.Asleep, r.Drained
	*r = before
	r.RetryAt = time.Now().Add(saveRetry)
	m.start.putOff = "not started, as the city's records cannot be saved: " + oneLine(err.Error())
	sr.l.endOp(m)
	sr.l.save(m)
	sr.l.noteAgent(m, api.EventStartFailed, "", m.start.putOff)
}

// started takes in the end of a start.
func (sr *starter) started(m *member, spec *agent.Spec, err error) {
	r := &m.seen.Record
	sr.l.endOp(m)
	if err != nil {
		sr.failed(m, err)
		return
	}
	r.LastError, r.LastHint, r.Conversed = "", "", r.Conversation != ""
	r.PutOff, r.Unsure = 0, false
	m.seen.Presence, m.seen.Owned, m.seen.Hashes, m.seen.LastActivity = plan.Alive, true, spec.Hashes, time.Now()
	m.foreign, m.seen.Drain, m.seen.RestartAsked = false, plan.Drain{}, false
	if m.spec != nil {
		m.seen.Occupant = ""
	}
	sr.l.save(m)
	if needsSettling(&spec.Config) {
		sr.confirm(m, spec)
		return
	}
	sr.running(m)
}

// runs takes in that an agent was seen to run.
func (sr *starter) running(m *member) {
	sr.l.noteAgent(m, api.EventStarted, "", "")
	m.watch.programAt = time.Time{}
	sr.l.pools.hook(m, "on_boot", onBoot)
	sr.attend(m)
	if m.oneShot() && !m.start.pushed {
		sr.l.observer.observe() // it may have ended already, and nobody will say so
	}
}

// pushes reports whether the end of a session is told by an event.
func pushes(ctx context.Context, p runtime.Provider, name string) bool {
	_, ok, err := runtime.AsFor[runtime.EventSource](ctx, p, name)
	return err == nil && ok
}

// startFailed accounts for a start that made no session.
func (sr *starter) failed(m *member, err error) {
	r, now := &m.seen.Record, time.Now()
	if errors.Is(err, runtime.ErrSessionExists) {
		sr.l.logf("%s: session %s exists already", m.name(), m.seen.Session)
		m.seen.Presence = plan.Unknown
		sr.l.observer.observe()
		return
	}
	if sr.ctx.Err() != nil {
		m.seen.Presence = plan.Unknown // the city is being stopped; the stop makes sure of it
		return
	}
	if runtime.IsBackendFailure(err) {
		sr.putOff(m, err)
		return
	}
	r.Open = false
	if r.Resumed { // it may be the conversation that cannot be taken up
		r.Conversation = ""
	}
	r.LastError, r.LastHint = oneLine(err.Error()), api.Hint(err)
	exit := whyNotStarted(r, err, now)
	m.seen.Presence = plan.Gone
	r.Crashed = true
	if m.oneShot() {
		r.Crashed = false
		r.Job.Done, r.Job.Code = true, max(exit.Code, 1)
		sr.l.noteEnd(m, api.EventStartFailed, r.LastExit, r.LastScreen, r.LastError)
		sr.l.save(m)
		return
	}
	if m.finishes(exit) {
		sr.l.stops.finished(m, exit, r.LastScreen)
		sr.l.save(m)
		return
	}
	r.Died(now, sr.l.budget())
	sr.l.noteEnd(m, api.EventStartFailed, nil, "", r.LastError)
	sr.l.stops.quarantined(m)
	sr.l.save(m)
}

// putOff backs off from a start that the backend failed. Whether there is a
// session is not known, so it is looked for before the next try.
func (sr *starter) putOff(m *member, err error) {
	r := &m.seen.Record
	r.LastError, r.LastHint = oneLine(err.Error()), api.Hint(err)
	m.seen.Presence, m.queryErr = plan.Unknown, r.LastError
	sr.backendFailed(m)
	sr.l.noteEnd(m, api.EventStartFailed, nil, "", r.LastError+"; tried again at "+r.RetryAt.UTC().Format(retryTime))
}

// backendFailed sets when a member whose start was put off is looked at again.
func (sr *starter) backendFailed(m *member) {
	r := &m.seen.Record
	r.BackendFailed(time.Now())
	sr.l.save(m)
	sr.l.observer.by(r.RetryAt)
}

// retryTime is how events write the time of the next try.
const retryTime = "15:04:05.000Z"

// exitNotFound is what a shell ends with when it does not find a command
// (POSIX, Shell Command Language, 2.8.2).
const (
	exitNotFound = 127
	notFoundHint = "the command of the agent was not found; check start_command (command) and PATH"
)

// whyNotStarted keeps what an error of a start tells: exit, screen, hint.
func whyNotStarted(r *session.Record, err error, now time.Time) *runtime.Exit {
	var death *runtime.StartupDeath
	var blocked *runtime.StartupBlocked
	switch {
	case errors.As(err, &death):
		r.LastScreen = death.Screen
		r.LastExit = &runtime.Exit{Code: death.Code, Signal: death.Signal, Reason: "died during startup", Time: now}
		if death.Code == exitNotFound && death.Signal == "" {
			r.LastExit.Reason, r.LastHint = "command not found", notFoundHint
		}
		return r.LastExit
	case errors.As(err, &blocked):
		r.LastScreen = blocked.Screen
		if r.LastHint == "" {
			r.LastHint = "answer it once by hand, or describe it in [[dialogs]]"
		}
	}
	return &runtime.Exit{Code: -1, Reason: "start failed", Time: now}
}
