package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/session"
)

// Who suspended an agent, in AgentStatus.SuspendedBy. A rig or a pool follows
// after a blank.
const (
	ByAgent  = "agent"  // gc agent suspend AGENT
	ByPool   = "pool"   // gc agent suspend POOL
	ByRig    = "rig"    // gc rig suspend RIG
	ByCity   = "city"   // gc suspend
	ByConfig = "config" // suspended = true in city.toml
)

// suspendedBy says who keeps a member down, "" for nobody.
func (l *loop) suspendedBy(m *member) string {
	switch {
	case m.seen.Record.Suspended:
		return ByAgent
	case m.spec == nil:
		return ""
	}
	return l.pausedBy(m.spec)
}

// pausedBy is suspendedBy of an agent of the config or a pool, whatever its
// record says.
func (l *loop) pausedBy(s *agent.Spec) string {
	r := &s.Resolved
	switch {
	case r.Suspended:
		return ByConfig
	case l.paused(session.PauseCity):
		return ByCity
	case r.Rig != "" && l.paused(session.PauseRig(r.Rig)):
		return ByRig + " " + r.Rig
	case l.pools[r.Template] != nil && l.paused(session.PausePool(r.Template)):
		return ByPool + " " + r.Template
	}
	return ""
}

func (l *loop) paused(key string) bool {
	_, ok := l.pauses[key]
	return ok
}

// pause takes something out, or lets it in again; the ticket tells when that is
// on disk.
func (l *loop) pause(key string, on bool) *session.Ticket {
	if !on {
		delete(l.pauses, key)
		return l.book.DeletePause(key)
	}
	p, ok := l.pauses[key]
	if !ok {
		p = session.Pause{Since: time.Now().UTC()}
		l.pauses[key] = p
	}
	return l.book.SavePause(key, p)
}

// setSuspended suspends or resumes agents and pools by name, or the city
// without names. It returns when that is on disk, and does not wait for the
// drains.
func (l *loop) setSuspended(ctx context.Context, list []string, on bool) error {
	return l.durably(ctx, func() ([]*session.Ticket, error) {
		if len(list) == 0 {
			return []*session.Ticket{l.pause(session.PauseCity, on)}, nil
		}
		var tickets []*session.Ticket
		var single []string
		for _, name := range list {
			if _, ok := l.pools[name]; ok {
				tickets = append(tickets, l.pause(session.PausePool(name), on))
				if on {
					continue // the pause covers members to come too
				}
			}
			single = append(single, name)
		}
		if len(single) == 0 {
			return tickets, nil
		}
		picked, err := l.pick(single)
		if err != nil && len(tickets) == 0 { // a pool may have no member now
			return nil, err
		}
		for _, m := range picked {
			r := &m.seen.Record
			if r.Suspended = on; !on {
				r.Stopped, r.Asleep, r.Drained = false, false, false
			}
			tickets = append(tickets, l.save(m))
		}
		return tickets, nil
	})
}

// setRigs suspends or resumes rigs.
func (l *loop) setRigs(ctx context.Context, list []string, on bool) error {
	return l.durably(ctx, func() ([]*session.Ticket, error) {
		var tickets []*session.Ticket
		for _, name := range list {
			if !l.hasRig(name) {
				return nil, hinted("gc rig list", "%w: %s", ErrUnknownRig, name)
			}
		}
		for _, name := range list {
			tickets = append(tickets, l.pause(session.PauseRig(name), on))
		}
		return tickets, nil
	})
}

func (l *loop) hasRig(name string) bool {
	for i := range l.o.City.Rigs {
		if l.o.City.Rigs[i].Name == name {
			return true
		}
	}
	return false
}

// setDrained asks agents to end by themselves and stay down, or takes it back.
func (l *loop) setDrained(ctx context.Context, list []string, on bool) error {
	return l.durably(ctx, func() ([]*session.Ticket, error) {
		if len(list) == 0 {
			return nil, fmt.Errorf("%w: no name", ErrUnknownAgent)
		}
		picked, err := l.pick(list)
		var tickets []*session.Ticket
		for _, m := range picked {
			m.seen.Record.Drained = on
			tickets = append(tickets, l.save(m))
		}
		return tickets, err
	})
}

// durably makes a change on the loop, looks at once, and waits until it is on
// disk.
func (l *loop) durably(ctx context.Context, change func() ([]*session.Ticket, error)) error {
	var tickets []*session.Ticket
	var err error
	in := l.inLoop(ctx, func() {
		if l.stopping || l.ended {
			err = ErrShuttingDown
			return
		}
		tickets, err = change()
		l.patrol = time.Now() // look at once
	})
	if err = errors.Join(in, err); err != nil {
		return err
	}
	for _, t := range tickets {
		if t != nil {
			err = errors.Join(err, t.Wait())
		}
	}
	return err
}

// serveSuspend adds the calls of this file.
func (s *server) serveSuspend(mux *http.ServeMux) {
	for path, set := range map[string]func(context.Context, []string, bool) error{
		"/v1/agents/": s.l.setSuspended, "/v1/rigs/": s.l.setRigs,
	} {
		mux.HandleFunc("POST "+path+"suspend", s.named(func(ctx context.Context, list []string) error { return set(ctx, list, true) }))
		mux.HandleFunc("POST "+path+"resume", s.named(func(ctx context.Context, list []string) error { return set(ctx, list, false) }))
	}
	mux.HandleFunc("POST /v1/agents/drain", s.named(func(ctx context.Context, list []string) error { return s.l.setDrained(ctx, list, true) }))
	mux.HandleFunc("POST /v1/agents/undrain", s.named(func(ctx context.Context, list []string) error { return s.l.setDrained(ctx, list, false) }))
}

// Suspend takes agents and pools out of the city until Resume, also over gc
// stop; without names the whole city. Running agents are drained; Suspend
// returns when the wish is on disk.
func (c *Client) Suspend(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/suspend", names{agents}, nil)
}

// Resume undoes Suspend of the same names, and StopAgents and Drain; without
// names Suspend of the city.
func (c *Client) Resume(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/resume", names{agents}, nil)
}

// SuspendRigs is Suspend for the agents of rigs, also of those that come.
func (c *Client) SuspendRigs(ctx context.Context, rigs ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/rigs/suspend", names{rigs}, nil)
}

// ResumeRigs undoes SuspendRigs.
func (c *Client) ResumeRigs(ctx context.Context, rigs ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/rigs/resume", names{rigs}, nil)
}

// Drain asks agents to end by themselves, ends them when they agreed or took
// too long, and keeps them down until Restart, Resume, Undrain or the next gc
// start.
func (c *Client) Drain(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/drain", names{agents}, nil)
}

// Undrain takes Drain back: a drain that is not over is cancelled.
func (c *Client) Undrain(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/undrain", names{agents}, nil)
}
