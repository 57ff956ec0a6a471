package controller

import (
	"context"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
)

// drainStatus returns nil unless the agent is draining.
func (ag *agentState) drainStatus() *api.DrainStatus {
	d := &ag.seen.Drain
	if d.Since.IsZero() {
		return nil
	}
	return &api.DrainStatus{Since: d.Since, Until: d.Since.Add(d.Limit), Why: d.Why, Acked: d.Ack}
}

// inside finds the running agent that a request is about.
func (c *calls) inside(q api.InsideRequest) (*agentState, error) {
	ag, err := c.l.agents.pickOne(q.Agent)
	if err == nil && (q.Token == "" || ag.seen.Record.Token != q.Token) {
		return nil, api.Hinted("run it inside a session: GC_AGENT and GC_INSTANCE_TOKEN identify the agent", "%w: %s", api.ErrEarlierInstance, q.Agent)
	}
	return ag, err
}

// markInside sets a key in the asking agent's metadata and observes the agent.
// It returns nil once the key is set.
func (c *calls) markInside(ctx context.Context, q api.InsideRequest, key string, check func(*agentState) error) error {
	var name string
	err := c.call(ctx, func() error {
		ag, err := c.inside(q)
		if err != nil {
			return err
		}
		name = ag.seen.Session
		return check(ag)
	})
	if err != nil {
		return err
	}
	if err := setMeta(ctx, c.p, name, map[string]string{key: "1"}); err != nil {
		return err
	}
	return c.do(ctx, c.l.observer.poke)
}

// AckDrain records that an agent may be ended.
func (c *calls) AckDrain(ctx context.Context, q api.InsideRequest) error {
	return c.markInside(ctx, q, agent.MetaDrainAck, func(ag *agentState) error {
		if ag.seen.Drain.Since.IsZero() && ag.op.name != opDrain {
			return api.Hinted("gc runtime drain starts one", "%w: %s", api.ErrNotDraining, ag.name())
		}
		return nil
	})
}

// RequestRestart records that an agent asks to be restarted.
func (c *calls) RequestRestart(ctx context.Context, q api.InsideRequest) error {
	return c.markInside(ctx, q, agent.MetaRestart, func(*agentState) error { return nil })
}

// DrainSelf is SetDrained for the asking agent.
func (c *calls) DrainSelf(ctx context.Context, q api.InsideRequest) error {
	err := c.call(ctx, func() error {
		_, err := c.inside(q)
		return err
	})
	if err != nil {
		return err
	}
	return c.SetDrained(ctx, []string{q.Agent}, true)
}
