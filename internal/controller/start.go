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

// start begins a new incarnation. Its identity is on record before the session
// exists.
func (l *loop) start(m *member, why string) {
	r, now := &m.seen.Record, time.Now()
	before := *r
	if r.Crashed {
		r.Restarted(now)
	}
	inst := agent.NewInstance(r.Epoch+1, now)
	r.ID, r.Epoch, r.Token, r.Started, r.Open = inst.ID, inst.Epoch, inst.Token, now, true
	r.StartedWith, r.Host, r.Served, r.Finished = m.spec.Hashes.Core, l.o.ProviderName, false, false
	inst.Conversation, inst.Resume = converse(r, m.spec)
	if m.oneShot() {
		r.Job = session.Job{Run: l.runID, Hash: m.spec.Hashes.Core}
	}
	ticket := l.save(m)
	m.attempts++
	m.notStarted, m.warning = "", ""
	l.begin(m, opStart)
	l.noteAgent(m, api.EventStarting, why, "")
	spec, limit := m.spec, l.startLimit(m.spec)
	l.work.Go(func() {
		// Without the record a crash of the controller would lose the session.
		if err := ticket.Wait(); err != nil {
			l.post(func() { l.notSaved(m, before, err) })
			return
		}
		err := launch(l.starts, l.p, spec, inst, limit)
		pushed := err == nil && pushes(l.opCtx, l.p, spec.Session)
		l.post(func() {
			m.pushed = pushed
			l.started(m, spec, err)
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
func (l *loop) stepDone(s runtime.Step) {
	if s.Accepted != nil {
		l.post(func() { l.accepted(s.Session, *s.Accepted) })
		return
	}
	if !s.Warning {
		return
	}
	l.post(func() {
		m := l.members[s.Session]
		if m == nil {
			return
		}
		text := strings.ReplaceAll(s.Err.Error(), "\n", "; ")
		m.warning = fmt.Sprintf("%s: %s", s.Name, text)
		l.noteAgent(m, api.EventWarning, string(s.Name), text+", after "+s.Took.Round(time.Millisecond).String())
	})
}

// startLimit is the deadline of a whole start of an agent: startup_timeout for
// becoming ready and for each command before it, setup_timeout for each command
// after it.
func (l *loop) startLimit(spec *agent.Spec) time.Duration {
	s, cfg := &l.o.City.Session, &spec.Config
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
func (l *loop) notSaved(m *member, before session.Record, err error) {
	r := &m.seen.Record
	before.Stopped, before.Suspended, before.Asleep, before.Drained = r.Stopped, r.Suspended, r.Asleep, r.Drained
	*r = before
	r.RetryAt = time.Now().Add(saveRetry)
	m.notStarted = "not started, as the city's records cannot be saved: " + oneLine(err.Error())
	l.endOp(m)
	l.save(m)
	l.noteAgent(m, api.EventStartFailed, "", m.notStarted)
}

// started takes in the end of a start.
func (l *loop) started(m *member, spec *agent.Spec, err error) {
	r := &m.seen.Record
	l.endOp(m)
	if err != nil {
		l.startFailed(m, err)
		return
	}
	r.LastError, r.LastHint, r.Conversed = "", "", r.Conversation != ""
	r.PutOff, r.Unsure = 0, false
	m.seen.Presence, m.seen.Owned, m.seen.Hashes, m.seen.LastActivity = plan.Alive, true, spec.Hashes, time.Now()
	m.foreign, m.seen.Drain, m.seen.RestartAsked = false, plan.Drain{}, false
	if m.spec != nil {
		m.runs = ""
	}
	l.save(m)
	if needsSettling(&spec.Config) {
		l.settleStart(m, spec)
		return
	}
	l.runs(m)
}

// runs takes in that an agent was seen to run.
func (l *loop) runs(m *member) {
	l.noteAgent(m, api.EventStarted, "", "")
	m.watchAt = time.Time{}
	l.hook(m, "on_boot", onBoot)
	l.attend(m)
	if m.oneShot() && !m.pushed {
		l.look() // it may have ended already, and nobody will say so
	}
}

// pushes reports whether the end of a session is told by an event.
func pushes(ctx context.Context, p runtime.Provider, name string) bool {
	_, ok, err := runtime.AsFor[runtime.EventSource](ctx, p, name)
	return err == nil && ok
}

// startFailed accounts for a start that made no session.
func (l *loop) startFailed(m *member, err error) {
	r, now := &m.seen.Record, time.Now()
	if errors.Is(err, runtime.ErrSessionExists) {
		l.logf("%s: session %s exists already", m.name(), m.seen.Session)
		m.seen.Presence = plan.Unknown
		l.look()
		return
	}
	if l.starts.Err() != nil {
		m.seen.Presence = plan.Unknown // the city is being stopped; the stop makes sure of it
		return
	}
	if runtime.IsBackendFailure(err) {
		l.putOff(m, err)
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
		l.noteEnd(m, api.EventStartFailed, r.LastExit, r.LastScreen, r.LastError)
		l.save(m)
		return
	}
	if m.finishes(exit) {
		l.finished(m, exit, r.LastScreen)
		l.save(m)
		return
	}
	r.Died(now, l.budget())
	l.noteEnd(m, api.EventStartFailed, nil, "", r.LastError)
	l.quarantined(m)
	l.save(m)
}

// putOff backs off from a start that the backend failed. Whether there is a
// session is not known, so it is looked for before the next try.
func (l *loop) putOff(m *member, err error) {
	r := &m.seen.Record
	r.LastError, r.LastHint = oneLine(err.Error()), api.Hint(err)
	m.seen.Presence, m.queryErr = plan.Unknown, r.LastError
	l.backendFailed(m)
	l.noteEnd(m, api.EventStartFailed, nil, "", r.LastError+"; tried again at "+r.RetryAt.UTC().Format(retryTime))
}

// backendFailed sets when a member whose start was put off is looked at again.
func (l *loop) backendFailed(m *member) {
	r := &m.seen.Record
	r.BackendFailed(time.Now())
	l.save(m)
	l.lookBy(r.RetryAt)
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
