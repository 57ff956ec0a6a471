package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
)

// pick finds agents by agent name, pool name, or a bare name that is unique; no
// names mean all. The caller is on the loop's goroutine.
func (rs *roster) pick(list []string) ([]*agentState, error) {
	if rs.l.shutdown.begun || rs.l.goal.ended {
		return nil, api.ErrShuttingDown
	}
	var out []*agentState
	if len(list) == 0 {
		for _, name := range rs.order {
			out = append(out, rs.all[name])
		}
		return out, nil
	}
	for _, want := range list {
		matches := rs.match(want)
		if len(matches) == 0 {
			return nil, &api.Error{Err: fmt.Errorf("%w: %s", api.ErrUnknownAgent, want), Help: "gc status lists the agents"}
		}
		out = append(out, matches...)
	}
	return out, nil
}

// pickOne is pick for exactly one agent.
func (rs *roster) pickOne(name string) (*agentState, error) {
	picked, err := rs.pick([]string{name})
	if err != nil {
		return nil, err
	}
	if len(picked) != 1 {
		return nil, fmt.Errorf("%w: %s is a pool of %d, name one member", api.ErrUnknownAgent, name, len(picked))
	}
	return picked[0], nil
}

func (rs *roster) match(want string) []*agentState {
	var exact, pool, bare []*agentState
	for _, name := range rs.order {
		ag := rs.all[name]
		r := &ag.spec.Resolved
		switch {
		case r.Name == want || name == want:
			exact = append(exact, ag)
		case r.Template == want:
			pool = append(pool, ag)
		case r.Base == want:
			bare = append(bare, ag)
		}
	}
	switch {
	case len(exact) > 0:
		return exact
	case len(pool) > 0:
		return pool
	case len(bare) == 1:
		return bare
	}
	return nil
}

// Restart ends and starts agents, and returns when the starts are done.
func (c *calls) Restart(ctx context.Context, list []string) error {
	var picked []*agentState
	before := map[*agentState]int{}
	err := c.call(ctx, func() (err error) {
		picked, err = c.l.agents.pick(list)
		for _, ag := range picked {
			before[ag] = ag.start.attempts
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := c.beginRestarts(ctx, picked, before); err != nil {
		return err
	}
	done := func(ag *agentState) bool {
		if ag.spec == nil || ag.foreign || ag.seen.Presence == plan.Unknown || c.l.suspended.by(ag) != "" {
			return true
		}
		return ag.op.name == "" && (ag.start.attempts > before[ag] || c.l.report.waitsFor(ag) != "")
	}
	wait := c.await(ctx, func() bool {
		for _, ag := range picked {
			if !done(ag) {
				return false
			}
		}
		return true
	})
	return errors.Join(wait, c.failures(ctx, picked))
}

// beginRestarts stops what runs. It waits for short operations in flight, such
// as cancelling a drain.
func (c *calls) beginRestarts(ctx context.Context, list []*agentState, before map[*agentState]int) error {
	for left := list; len(left) > 0; {
		var busy []*agentState
		err := c.do(ctx, func() {
			for _, ag := range left {
				r := &ag.seen.Record
				r.Clear()
				r.Stopped, r.IdleStopped, r.Drained = false, false, false
				c.l.save(ag)
				switch {
				case ag.op.name == opStart || ag.op.name == opConfirm:
					before[ag] = ag.start.attempts - 1 // the start in flight will do
				case ag.op.name == opStop: // a start follows
				case ag.op.name != "":
					busy = append(busy, ag)
				case (ag.seen.Presence == plan.Alive || ag.seen.Presence == plan.Zombie) && ag.seen.Owned:
					c.l.stops.gently(ag, plan.WhyRestart)
				case r.Unsure:
					c.l.observer.observe()
				}
			}
		})
		if err == nil && len(busy) > 0 {
			err = c.await(ctx, func() bool { return !slices.ContainsFunc(busy, func(ag *agentState) bool { return ag.op.name != "" }) })
		}
		if err != nil {
			return err
		}
		left = busy
	}
	return nil
}

// failures joins the reasons why agents did not start.
func (c *calls) failures(ctx context.Context, list []*agentState) error {
	var lines []string
	hint := ""
	err := c.do(ctx, func() {
		for _, ag := range list {
			if ag.foreign {
				lines, hint = append(lines, ag.name()+": "+api.ErrForeign.Error()), api.ForeignHint
				continue
			}
			if ag.start.putOff != "" {
				lines = append(lines, ag.name()+": "+ag.start.putOff)
			}
			if r := &ag.seen.Record; r.LastError != "" {
				lines = append(lines, ag.name()+": "+r.LastError)
				if hint == "" {
					hint = r.LastHint
				}
			}
		}
	})
	if err != nil || len(lines) == 0 {
		return err
	}
	return &api.Error{Err: errors.New(strings.Join(lines, "; ")), Help: hint}
}

// StopAgents ends agents and keeps them down.
func (c *calls) StopAgents(ctx context.Context, list []string) error {
	var picked []*agentState
	err := c.call(ctx, func() (err error) {
		picked, err = c.l.agents.pick(list)
		for _, ag := range picked {
			ag.seen.Record.Stopped = true
			c.l.save(ag)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.await(ctx, func() bool {
		for _, ag := range picked {
			if ag.op.name != "" || (ag.seen.Presence != plan.Gone && ag.seen.Presence != plan.Unknown && ag.seen.Owned) {
				return false
			}
		}
		return true
	})
}
