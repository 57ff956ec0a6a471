// Package delivery brings a message to an agent: a nudge, the note of a wait,
// the end of a background command.
//
// Its invariant: a message that may have been typed is never typed again unless
// it was positively not submitted. [Progress] is the state machine, a pure
// function of its arguments that records embed or convert to; an [Attempt] types
// one message through the narrow view of an [Agent] and finds out what became of
// it. It serves the controller, the multiplexer and the records of both.
package delivery

import (
	"errors"
	"fmt"
	"time"
)

// State is how far a delivery has come.
type State string

// The states: pending → leased → injecting → delivered. The last four are final,
// except that a final one can be dropped.
const (
	Pending   State = "pending"   // waits for its agent, or for the next try
	Leased    State = "leased"    // about to be typed
	Injecting State = "injecting" // it may have been typed
	Delivered State = "delivered"
	Consumed  State = "consumed" // its recipient learned of it in another way
	Dead      State = "dead"     // given up; Detail says why
	Dropped   State = "dropped"  // taken back by a person
)

// Final reports whether the state never changes again.
func (s State) Final() bool {
	return s == Delivered || s == Consumed || s == Dead || s == Dropped
}

// ErrState means that a transition does not fit the state.
var ErrState = errors.New("not possible in this state")

// Policy holds the times of one kind of message.
type Policy struct {
	Lease      time.Duration // how long a lease lasts
	FirstPause time.Duration // after the first failed try; doubled by each further one
	MaxPause   time.Duration // at most
	Lifetime   time.Duration // from Created until it is given up
}

// Progress is how far one message has come. Its times are of the clock that the
// caller passes as now.
type Progress struct {
	State   State     `json:"state"`
	Batch   string    `json:"batch,omitempty"` // the message that carries it
	By      string    `json:"by,omitempty"`    // injecting: who types it; "": the multiplexer itself
	Tries   int       `json:"tries"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Next    time.Time `json:"next,omitzero"`  // pending: not before
	Lease   time.Time `json:"lease,omitzero"` // leased: until
	Detail  string    `json:"detail,omitempty"`
}

// Due reports whether it can be leased now. A time further ahead than the policy
// sets was set by a clock that has been put back, and does not count.
func (p *Progress) Due(policy Policy, now time.Time) bool {
	switch p.State {
	case Pending:
		return !ahead(p.Next, now, policy.MaxPause)
	case Leased:
		return !ahead(p.Lease, now, policy.Lease)
	}
	return false
}

func ahead(t, now time.Time, most time.Duration) bool {
	d := t.Sub(now)
	return !t.IsZero() && d > 0 && d <= most
}

// Expired reports whether its time ran out while it waited for its agent, or
// for the report of the process that types it.
func (p *Progress) Expired(policy Policy, now time.Time) bool {
	waits := p.State == Pending || p.State == Injecting && p.By != ""
	return waits && now.Sub(p.Created) >= policy.Lifetime
}

func (p *Progress) to(s State, now time.Time, detail string) {
	p.State, p.Updated, p.Detail = s, now, detail
	p.Next, p.Lease = time.Time{}, time.Time{}
}

func (p *Progress) refuse(verb string) error {
	return fmt.Errorf("%w: %s a delivery that is %s", ErrState, verb, p.State)
}

// Acquire leases it for one try; ErrState unless it is due.
func (p *Progress) Acquire(policy Policy, now time.Time) error {
	if !p.Due(policy, now) {
		return p.refuse("lease")
	}
	p.to(Leased, now, "")
	p.Tries++
	p.Lease = now.Add(policy.Lease)
	return nil
}

// Inject records that it is about to be typed as part of a message, by a process
// outside the multiplexer unless by is ""; ErrState unless it is leased. The
// change must be on disk before the first byte.
func (p *Progress) Inject(batch, by string, now time.Time) error {
	if p.State != Leased {
		return p.refuse("inject")
	}
	p.to(Injecting, now, "")
	p.Batch, p.By = batch, by
	return nil
}

// Deliver records that it was submitted; ErrState unless it was injected.
func (p *Progress) Deliver(now time.Time, detail string) error {
	if p.State != Injecting {
		return p.refuse("deliver")
	}
	p.to(Delivered, now, detail)
	return nil
}

// Retry puts back what was not submitted, for a later try; ErrState unless a try
// is under way.
func (p *Progress) Retry(policy Policy, now time.Time, why string) error {
	if p.State != Leased && p.State != Injecting {
		return p.refuse("retry")
	}
	p.to(Pending, now, why)
	p.Batch, p.By = "", ""
	p.Next = now.Add(policy.pause(p.Tries))
	return nil
}

// Postpone keeps a pending one waiting: its agent cannot take it yet. ErrState
// unless it is pending.
func (p *Progress) Postpone(policy Policy, now time.Time, why string) error {
	if p.State != Pending {
		return p.refuse("postpone")
	}
	p.to(Pending, now, why)
	p.Next = now.Add(policy.pause(p.Tries))
	return nil
}

// pause is the wait after a number of tries.
func (policy Policy) pause(tries int) time.Duration {
	return min(policy.FirstPause<<min(max(tries-1, 0), 10), policy.MaxPause)
}

// Consume records that the recipient learned of it in another way. ErrState
// once it may have been typed: then the message wins.
func (p *Progress) Consume(now time.Time) error {
	if p.State != Pending && p.State != Leased {
		return p.refuse("consume")
	}
	p.to(Consumed, now, "")
	return nil
}

// Drop takes it back, or forgets a final one. ErrState while it is being typed.
func (p *Progress) Drop(now time.Time) error {
	if p.State == Injecting {
		return p.refuse("drop")
	}
	p.to(Dropped, now, "")
	return nil
}

// GiveUp makes it a dead letter; ErrState for a final one.
func (p *Progress) GiveUp(now time.Time, why string) error {
	if p.State.Final() {
		return p.refuse("give up")
	}
	p.to(Dead, now, why)
	return nil
}

// Recover sets the state after its lease holder crashed. A message that may have
// been typed keeps its state: only the screen shows whether it was.
func (p *Progress) Recover(now time.Time) {
	if p.State == Leased {
		p.to(Pending, now, p.Detail)
	}
}
