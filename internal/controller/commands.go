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

// pick finds members by agent name, pool name or a bare name that only one
// agent has; no names mean all. It runs on the loop.
func (rs *roster) pick(list []string) ([]*member, error) {
	if rs.l.shutdown.begun || rs.l.goal.ended {
		return nil, api.ErrShuttingDown
	}
	var out []*member
	if len(list) == 0 {
		for _, name := range rs.order {
			out = append(out, rs.all[name])
		}
		return out, nil
	}
	for _, want := range list {
		found := rs.match(want)
		if len(found) == 0 {
			return nil, &api.Error{Err: fmt.Errorf("%w: %s", api.ErrUnknownAgent, want), Help: "gc status lists the agents"}
		}
		out = append(out, found...)
	}
	return out, nil
}

func (rs *roster) match(want string) []*member {
	var exact, pool, bare []*member
	for _, name := range rs.order {
		m := rs.all[name]
		r := &m.spec.Resolved
		switch {
		case r.Name == want || name == want:
			exact = append(exact, m)
		case r.Template == want:
			pool = append(pool, m)
		case r.Base == want:
			bare = append(bare, m)
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

// restartAgents ends and starts agents; it returns when the starts are over.
func (c *calls) Restart(ctx context.Context, list []string) error {
	var picked []*member
	var err error
	before := map[*member]int{}
	in := c.l.do(ctx, func() {
		picked, err = c.l.agents.pick(list)
		for _, m := range picked {
			before[m] = m.start.attempts
		}
	})
	if err = errors.Join(in, err); err != nil {
		return err
	}
	if err := c.beginRestarts(ctx, picked, before); err != nil {
		return err
	}
	settled := func(m *member) bool {
		if m.spec == nil || m.foreign || m.seen.Presence == plan.Unknown || c.l.suspended.by(m) != "" {
			return true
		}
		return m.op.name == "" && (m.start.attempts > before[m] || c.l.report.waitsFor(m) != "")
	}
	wait := c.l.await(ctx, func() bool {
		for _, m := range picked {
			if !settled(m) {
				return false
			}
		}
		return true
	})
	return errors.Join(wait, c.failures(ctx, picked))
}

// beginRestarts takes down what runs. Who is in the middle of something short,
// a drain that is taken back for one, is waited for.
func (c *calls) beginRestarts(ctx context.Context, list []*member, before map[*member]int) error {
	for left := list; len(left) > 0; {
		var busy []*member
		err := c.l.do(ctx, func() {
			for _, m := range left {
				r := &m.seen.Record
				r.Clear()
				r.Stopped, r.Asleep, r.Drained = false, false, false
				c.l.save(m)
				switch {
				case m.op.name == opStart || m.op.name == opConfirm:
					before[m] = m.start.attempts - 1 // the start in flight is what is asked for
				case m.op.name == opStop: // the start comes after it
				case m.op.name != "":
					busy = append(busy, m)
				case (m.seen.Presence == plan.Alive || m.seen.Presence == plan.Zombie) && m.seen.Owned:
					c.l.stops.gently(m, plan.WhyRestart)
				case r.Unsure:
					c.l.observer.observe()
				}
			}
		})
		if err == nil && len(busy) > 0 {
			err = c.l.await(ctx, func() bool { return !slices.ContainsFunc(busy, func(m *member) bool { return m.op.name != "" }) })
		}
		if err != nil {
			return err
		}
		left = busy
	}
	return nil
}

// failures joins why agents did not start.
func (c *calls) failures(ctx context.Context, list []*member) error {
	var lines []string
	hint := ""
	err := c.l.do(ctx, func() {
		for _, m := range list {
			if m.foreign {
				lines, hint = append(lines, m.name()+": "+api.ErrForeign.Error()), api.ForeignHint
				continue
			}
			if m.start.putOff != "" {
				lines = append(lines, m.name()+": "+m.start.putOff)
			}
			if r := &m.seen.Record; r.LastError != "" {
				lines = append(lines, m.name()+": "+r.LastError)
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

// stopAgents ends agents and keeps them down.
func (c *calls) StopAgents(ctx context.Context, list []string) error {
	var picked []*member
	var err error
	in := c.l.do(ctx, func() {
		if picked, err = c.l.agents.pick(list); err != nil {
			return
		}
		for _, m := range picked {
			m.seen.Record.Stopped = true
			c.l.save(m)
		}
	})
	if err = errors.Join(in, err); err != nil {
		return err
	}
	return c.l.await(ctx, func() bool {
		for _, m := range picked {
			if m.op.name != "" || (m.seen.Presence != plan.Gone && m.seen.Presence != plan.Unknown && m.seen.Owned) {
				return false
			}
		}
		return true
	})
}
