package controller

import (
	"context"
	"errors"
	"strconv"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// Operations in flight, one per member at most.
const (
	opStart    = "start"
	opConfirm  = "settle" // started, and not seen to run yet
	opStop     = "stop"
	opProbe    = "probe"
	opDrain    = "drain"
	opUndrain  = "undrain"
	opRelaunch = "relaunch"
	opLive     = "run-live"
	opMark     = "mark"
)

// stopTimeout bounds one Stop beyond its grace period.
const stopTimeout = time.Minute

func (m *member) name() string {
	if m.seen.Agent != "" {
		return m.seen.Agent
	}
	return m.seen.Session
}

func (l *loop) begin(m *member, op string) {
	m.op.name, m.op.exit = op, nil
	m.op.version++
}

// endOp frees the member. An exit that came meanwhile may have been of this
// incarnation or the one before: look.
func (l *loop) endOp(m *member) {
	m.op.name = ""
	m.op.version++
	if m.op.exitSeen {
		m.op.exitSeen = false
		l.observer.due = true // once the operation's result is taken in
	}
}

func (l *loop) budget() session.Budget {
	return session.Budget{Max: l.o.City.Daemon.MaxRestarts, Window: l.o.City.Daemon.RestartWindow}
}

// save writes the member's record. A disk that fails is said and lived with:
// the city goes on.
func (l *loop) save(m *member) *session.Ticket {
	if m.seen.Agent == "" {
		return nil
	}
	l.agents.records[m.seen.Agent] = m.seen.Record
	ticket, name := l.book.Save(m.seen.Record), m.name()
	l.ops.Go(func() {
		if err := ticket.Wait(); err != nil {
			l.post(func() { l.logf("%s: cannot save its record: %v", name, err) })
		}
	})
	return ticket
}

// act begins one action of the plan.
func (l *loop) act(a plan.Action) {
	m := l.agents.all[a.Session]
	if m == nil || m.op.name != "" {
		return
	}
	switch a.Kind {
	case plan.ActStart:
		l.starts.begin(m, a.Why)
	case plan.ActStop:
		if a.Why == plan.WhyStopped || a.Why == plan.WhyIdle {
			l.stops.gently(m, a.Why)
			return
		}
		l.stops.stop(m, a.Why)
	case plan.ActDrain:
		l.stops.drain(m, a.Why, a.Limit)
	case plan.ActCancelDrain:
		l.stops.undrain(m)
	case plan.ActRelaunch:
		l.starts.relaunch(m)
	case plan.ActRunLive:
		l.starts.runLive(m)
	case plan.ActLook:
		if m.queryErr == "" { // else the patrol asks again
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
func (sp *stops) target(m *member) target {
	t := target{session: m.seen.Session, agent: m.name(), token: m.seen.Record.Token}
	if m.spec != nil {
		t.deps = m.spec.Resolved.DependsOn
	}
	if m.seen.Agent == "" || m.seen.Occupant != "" { // the record is not about what runs there
		t.token = ""
	}
	return t
}

// drain asks the agent to end: one interrupt, and a mark that it can see.
func (sp *stops) drain(m *member, why string, limit time.Duration) {
	now := time.Now()
	sp.l.begin(m, opDrain)
	sp.l.noteAgent(m, api.EventDraining, why, "at most "+limit.String())
	name := m.seen.Session
	sp.l.ops.Go(func() {
		err := setMeta(sp.l.ops.ctx, sp.l.p, name, map[string]string{agent.MetaDrain: strconv.FormatInt(now.Unix(), 10)})
		if err == nil {
			_, err = ask(sp.l.ops.ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, sp.l.p.Interrupt(ctx, name) })
		}
		if errors.Is(err, runtime.ErrUnsupported) {
			err = nil // the mark alone must do
		}
		sp.l.post(func() {
			if err == nil {
				m.seen.Drain = plan.Drain{Since: now, Why: why, Limit: limit}
			}
			sp.l.finishOp(m, "drain", err)
		})
	})
}

// undrain takes the wish back.
func (sp *stops) undrain(m *member) {
	sp.l.begin(m, opUndrain)
	sp.l.noteAgent(m, api.EventDrainCancelled, plan.WhyWanted, "")
	name := m.seen.Session
	sp.l.ops.Go(func() {
		_, err := ask(sp.l.ops.ctx, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, errors.Join(sp.l.p.RemoveMeta(ctx, name, agent.MetaDrain), sp.l.p.RemoveMeta(ctx, name, agent.MetaDrainAck))
		})
		sp.l.post(func() {
			if err == nil {
				m.seen.Drain, m.undrained = plan.Drain{}, time.Now()
			}
			sp.l.finishOp(m, "cancel the drain", err)
		})
	})
}

// settle ends a small operation. An error is said, and the patrol tries again.
func (l *loop) finishOp(m *member, what string, err error) {
	l.endOp(m)
	if err == nil {
		return
	}
	m.queryErr = err.Error()
	l.logf("%s: %s: %v", m.name(), what, err)
	if m.seen.Presence == plan.Alive {
		m.seen.Presence = plan.Unknown // until the next look: no second try at once
	}
	if errors.Is(err, runtime.ErrSessionNotFound) {
		l.observer.observe()
	}
}

// relaunch starts the agent again inside its warm session.
func (sr *starter) relaunch(m *member) {
	warm, ok := runtime.As[runtime.RelaunchProvider](sr.l.p)
	if !ok {
		m.start.noWarm = true
		return
	}
	sr.l.begin(m, opRelaunch)
	spec, r := m.spec, &m.seen.Record
	inst := agent.Instance{ID: r.ID, Epoch: r.Epoch, Token: r.Token, At: time.Now()}
	inst.Conversation, inst.Resume = converse(r, spec)
	limit, live := sr.limit(spec), m.seen.Hashes.Live
	sr.l.ops.Go(func() {
		ctx, cancel := context.WithTimeout(sr.l.ops.ctx, limit)
		defer cancel()
		cfg, err := spec.StartConfig(inst)
		if err == nil {
			err = warm.Relaunch(ctx, spec.Session, cfg)
		}
		if err == nil && live != spec.Hashes.Live { // changed with the rest: no step of a start ran
			err = sr.l.p.RunLive(ctx, spec.Session, spec.Config)
		}
		if err == nil {
			err = spec.Mark(ctx, sr.l.p, inst)
		}
		sr.l.post(func() {
			if err == nil {
				m.seen.Hashes = spec.Hashes
				sr.l.noteAgent(m, api.EventRelaunched, plan.WhyLaunch, "")
			}
			if errors.Is(err, runtime.ErrRelaunchUnsupported) {
				m.start.noWarm, err = true, nil
			}
			sr.l.finishOp(m, "relaunch", err)
		})
	})
}

// runLive applies the live commands of a changed config.
func (sr *starter) runLive(m *member) {
	sr.l.begin(m, opLive)
	sr.l.logf("%s: applying its live commands again", m.name())
	spec, limit := m.spec, sr.limit(m.spec)
	sr.l.ops.Go(func() {
		ctx, cancel := context.WithTimeout(sr.l.ops.ctx, limit)
		defer cancel()
		err := sr.l.p.RunLive(ctx, spec.Session, spec.Config)
		if err == nil {
			err = setMeta(ctx, sr.l.p, spec.Session, map[string]string{agent.MetaLiveHash: spec.Hashes.Live})
		}
		sr.l.post(func() {
			if err == nil {
				m.seen.Hashes.Live = spec.Hashes.Live
			}
			sr.l.finishOp(m, "live commands", err)
		})
	})
}

// remark completes the metadata of a start that was cut short. One that ran
// with another config than today's is drift.
func (ob *observer) remark(m *member) {
	if core := m.seen.Record.StartedWith; core != m.spec.Hashes.Core {
		m.seen.Hashes = agent.Hashes{Core: core}
		return
	}
	ob.l.begin(m, opMark)
	r, spec, name := &m.seen.Record, m.spec, m.seen.Session
	inst := agent.Instance{ID: r.ID, Epoch: r.Epoch, Token: r.Token}
	ob.l.ops.Go(func() {
		_, err := ask(ob.l.ops.ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, spec.Mark(ctx, ob.l.p, inst) })
		ob.l.post(func() {
			if err == nil {
				m.seen.Hashes = spec.Hashes
			}
			ob.l.finishOp(m, "mark session "+name, err)
		})
	})
}

func setMeta(ctx context.Context, p runtime.Provider, name string, kv map[string]string) error {
	_, err := ask(ctx, func(ctx context.Context) (struct{}, error) {
		for k, v := range kv {
			if err := p.SetMeta(ctx, name, k, v); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	return err
}
