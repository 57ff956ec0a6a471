package controller

import (
	"context"
	"errors"
	"strconv"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// Operations on a session; at most one is in flight.
const (
	opStart    = "start"
	opConfirm  = "confirm" // started, not yet seen running
	opStop     = "stop"
	opProbe    = "probe"
	opDrain    = "drain"
	opUndrain  = "undrain"
	opRelaunch = "relaunch"
	opLive     = "run-live"
	opMark     = "mark"
)

// stopTimeout bounds one Stop, beyond its grace period.
const stopTimeout = time.Minute

func (ag *agentState) name() string {
	if ag.seen.Agent != "" {
		return ag.seen.Agent
	}
	return ag.seen.Session
}

func (l *loop) begin(ag *agentState, op string) {
	ag.op.name, ag.op.exit = op, nil
	ag.op.version++
}

// endOp frees the agent's session for the next operation. An exit event that
// arrived meanwhile may be about this incarnation or the one before: observe
// again.
func (l *loop) endOp(ag *agentState) {
	ag.op.name = ""
	ag.op.version++
	if ag.op.exitSeen {
		ag.op.exitSeen = false
		l.observer.due = true // once the operation's result is applied
	}
}

// budget bounds the agent's restarts after exit. Programs that were not found took no
// prompt, and a conversation that the next start resumes has it.
func (l *loop) budget(ag *agentState, exit *runtime.Exit) session.Budget {
	r := &ag.seen.Record
	resumes := r.Conversed && r.Conversation != "" && resumable(r, ag.spec, l.o.ProviderName)
	return session.Budget{
		Max: l.o.City.Daemon.MaxRestarts, Window: l.o.City.Daemon.RestartWindow,
		Prompts: ag.spec.HasPrompt() && !resumes && exit.Code != exitNotFound,
	}
}

// save writes the agent's record. A disk failure is logged, and the city goes
// on.
func (l *loop) save(ag *agentState) *session.Commit {
	if ag.seen.Agent == "" {
		return nil
	}
	l.agents.records[ag.seen.Agent] = ag.seen.Record
	commit, name := l.store.Save(ag.seen.Record), ag.name()
	l.ops.Go(func() {
		if err := commit.Wait(); err != nil {
			l.post(func() { l.logf("%s: cannot save its record: %v", name, err) })
		}
	})
	return commit
}

// act starts one action of the plan.
func (l *loop) act(a plan.Action) {
	ag := l.agents.all[a.Session]
	if ag == nil || ag.op.name != "" {
		return
	}
	switch a.Kind {
	case plan.ActStart:
		l.starts.begin(ag, a.Why)
	case plan.ActStop:
		if a.Why == plan.WhyStopped || a.Why == plan.WhyIdle {
			l.stops.gently(ag, a.Why)
			return
		}
		l.stops.stop(ag, a.Why)
	case plan.ActDrain:
		l.stops.drain(ag, a.Why, a.Limit)
	case plan.ActCancelDrain:
		l.stops.undrain(ag)
	case plan.ActRelaunch:
		l.starts.relaunch(ag)
	case plan.ActRunLive:
		l.starts.runLive(ag)
	case plan.ActLook:
		if ag.queryErr == "" { // otherwise the patrol asks again
			l.observer.observe()
		}
	}
}

func oneLine(s string) string {
	for i, c := range s {
		if c == '\n' {
			return s[:i]
		}
	}
	return s
}

// target is what a stop needs to know.
func (sp *stops) target(ag *agentState) target {
	t := target{session: ag.seen.Session, agent: ag.name(), token: ag.seen.Record.Token, seek: sp.l.starts.seek(ag)}
	if ag.spec != nil {
		t.deps = ag.spec.Resolved.DependsOn
	}
	if ag.seen.Agent == "" || ag.seen.Occupant != "" { // the record does not describe what runs there
		t.token = ""
	}
	return t
}

// drain asks the agent to end: one interrupt, and a mark in its metadata.
func (sp *stops) drain(ag *agentState, why string, limit time.Duration) {
	now := time.Now()
	sp.l.begin(ag, opDrain)
	sp.noteAgent(ag, api.EventDraining, why, "at most "+limit.String())
	name := ag.seen.Session
	sp.ops.Go(func() {
		err := setMeta(sp.ops.ctx, sp.p, name, map[string]string{agent.MetaDrain: strconv.FormatInt(now.Unix(), 10)})
		if err == nil {
			_, err = query.Ask(sp.ops.ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, sp.p.Interrupt(ctx, name) })
		}
		if errors.Is(err, runtime.ErrUnsupported) {
			err = nil // the mark alone must do
		}
		sp.post(func() {
			if err == nil {
				ag.seen.Drain = plan.Drain{Since: now, Why: why, Limit: limit}
			}
			sp.l.finishOp(ag, "drain", err)
		})
	})
}

// undrain cancels the drain.
func (sp *stops) undrain(ag *agentState) {
	sp.l.begin(ag, opUndrain)
	sp.noteAgent(ag, api.EventDrainCancelled, plan.WhyWanted, "")
	name := ag.seen.Session
	sp.ops.Go(func() {
		_, err := query.Ask(sp.ops.ctx, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, errors.Join(sp.p.RemoveMeta(ctx, name, agent.MetaDrain), sp.p.RemoveMeta(ctx, name, agent.MetaDrainAck))
		})
		sp.post(func() {
			if err == nil {
				ag.seen.Drain, ag.undrained = plan.Drain{}, time.Now()
			}
			sp.l.finishOp(ag, "cancel the drain", err)
		})
	})
}

// finishOp ends a small operation. Errors are logged; the next patrol retries.
func (l *loop) finishOp(ag *agentState, what string, err error) {
	l.endOp(ag)
	if err == nil {
		return
	}
	ag.cannotTell(err)
	l.logf("%s: %s: %v", ag.name(), what, err)
	if ag.seen.Presence == plan.Alive {
		ag.seen.Presence = plan.Unknown // until it is observed again: no retry at once
	}
	if errors.Is(err, runtime.ErrSessionNotFound) {
		l.observer.observe()
	}
}

// relaunch restarts the agent inside its running session.
func (sr *starter) relaunch(ag *agentState) {
	warm, ok := runtime.As[runtime.RelaunchProvider](sr.p)
	if !ok {
		ag.start.noWarm = true
		return
	}
	sr.l.begin(ag, opRelaunch)
	spec, r := ag.spec, &ag.seen.Record
	inst := agent.Instance{ID: r.ID, Epoch: r.Epoch, Token: r.Token, At: time.Now()}
	inst.Conversation, inst.Resume = converse(r, spec, sr.o.ProviderName)
	limit, live := sr.limit(spec), ag.seen.Hashes.Live
	sr.ops.Go(func() {
		ctx, cancel := context.WithTimeout(sr.ops.ctx, limit)
		defer cancel()
		cfg, err := spec.StartConfig(inst)
		if err == nil {
			err = spec.WriteFiles(&cfg)
		}
		if err == nil {
			err = warm.Relaunch(ctx, spec.Session, cfg)
		}
		if err == nil && live != spec.Hashes.Live { // changed as well, and no step of a start ran
			err = sr.p.RunLive(ctx, spec.Session, spec.Config)
		}
		if err == nil {
			err = spec.Mark(ctx, sr.p, inst)
		}
		sr.post(func() {
			if err == nil {
				ag.seen.Hashes = spec.Hashes
				sr.noteAgent(ag, api.EventRelaunched, plan.WhyLaunch, "")
			}
			if errors.Is(err, runtime.ErrRelaunchUnsupported) {
				ag.start.noWarm, err = true, nil
			}
			sr.l.finishOp(ag, "relaunch", err)
		})
	})
}

// runLive applies the live commands of a changed config.
func (sr *starter) runLive(ag *agentState) {
	sr.l.begin(ag, opLive)
	sr.logf("%s: applying its live commands again", ag.name())
	spec, limit := ag.spec, sr.limit(ag.spec)
	sr.ops.Go(func() {
		ctx, cancel := context.WithTimeout(sr.ops.ctx, limit)
		defer cancel()
		err := sr.p.RunLive(ctx, spec.Session, spec.Config)
		if err == nil {
			err = setMeta(ctx, sr.p, spec.Session, map[string]string{agent.MetaLiveHash: spec.Hashes.Live})
		}
		sr.post(func() {
			if err == nil {
				ag.seen.Hashes.Live = spec.Hashes.Live
			}
			sr.l.finishOp(ag, "live commands", err)
		})
	})
}

// remark completes the metadata of a start that was cut short. A session that
// was started with another config than today's has drifted.
func (ob *observer) remark(ag *agentState) {
	if core := ag.seen.Record.StartedWith; core != ag.spec.Hashes.Core {
		ag.seen.Hashes = agent.Hashes{Core: core}
		return
	}
	ob.l.begin(ag, opMark)
	r, spec, name := &ag.seen.Record, ag.spec, ag.seen.Session
	inst := agent.Instance{ID: r.ID, Epoch: r.Epoch, Token: r.Token}
	ob.ops.Go(func() {
		_, err := query.Ask(ob.ops.ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, spec.Mark(ctx, ob.p, inst) })
		ob.post(func() {
			if err == nil {
				ag.seen.Hashes = spec.Hashes
			}
			ob.l.finishOp(ag, "mark session "+name, err)
		})
	})
}

func setMeta(ctx context.Context, p runtime.Provider, name string, kv map[string]string) error {
	_, err := query.Ask(ctx, func(ctx context.Context) (struct{}, error) {
		for k, v := range kv {
			if err := p.SetMeta(ctx, name, k, v); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	return err
}
