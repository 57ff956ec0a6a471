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
func (sr *starter) begin(ag *agentState, why string) {
	r, now := &ag.seen.Record, time.Now()
	before := *r
	if r.Crashed {
		r.Restarted(now)
	}
	inst := agent.NewInstance(r.Epoch+1, now)
	r.ID, r.Epoch, r.Token, r.Started, r.Open = inst.ID, inst.Epoch, inst.Token, now, true
	r.StartedWith, r.Host, r.Served, r.Finished = ag.spec.Hashes.Core, sr.l.o.ProviderName, false, false
	inst.Conversation, inst.Resume = converse(r, ag.spec)
	if ag.oneShot() {
		r.Job = session.Job{Run: sr.l.runID, Hash: ag.spec.Hashes.Core}
	}
	ticket := sr.l.save(ag)
	ag.start.attempts++
	ag.start.putOff, ag.start.warning = "", ""
	sr.l.begin(ag, opStart)
	sr.l.noteAgent(ag, api.EventStarting, why, "")
	spec, limit := ag.spec, sr.limit(ag.spec)
	sr.l.ops.Go(func() {
		// Without the record a crash of the controller would lose the session.
		if err := ticket.Wait(); err != nil {
			sr.l.post(func() { sr.notSaved(ag, before, err) })
			return
		}
		err := launch(sr.ctx, sr.l.p, spec, inst, limit)
		pushed := err == nil && pushes(sr.l.ops.ctx, sr.l.p, spec.Session)
		sr.l.post(func() {
			ag.start.pushed = pushed
			sr.started(ag, spec, err)
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
		ag := sr.l.agents.all[s.Session]
		if ag == nil {
			return
		}
		text := strings.ReplaceAll(s.Err.Error(), "\n", "; ")
		ag.start.warning = fmt.Sprintf("%s: %s", s.Name, text)
		sr.l.noteAgent(ag, api.EventWarning, string(s.Name), text+", after "+s.Took.Round(time.Millisecond).String())
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
func (sr *starter) notSaved(ag *agentState, before session.Record, err error) {
	r := &ag.seen.Record
	before.Stopped, before.Suspended, before.IdleStopped, before.Drained = r.Stopped, r.Suspended, r.IdleStopped, r.Drained
	*r = before
	r.RetryAt = time.Now().Add(saveRetry)
	ag.start.putOff = "not started, as the city's records cannot be saved: " + oneLine(err.Error())
	sr.l.endOp(ag)
	sr.l.save(ag)
	sr.l.noteAgent(ag, api.EventStartFailed, "", ag.start.putOff)
}

// started takes in the end of a start.
func (sr *starter) started(ag *agentState, spec *agent.Spec, err error) {
	r := &ag.seen.Record
	sr.l.endOp(ag)
	if err != nil {
		sr.failed(ag, err)
		return
	}
	r.LastError, r.LastHint, r.Conversed = "", "", r.Conversation != ""
	r.PutOff, r.Unsure = 0, false
	ag.seen.Presence, ag.seen.Owned, ag.seen.Hashes, ag.seen.LastActivity = plan.Alive, true, spec.Hashes, time.Now()
	ag.foreign, ag.seen.Drain, ag.seen.RestartAsked = false, plan.Drain{}, false
	if ag.spec != nil {
		ag.seen.Occupant = ""
	}
	sr.l.save(ag)
	if needsConfirming(&spec.Config) {
		sr.confirm(ag, spec)
		return
	}
	sr.running(ag)
}

// runs takes in that an agent was seen to run.
func (sr *starter) running(ag *agentState) {
	sr.l.noteAgent(ag, api.EventStarted, "", "")
	ag.watch.programAt = time.Time{}
	sr.l.pools.hook(ag, "on_boot", onBoot)
	sr.attend(ag)
	if ag.oneShot() && !ag.start.pushed {
		sr.l.observer.observe() // it may have ended already, and nobody will say so
	}
}

// pushes reports whether the end of a session is told by an event.
func pushes(ctx context.Context, p runtime.Provider, name string) bool {
	_, ok, err := runtime.AsFor[runtime.EventSource](ctx, p, name)
	return err == nil && ok
}

// startFailed accounts for a start that made no session.
func (sr *starter) failed(ag *agentState, err error) {
	r, now := &ag.seen.Record, time.Now()
	if errors.Is(err, runtime.ErrSessionExists) {
		sr.l.logf("%s: session %s exists already", ag.name(), ag.seen.Session)
		ag.seen.Presence = plan.Unknown
		sr.l.observer.observe()
		return
	}
	if sr.ctx.Err() != nil {
		ag.seen.Presence = plan.Unknown // the city is being stopped; the stop makes sure of it
		return
	}
	if runtime.IsBackendFailure(err) {
		sr.putOff(ag, err)
		return
	}
	r.Open = false
	if r.Resumed { // it may be the conversation that cannot be taken up
		r.Conversation = ""
	}
	r.LastError, r.LastHint = oneLine(err.Error()), api.Hint(err)
	exit := whyNotStarted(r, err, now)
	ag.seen.Presence = plan.Gone
	r.Crashed = true
	if ag.oneShot() {
		r.Crashed = false
		r.Job.Done, r.Job.Code = true, max(exit.Code, 1)
		sr.l.noteEnd(ag, api.EventStartFailed, r.LastExit, r.LastScreen, r.LastError)
		sr.l.save(ag)
		return
	}
	if ag.finishes(exit) {
		sr.l.stops.finished(ag, exit, r.LastScreen)
		sr.l.save(ag)
		return
	}
	r.Died(now, sr.l.budget())
	sr.l.noteEnd(ag, api.EventStartFailed, nil, "", r.LastError)
	sr.l.stops.quarantined(ag)
	sr.l.save(ag)
}

// putOff backs off from a start that the backend failed. Whether there is a
// session is not known, so it is looked for before the next try.
func (sr *starter) putOff(ag *agentState, err error) {
	r := &ag.seen.Record
	r.LastError, r.LastHint = oneLine(err.Error()), api.Hint(err)
	ag.seen.Presence, ag.queryErr = plan.Unknown, r.LastError
	sr.backendFailed(ag)
	sr.l.noteEnd(ag, api.EventStartFailed, nil, "", r.LastError+"; tried again at "+r.RetryAt.UTC().Format(retryTime))
}

// backendFailed sets when a member whose start was put off is looked at again.
func (sr *starter) backendFailed(ag *agentState) {
	r := &ag.seen.Record
	r.BackendFailed(time.Now())
	sr.l.save(ag)
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
