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

// starter carries out starts and relaunches.
type starter struct {
	*core
	l      *loop
	ctx    context.Context // ends every start
	cancel context.CancelFunc
}

// begin starts a new incarnation. Its identity is on record before the session
// exists.
func (sr *starter) begin(ag *agentState, why string) {
	r, now := &ag.seen.Record, time.Now()
	before := *r
	if r.Crashed {
		r.Restarted(now)
	}
	inst := agent.NewInstance(r.Epoch+1, now)
	r.TokenBefore = r.Token
	r.ID, r.Epoch, r.Token, r.Started, r.Open = inst.ID, inst.Epoch, inst.Token, now, true
	r.StartedWith, r.Host, r.Served, r.Finished = ag.spec.Hashes.Core, ag.spec.HostedBy(sr.o.ProviderName), false, false
	r.NeedsLogin, r.Turns, r.Boot = false, 0, ""
	r.Ending, r.EndingAt = "", time.Time{}
	inst.Conversation, inst.Resume = converse(r, ag.spec, sr.o.ProviderName)
	if ag.oneShot() {
		r.Job = session.Job{Run: sr.runID, Hash: ag.spec.Hashes.Core}
	}
	commit := sr.l.save(ag)
	ag.start.attempts++
	ag.start.putOff, ag.start.warning = "", ""
	sr.l.begin(ag, opStart)
	sr.noteAgent(ag, api.EventStarting, why, "")
	sr.noteNewConversation(ag, before)
	spec, limit := ag.spec, sr.limit(ag.spec)
	sr.ops.Go(func() {
		// Without the record, a crash of the controller would lose the session.
		if err := commit.Wait(); err != nil {
			sr.post(func() { sr.notSaved(ag, before, err) })
			return
		}
		err := launch(sr.ctx, sr.p, spec, inst, limit)
		pushed := err == nil && pushes(sr.ops.ctx, sr.p, spec.Session)
		boot := ""
		if err == nil {
			boot = bootOf(sr.ops.ctx, sr.p, spec.Session)
		}
		sr.post(func() {
			ag.start.pushed, ag.seen.Record.Boot = pushed, boot
			sr.started(ag, spec, err)
		})
	})
}

// restOfStart is for the steps of a start that have limits of their own: until
// the process lives, dialogs, the nudge.
const restOfStart = 2 * time.Minute

// stepDone reports a step that failed without ending the start, or the live
// commands. The backend calls it.
func (sr *starter) stepDone(s runtime.Step) {
	if s.Accepted != nil {
		sr.post(func() { sr.accepted(s.Session, *s.Accepted) })
		return
	}
	if !s.Warning {
		return
	}
	sr.post(func() {
		ag := sr.l.agents.all[s.Session]
		if ag == nil {
			return
		}
		text := strings.ReplaceAll(s.Err.Error(), "\n", "; ")
		ag.start.warning = fmt.Sprintf("%s: %s", s.Name, text)
		sr.noteAgent(ag, api.EventWarning, string(s.Name), text+", after "+s.Took.Round(time.Millisecond).String())
	})
}

// limit is the deadline of a whole start: startup_timeout for becoming ready and
// for each command before it, setup_timeout for each command after it.
func (sr *starter) limit(spec *agent.Spec) time.Duration {
	s, cfg := &sr.o.City.Session, &spec.Config
	setups := len(cfg.SessionSetup) + len(cfg.SessionLive) + 1
	return s.StartupTimeout*time.Duration(1+len(cfg.PreStart)) + s.SetupTimeout*time.Duration(setups) + restOfStart
}

// launch starts the session and marks it as this city's.
func launch(ctx context.Context, p runtime.Provider, spec *agent.Spec, inst agent.Instance, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cfg, err := spec.StartConfig(inst)
	if err == nil {
		err = spec.WriteFiles(&cfg)
	}
	if err != nil {
		return err
	}
	if err := p.Start(ctx, spec.Session, cfg); err != nil {
		return err
	}
	err = spec.Mark(ctx, p, inst)
	if errors.Is(err, runtime.ErrSessionNotFound) {
		return nil // it has ended already; its exit says how
	}
	return err
}

// saveRetry is the pause after a start whose record could not be saved.
const saveRetry = 2 * time.Second

// notSaved puts off a start that was not begun. It does not count as a crash.
func (sr *starter) notSaved(ag *agentState, before session.Record, err error) {
	r := &ag.seen.Record
	before.Stopped, before.Suspended, before.IdleStopped, before.Drained = r.Stopped, r.Suspended, r.IdleStopped, r.Drained
	*r = before
	r.RetryAt = time.Now().Add(saveRetry)
	ag.start.putOff = "not started, as the city's records cannot be saved: " + oneLine(err.Error())
	sr.l.endOp(ag)
	sr.l.save(ag)
	sr.noteAgent(ag, api.EventStartFailed, "", ag.start.putOff)
}

// started applies the result of a start.
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

// running records that an agent was seen to run.
func (sr *starter) running(ag *agentState) {
	sr.noteAgent(ag, api.EventStarted, "", "")
	ag.watch.programAt = time.Time{}
	sr.l.pools.hook(ag, "on_boot", onBoot)
	sr.attend(ag)
	sr.followTurns(ag)
	if ag.oneShot() && !ag.start.pushed {
		sr.l.observer.observe() // it may have ended without an event
	}
}

// pushes reports whether the backend sends an event when the session ends.
func pushes(ctx context.Context, p runtime.Provider, name string) bool {
	_, ok, err := runtime.AsFor[runtime.EventSource](ctx, p, name)
	return err == nil && ok
}

// failed records a start that made no session.
func (sr *starter) failed(ag *agentState, err error) {
	r, now := &ag.seen.Record, time.Now()
	if errors.Is(err, runtime.ErrSessionExists) {
		sr.logf("%s: session %s exists already", ag.name(), ag.seen.Session)
		ag.seen.Presence = plan.Unknown
		sr.l.observer.observe()
		return
	}
	if sr.ctx.Err() != nil {
		ag.seen.Presence = plan.Unknown // the shutdown makes sure of it
		return
	}
	if runtime.IsBackendFailure(err) {
		sr.putOff(ag, err)
		return
	}
	r.Open = false
	var blocked *runtime.StartupBlocked
	if errors.As(err, &blocked) && blocked.Kind == runtime.BlockedAuth && !ag.oneShot() {
		sr.needsLogin(ag, err, blocked)
		return
	}
	if r.Resumed && !keepsConversation(r, err) { // perhaps it cannot be resumed
		r.Conversation = ""
	}
	r.LastError, r.LastHint = oneLine(err.Error()), api.Hint(err)
	exit := ag.whyNotStarted(err, now)
	ag.seen.Presence = plan.Gone
	r.Crashed = true
	if ag.oneShot() {
		r.Crashed = false
		r.Job.Done, r.Job.Code = true, max(exit.Code, 1)
		sr.noteEnd(ag, api.EventStartFailed, r.LastExit, r.LastScreen, r.LastError)
		sr.l.save(ag)
		return
	}
	if ag.finishes(exit) {
		sr.l.stops.finished(ag, exit, r.LastScreen)
		sr.l.save(ag)
		return
	}
	budget := sr.l.budget(ag, exit)
	budget.Prompts = budget.Prompts && errors.Is(err, runtime.ErrSessionDiedDuringStartup)
	r.Died(now, budget)
	sr.noteEnd(ag, api.EventStartFailed, nil, "", r.LastError)
	sr.l.stops.quarantined(ag)
	sr.l.save(ag)
}

// putOff delays the next start after the backend failed one. A session may
// exist, so it is looked for first.
func (sr *starter) putOff(ag *agentState, err error) {
	r := &ag.seen.Record
	r.LastError, r.LastHint = oneLine(err.Error()), api.Hint(err)
	ag.seen.Presence, ag.queryErr, ag.queryHint = plan.Unknown, r.LastError, r.LastHint
	sr.backendFailed(ag)
	sr.noteEnd(ag, api.EventStartFailed, nil, "", r.LastError+"; tried again at "+r.RetryAt.UTC().Format(retryTime))
}

// backendFailed schedules the next look at an agent whose start was put off.
func (sr *starter) backendFailed(ag *agentState) {
	r := &ag.seen.Record
	r.BackendFailed(time.Now())
	sr.l.save(ag)
	sr.l.observer.observeBy(r.RetryAt)
}

// backendSilent is backendFailed for a query. One before the next look is due does not
// delay that further.
func (sr *starter) backendSilent(ag *agentState) {
	due, at := ag.seen.Record.MayStart(time.Now())
	if due {
		sr.backendFailed(ag)
		return
	}
	sr.l.observer.observeBy(at)
}

// backendReturned allows the starts that were put off because the backend failed them.
func (sr *starter) backendReturned() {
	for _, ag := range sr.l.agents.all {
		ag.seen.Record.BackendReturned(time.Now())
	}
}

// retryTime formats the time of the next try in events.
const retryTime = "15:04:05.000Z"

// exitNotFound is the exit status of a shell that does not find a command
// (POSIX, Shell Command Language, 2.8.2).
const exitNotFound = 127

// notFound is the hint about an agent whose command was not found.
func (ag *agentState) notFound() string {
	if ag.spec == nil {
		return "the command of the agent was not found"
	}
	return "the command of the agent was not found; " + ag.spec.InstallHint()
}

// whyNotStarted records the exit, screen and hint that a start's error carries.
func (ag *agentState) whyNotStarted(err error, now time.Time) *runtime.Exit {
	r := &ag.seen.Record
	var death *runtime.StartupDeath
	var blocked *runtime.StartupBlocked
	switch {
	case errors.As(err, &death):
		r.LastScreen = death.Screen
		r.LastExit = &runtime.Exit{Code: death.Code, Signal: death.Signal, Reason: "died during startup", Time: now}
		if death.Code == exitNotFound && death.Signal == "" {
			r.LastExit.Reason, r.LastHint = runtime.ReasonNotFound, ag.notFound()
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
