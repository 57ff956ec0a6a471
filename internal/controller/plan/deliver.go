package plan

import (
	"slices"
	"time"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/internal/session"
)

// Actions on messages.
const (
	ActDeliver  Kind = "deliver"  // type it once the agent takes messages
	ActGiveUp   Kind = "give-up"  // report it and never type it
	ActPostpone Kind = "postpone" // try again later
	ActWake     Kind = "wake"     // start the idle-stopped agent
	ActReport   Kind = "report"   // type the ends of its background commands
)

// Recipient is what delivery needs to know of an agent. The zero value is an agent
// about which nothing is known.
type Recipient struct {
	ID        string    // the incarnation that runs, or ran last; "" if unknown
	Continues int64     // of its record
	Ready     bool      // it runs, and neither an operation, a drain nor another message is in flight
	Foreign   bool      // a session that is not this city's has its name
	IdleDown  bool      // it was stopped because it was idle, and may be started
	NotBefore time.Time // no ends of commands before
}

// Delivery is what to do with one nudge.
type Delivery struct {
	Kind  Kind
	Nudge *session.Nudge
	Why   string
}

// Deliveries returns what to do with queued nudges: those of one agent are
// delivered one at a time, in the order of the queue, those that interrupt first. next is when to plan again;
// zero: when something changes. Times are of the nudges' clock.
func Deliveries(queue []*session.Nudge, to map[string]Recipient, now time.Time) (out []Delivery, next time.Time) {
	taken := map[string]bool{}
	for _, n := range queue {
		if n.State == session.NudgeDelivering {
			taken[n.Agent] = true
		}
	}
	for _, n := range ahead(queue) {
		if !n.Open() {
			continue
		}
		r := to[n.Agent]
		if why := n.Fenced(now, r.ID, r.Continues); why != "" {
			out = append(out, Delivery{ActGiveUp, n, why})
			continue
		}
		for _, at := range []time.Time{n.Expires, n.NotBefore} {
			if at.After(now) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
		if n.Later && n.NotBefore.After(now) {
			continue
		}
		first := !taken[n.Agent]
		taken[n.Agent] = true
		switch {
		case !first || !r.Ready || n.NotBefore.After(now):
		case r.Foreign:
			out = append(out, Delivery{Kind: ActPostpone, Nudge: n})
		default:
			out = append(out, Delivery{Kind: ActDeliver, Nudge: n})
		}
	}
	return out, next
}

// ahead returns the queue with the nudges that interrupt first.
func ahead(queue []*session.Nudge) []*session.Nudge {
	interrupts := func(n *session.Nudge) bool { return n.Interrupt && n.Open() }
	if !slices.ContainsFunc(queue, interrupts) {
		return queue
	}
	queue = slices.Clone(queue)
	slices.SortStableFunc(queue, func(a, b *session.Nudge) int {
		switch x, y := interrupts(a), interrupts(b); {
		case x == y:
			return 0
		case x:
			return -1
		}
		return 1
	})
	return queue
}

// Completions returns what to do about an agent whose background commands have
// ended: ActWake, ActReport, or ActWait with the time to plan again, which is zero
// if only a change helps. by is who types for this city: what by claimed and did
// not settle is due at once.
func Completions(open []process.Delivery, to Recipient, by string, now time.Time) (Kind, time.Time) {
	switch {
	case to.IdleDown:
		return ActWake, time.Time{}
	case !to.Ready || to.Foreign:
		return ActWait, time.Time{}
	case now.Before(to.NotBefore):
		return ActWait, to.NotBefore
	}
	var next time.Time
	for i := range open {
		d := &open[i]
		switch {
		case d.State == process.Injecting && d.By == by, d.Due(now):
			return ActReport, time.Time{}
		case d.State == process.Pending && (next.IsZero() || d.Next.Before(next)):
			next = d.Next
		}
	}
	return ActWait, next
}
