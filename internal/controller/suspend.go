package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
)

// suspendedBy says who keeps a member down, "" for nobody.
func (l *loop) suspendedBy(m *member) string {
	switch {
	case m.seen.Record.Suspended:
		return api.ByAgent
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
		return api.ByConfig
	case l.paused(session.PauseCity):
		return api.ByCity
	case r.Rig != "" && l.paused(session.PauseRig(r.Rig)):
		return api.ByRig + " " + r.Rig
	case l.pools[r.Template] != nil && l.paused(session.PausePool(r.Template)):
		return api.ByPool + " " + r.Template
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
				return nil, api.Hinted("gc rig list", "%w: %s", api.ErrUnknownRig, name)
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
			return nil, fmt.Errorf("%w: no name", api.ErrUnknownAgent)
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
			err = api.ErrShuttingDown
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
