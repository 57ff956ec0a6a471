package controller

import (
	"context"
	"errors"
	"fmt"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
)

// drainStatus is nil when the member is not draining.
func (m *member) drainStatus() *api.DrainStatus {
	d := &m.seen.Drain
	if d.Since.IsZero() {
		return nil
	}
	return &api.DrainStatus{Since: d.Since, Until: d.Since.Add(d.Limit), Why: d.Why, Acked: d.Ack}
}

// inside finds the running member that a request is about.
func (l *loop) inside(q api.InsideRequest) (*member, error) {
	picked, err := l.pick([]string{q.Agent})
	switch {
	case err != nil:
		return nil, err
	case len(picked) != 1:
		return nil, fmt.Errorf("%w: %s is a pool of %d, name one member", api.ErrUnknownAgent, q.Agent, len(picked))
	case q.Token == "" || picked[0].seen.Record.Token != q.Token:
		return nil, api.Hinted("GC_AGENT and GC_INSTANCE_TOKEN of a running session say who asks", "%w: %s", api.ErrEarlierInstance, q.Agent)
	}
	return picked[0], nil
}

// markInside sets a key of the asking agent's metadata, and looks at it. An
// answer means that the mark is set.
func (l *loop) markInside(ctx context.Context, q api.InsideRequest, key string, check func(*member) error) error {
	var name string
	var err error
	in := l.inLoop(ctx, func() {
		var m *member
		if m, err = l.inside(q); err == nil {
			err = check(m)
		}
		if err == nil {
			name = m.seen.Session
		}
	})
	if err = errors.Join(in, err); err != nil {
		return err
	}
	if err := setMeta(ctx, l.p, name, map[string]string{key: "1"}); err != nil {
		return err
	}
	return l.inLoop(ctx, l.poke)
}

// ackDrain is an agent's word that it may be ended.
func (l *loop) ackDrain(ctx context.Context, q api.InsideRequest) error {
	return l.markInside(ctx, q, agent.MetaDrainAck, func(m *member) error {
		if m.seen.Drain.Since.IsZero() && m.op != opDrain {
			return api.Hinted("gc runtime drain asks for one", "%w: %s", api.ErrNotDraining, m.name())
		}
		return nil
	})
}

// requestRestart is an agent's wish to be ended and started afresh.
func (l *loop) requestRestart(ctx context.Context, q api.InsideRequest) error {
	return l.markInside(ctx, q, agent.MetaRestart, func(*member) error { return nil })
}

// drainSelf is setDrained of the asking agent.
func (l *loop) drainSelf(ctx context.Context, q api.InsideRequest) error {
	var err error
	in := l.inLoop(ctx, func() { _, err = l.inside(q) })
	if err = errors.Join(in, err); err != nil {
		return err
	}
	return l.setDrained(ctx, []string{q.Agent}, true)
}
