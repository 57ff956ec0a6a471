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
	opSettle   = "settle" // started, and not seen to run yet
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
	m.op, m.exit = op, nil
	m.version++
}

// endOp frees the member. An exit that came meanwhile may have been of this
// incarnation or the one before: look.
func (l *loop) endOp(m *member) {
	m.op = ""
	m.version++
	if m.exitSeen {
		m.exitSeen = false
		l.wantLook = true // once the operation's result is taken in
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
	l.records[m.seen.Agent] = m.seen.Record
	ticket, name := l.book.Save(m.seen.Record), m.name()
	l.work.Go(func() {
		if err := ticket.Wait(); err != nil {
			l.post(func() { l.logf("%s: cannot save its record: %v", name, err) })
		}
	})
	return ticket
}

// act begins one action of the plan.
func (l *loop) act(a plan.Action) {
	m := l.members[a.Session]
	if m == nil || m.op != "" {
		return
	}
	switch a.Kind {
	case plan.ActStart:
		l.start(m, a.Why)
	case plan.ActStop:
		if a.Why == plan.WhyStopped || a.Why == plan.WhyIdle {
			l.stopGently(m, a.Why)
			return
		}
		l.stop(m, a.Why)
	case plan.ActDrain:
		l.drain(m, a.Why, a.Limit)
	case plan.ActCancelDrain:
		l.undrain(m)
	case plan.ActRelaunch:
		l.relaunch(m)
	case plan.ActRunLive:
		l.runLive(m)
	case plan.ActLook:
		if m.queryErr == "" { // else the patrol asks again
			l.look()
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
func (l *loop) target(m *member) target {
	t := target{session: m.seen.Session, agent: m.name(), token: m.seen.Record.Token}
	if m.spec != nil {
		t.deps = m.spec.Resolved.DependsOn
	}
	if m.seen.Agent == "" || m.runs != "" { // the record is not about what runs there
		t.token = ""
	}
	return t
}

// drain asks the agent to end: one interrupt, and a mark that it can see.
func (l *loop) drain(m *member, why string, limit time.Duration) {
	now := time.Now()
	l.begin(m, opDrain)
	l.noteAgent(m, api.EventDraining, why, "at most "+limit.String())
	name := m.seen.Session
	l.work.Go(func() {
		err := setMeta(l.opCtx, l.p, name, map[string]string{agent.MetaDrain: strconv.FormatInt(now.Unix(), 10)})
		if err == nil {
			_, err = ask(l.opCtx, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.p.Interrupt(ctx, name) })
		}
		if errors.Is(err, runtime.ErrUnsupported) {
			err = nil // the mark alone must do
		}
		l.post(func() {
			if err == nil {
				m.seen.Drain = plan.Drain{Since: now, Why: why, Limit: limit}
			}
			l.settle(m, "drain", err)
		})
	})
}

// undrain takes the wish back.
func (l *loop) undrain(m *member) {
	l.begin(m, opUndrain)
	l.noteAgent(m, api.EventDrainCancelled, plan.WhyWanted, "")
	name := m.seen.Session
	l.work.Go(func() {
		_, err := ask(l.opCtx, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, errors.Join(l.p.RemoveMeta(ctx, name, agent.MetaDrain), l.p.RemoveMeta(ctx, name, agent.MetaDrainAck))
		})
		l.post(func() {
			if err == nil {
				m.seen.Drain, m.spared = plan.Drain{}, time.Now()
			}
			l.settle(m, "cancel the drain", err)
		})
	})
}

// settle ends a small operation. An error is said, and the patrol tries again.
func (l *loop) settle(m *member, what string, err error) {
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
		l.look()
	}
}

// relaunch starts the agent again inside its warm session.
func (l *loop) relaunch(m *member) {
	warm, ok := runtime.As[runtime.RelaunchProvider](l.p)
	if !ok {
		m.noWarm = true
		return
	}
	l.begin(m, opRelaunch)
	spec, r := m.spec, &m.seen.Record
	inst := agent.Instance{ID: r.ID, Epoch: r.Epoch, Token: r.Token, At: time.Now()}
	inst.Conversation, inst.Resume = converse(r, spec)
	limit, live := l.startLimit(spec), m.seen.Hashes.Live
	l.work.Go(func() {
		ctx, cancel := context.WithTimeout(l.opCtx, limit)
		defer cancel()
		cfg, err := spec.StartConfig(inst)
		if err == nil {
			err = warm.Relaunch(ctx, spec.Session, cfg)
		}
		if err == nil && live != spec.Hashes.Live { // changed with the rest: no step of a start ran
			err = l.p.RunLive(ctx, spec.Session, spec.Config)
		}
		if err == nil {
			err = spec.Mark(ctx, l.p, inst)
		}
		l.post(func() {
			if err == nil {
				m.seen.Hashes = spec.Hashes
				l.noteAgent(m, api.EventRelaunched, plan.WhyLaunch, "")
			}
			if errors.Is(err, runtime.ErrRelaunchUnsupported) {
				m.noWarm, err = true, nil
			}
			l.settle(m, "relaunch", err)
		})
	})
}

// runLive applies the live commands of a changed config.
func (l *loop) runLive(m *member) {
	l.begin(m, opLive)
	l.logf("%s: applying its live commands again", m.name())
	spec, limit := m.spec, l.startLimit(m.spec)
	l.work.Go(func() {
		ctx, cancel := context.WithTimeout(l.opCtx, limit)
		defer cancel()
		err := l.p.RunLive(ctx, spec.Session, spec.Config)
		if err == nil {
			err = setMeta(ctx, l.p, spec.Session, map[string]string{agent.MetaLiveHash: spec.Hashes.Live})
		}
		l.post(func() {
			if err == nil {
				m.seen.Hashes.Live = spec.Hashes.Live
			}
			l.settle(m, "live commands", err)
		})
	})
}

// remark completes the metadata of a start that was cut short. One that ran
// with another config than today's is drift.
func (l *loop) remark(m *member) {
	if core := m.seen.Record.StartedWith; core != m.spec.Hashes.Core {
		m.seen.Hashes = agent.Hashes{Core: core}
		return
	}
	l.begin(m, opMark)
	r, spec, name := &m.seen.Record, m.spec, m.seen.Session
	inst := agent.Instance{ID: r.ID, Epoch: r.Epoch, Token: r.Token}
	l.work.Go(func() {
		_, err := ask(l.opCtx, func(ctx context.Context) (struct{}, error) { return struct{}{}, spec.Mark(ctx, l.p, inst) })
		l.post(func() {
			if err == nil {
				m.seen.Hashes = spec.Hashes
			}
			l.settle(m, "mark session "+name, err)
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
