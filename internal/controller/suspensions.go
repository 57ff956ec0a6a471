package controller

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
)

// suspensions are rigs, pools or the city that a person suspended.
type suspensions struct {
	*core
	l     *loop
	byKey map[string]session.Suspension
}

// by names what suspended an agent; "" if it is not suspended.
func (su *suspensions) by(ag *agentState) string {
	switch {
	case ag.seen.Record.Suspended:
		return api.ByAgent
	case ag.spec == nil:
		return ""
	}
	return su.ofSpec(ag.spec)
}

// ofSpec is by for an agent or pool of the config, regardless of its record.
func (su *suspensions) ofSpec(s *agent.Spec) string {
	r := &s.Resolved
	switch {
	case r.Suspended:
		return api.ByConfig
	case su.has(session.SuspendedCity):
		return api.ByCity
	case r.Rig != "" && su.has(session.SuspendedRig(r.Rig)):
		return api.ByRig + " " + r.Rig
	case su.l.pools.byName[r.Template] != nil && su.has(session.SuspendedPool(r.Template)):
		return api.ByPool + " " + r.Template
	}
	return ""
}

func (su *suspensions) has(key string) bool {
	_, ok := su.byKey[key]
	return ok
}

// set suspends or resumes; the commit is done when that is on disk.
func (su *suspensions) set(key string, on bool) *session.Commit {
	if !on {
		delete(su.byKey, key)
		return su.store.DeleteSuspension(key)
	}
	p, ok := su.byKey[key]
	if !ok {
		p = session.Suspension{Since: time.Now().UTC()}
		su.byKey[key] = p
	}
	return su.store.SaveSuspension(key, p)
}

// SetSuspended suspends or resumes agents and pools by name, or the city without
// names. It returns when that is on disk, without waiting for drains.
func (c *calls) SetSuspended(ctx context.Context, list []string, on bool) error {
	return c.durably(ctx, func() ([]*session.Commit, error) {
		if len(list) == 0 {
			return []*session.Commit{c.l.suspended.set(session.SuspendedCity, on)}, nil
		}
		var commits []*session.Commit
		var single []string
		for _, name := range list {
			if _, ok := c.l.pools.byName[name]; ok {
				commits = append(commits, c.l.suspended.set(session.SuspendedPool(name), on))
				if on {
					continue // covers members to come
				}
			}
			single = append(single, name)
		}
		if len(single) == 0 {
			return commits, nil
		}
		picked, err := c.l.agents.pick(single)
		if err != nil && len(commits) == 0 { // a pool may have no members now
			return nil, err
		}
		for _, ag := range picked {
			r := &ag.seen.Record
			if r.Suspended = on; !on {
				r.Stopped, r.IdleStopped, r.Drained = false, false, false
			}
			commits = append(commits, c.l.save(ag))
		}
		return commits, nil
	})
}

// SetRigsSuspended suspends or resumes rigs.
func (c *calls) SetRigsSuspended(ctx context.Context, list []string, on bool) error {
	return c.durably(ctx, func() ([]*session.Commit, error) {
		var commits []*session.Commit
		for _, name := range list {
			if !c.hasRig(name) {
				return nil, api.Hinted("gc rig list", "%w: %s", api.ErrUnknownRig, name)
			}
		}
		for _, name := range list {
			commits = append(commits, c.l.suspended.set(session.SuspendedRig(name), on))
		}
		return commits, nil
	})
}

func (c *calls) hasRig(name string) bool {
	for i := range c.o.City.Rigs {
		if c.o.City.Rigs[i].Name == name {
			return true
		}
	}
	return false
}

// SetDrained asks agents to end by themselves and stay down, or cancels that.
func (c *calls) SetDrained(ctx context.Context, list []string, on bool) error {
	return c.durably(ctx, func() ([]*session.Commit, error) {
		if len(list) == 0 {
			return nil, fmt.Errorf("%w: no name", api.ErrUnknownAgent)
		}
		picked, err := c.l.agents.pick(list)
		var commits []*session.Commit
		for _, ag := range picked {
			ag.seen.Record.Drained = on
			commits = append(commits, c.l.save(ag))
		}
		return commits, err
	})
}

// durably makes a change on the loop, observes at once, and returns when the
// change is on disk.
func (c *calls) durably(ctx context.Context, change func() ([]*session.Commit, error)) error {
	var commits []*session.Commit
	err := c.call(ctx, func() (err error) {
		if c.l.shutdown.begun || c.l.goal.ended {
			return api.ErrShuttingDown
		}
		commits, err = change()
		c.l.observer.next = time.Now() // observe at once
		return err
	})
	if err != nil {
		return err
	}
	for _, t := range commits {
		if t != nil {
			err = cmp.Or(err, t.Wait())
		}
	}
	if err != nil {
		return api.Hinted(roomHint, "the change is done, but lost if the controller ends before it can be saved: %w", err)
	}
	return nil
}
