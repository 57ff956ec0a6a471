package session

import (
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/store"
)

// NudgeState is the state of a queued nudge.
type NudgeState string

// The states of a queued nudge.
const (
	NudgeQueued     NudgeState = "queued"
	NudgeDelivering NudgeState = "delivering" // being typed, or its controller died meanwhile
	NudgeDelivered  NudgeState = "delivered"
	NudgeDead       NudgeState = "dead"    // given up; Detail says why
	NudgeDropped    NudgeState = "dropped" // taken back by a person; never stored
)

// Nudge is a message waiting for its agent. Fields are only ever added.
type Nudge struct {
	ID        string        `json:"id"` // ids sort in the order of the queue
	Agent     string        `json:"agent"`
	Text      string        `json:"text"`
	From      string        `json:"from,omitempty"` // the wait that it reports
	By        string        `json:"by,omitempty"`   // who sent it, as in events; "": the controller
	Immediate bool          `json:"immediate,omitempty"`
	Raw       bool          `json:"raw,omitempty"`       // typed literally, even if the agent takes it for a command
	Interrupt bool          `json:"interrupt,omitempty"` // ends the agent's turn first; tried once
	State     NudgeState    `json:"state"`
	Receipt   runtime.State `json:"receipt,omitempty"` // of the last try
	Detail    string        `json:"detail,omitempty"`  // why it is waiting or was given up
	Changed   string        `json:"changed,omitempty"` // as in the receipt

	Interrupted string `json:"interrupted,omitempty"` // as in the receipt
	Blocker     string `json:"blocker,omitempty"`     // Interrupt only: By of the receipt

	// The incarnation that it is for, or one that continues its conversation over
	// ACP; empty: the next one that can take it.
	SessionID string `json:"sessionId,omitempty"`
	Epoch     int64  `json:"epoch,omitempty"`

	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
	NotBefore time.Time `json:"notBefore,omitzero"` // back-off
	Later     bool      `json:"later,omitempty"`    // before NotBefore it holds back no other
	Lease     time.Time `json:"lease,omitzero"`     // delivering: how long the try may take
	Tries     int       `json:"tries,omitempty"`
	Ended     time.Time `json:"ended,omitzero"`
}

// DefaultTTL is how long a nudge waits before it is given up.
const DefaultTTL = 24 * time.Hour

// nudgePolicy holds the times of nudges. Each nudge has its own lifetime.
var nudgePolicy = delivery.Policy{Lease: 2 * time.Minute, FirstPause: 5 * time.Second, MaxPause: 5 * time.Minute}

// nudgeStates maps the words of city.db and of the API to the states of a
// delivery.
var nudgeStates = map[NudgeState]delivery.State{
	NudgeQueued: delivery.Pending, NudgeDelivering: delivery.Injecting, NudgeDelivered: delivery.Delivered,
	NudgeDead: delivery.Dead, NudgeDropped: delivery.Dropped,
}

func (n *Nudge) progress() delivery.Progress {
	return delivery.Progress{State: nudgeStates[n.State], Tries: n.Tries, Created: n.Created, Next: n.NotBefore, Lease: n.Lease, Detail: n.Detail}
}

// step applies a transition. One that does not fit changes nothing.
func (n *Nudge) step(f func(*delivery.Progress) error) error {
	p := n.progress()
	if err := f(&p); err != nil {
		return fmt.Errorf("nudge %s: %w", n.ID, err)
	}
	for word, state := range nudgeStates {
		if state == p.State {
			n.State = word
		}
	}
	n.Tries, n.Detail, n.Lease = p.Tries, p.Detail, p.Lease
	switch {
	case p.State == delivery.Pending:
		n.NotBefore = p.Next
	case p.State.Final():
		n.Ended = p.Updated
	}
	return nil
}

// Open reports whether the nudge may still be delivered.
func (n *Nudge) Open() bool { return n.State == NudgeQueued }

// Fenced returns why a queued nudge must not be delivered: it has expired, or
// the incarnation that it is for is gone. sessionID is the running incarnation,
// "" if unknown; continues is its Record.Continues. The result is "" if the nudge
// may be delivered.
func (n *Nudge) Fenced(now time.Time, sessionID string, continues int64) string {
	switch {
	case !n.Open():
	case !now.Before(n.Expires):
		return "expired: " + n.Detail
	case continues > 0 && n.Epoch >= continues:
	case n.SessionID != "" && sessionID != "" && n.SessionID != sessionID:
		return "the session it was for has ended"
	}
	return ""
}

// GiveUp ends a nudge that was not delivered; it is never typed again.
func (n *Nudge) GiveUp(now time.Time, why string) error {
	return n.step(func(p *delivery.Progress) error { return p.GiveUp(now, why) })
}

// Begin leases a queued nudge for one try on an incarnation. The change must be
// on disk before the first byte is typed.
func (n *Nudge) Begin(now time.Time, sessionID string, epoch int64) error {
	why := n.Detail // of the try before
	err := n.step(func(p *delivery.Progress) error {
		if err := p.Acquire(nudgePolicy, now); err != nil {
			return err
		}
		return p.Inject("", "", now)
	})
	if err == nil {
		n.SessionID, n.Epoch, n.Lease, n.Detail = sessionID, epoch, now.Add(nudgePolicy.Lease), why
	}
	return err
}

// End applies the result of a try. A nudge that may have been typed is never
// typed again; one that was not is tried again later.
func (n *Nudge) End(now time.Time, r runtime.Receipt, err error) error {
	n.Receipt, n.Changed, n.Interrupted = r.State, r.Changed, r.Interrupted
	return n.step(func(p *delivery.Progress) error {
		switch {
		case errors.Is(err, runtime.ErrSessionNotFound):
			return p.GiveUp(now, "the session it was for has ended")
		case err != nil:
			return p.GiveUp(now, fmt.Sprintf("it may have been typed: %v", err))
		case r.State == runtime.Submitted, r.State == runtime.Unverified:
			return p.Deliver(now, r.Detail)
		case n.Interrupt && r.State == runtime.Blocked:
			n.Blocker = r.By
			return p.GiveUp(now, r.Detail)
		case r.State == runtime.Blocked, r.State == runtime.Refused:
			return p.Retry(nudgePolicy, now, joinDetail(string(r.State)+" "+r.By, r.Detail))
		}
		return p.GiveUp(now, joinDetail(string(r.State), r.Detail))
	})
}

func joinDetail(a, b string) string {
	if b == "" {
		return a
	}
	return a + ": " + b
}

// Postpone keeps a queued nudge waiting and says why.
func (n *Nudge) Postpone(now time.Time, why string) error {
	return n.step(func(p *delivery.Progress) error { return p.Postpone(nudgePolicy, now, why) })
}

// Retry queues a nudge again after a try that typed nothing.
func (n *Nudge) Retry(now time.Time, why string) error {
	return n.step(func(p *delivery.Progress) error { return p.Retry(nudgePolicy, now, why) })
}

// Drop takes back a nudge unless it is being typed.
func (n *Nudge) Drop(now time.Time) error {
	return n.step(func(p *delivery.Progress) error { return p.Drop(now) })
}

// Recover gives up a nudge whose controller died while typing it: it may have
// arrived. It reports whether the nudge was such a one.
func (n *Nudge) Recover(now time.Time) bool {
	return n.State == NudgeDelivering && n.GiveUp(now, "the controller ended while it was typed: it may have arrived") == nil
}

var (
	nudges = store.NewBucket[Nudge]("nudges")
	waits  = store.NewBucket[Wait]("waits")
)

// keepEnded is how many finished nudges of each state are kept.
const keepEnded = 500

// NewNudge makes a queued nudge with an id that sorts after all earlier ones.
func (b *Store) NewNudge(n Nudge, ttl time.Duration) Nudge {
	if ttl <= 0 {
		ttl = DefaultTTL
	}
	n.ID = b.nextID()
	n.State, n.Created = NudgeQueued, b.Now().UTC()
	n.Expires = n.Created.Add(ttl)
	return n
}

// SaveNudge queues the nudge to be written.
func (b *Store) SaveNudge(n Nudge) *Commit {
	return b.put("nudge "+n.ID, func(tx *store.Tx) error { return nudges.Put(tx, n.ID, n) })
}

// DeleteNudge queues its removal.
func (b *Store) DeleteNudge(id string) *Commit {
	return b.put("nudge "+id, func(tx *store.Tx) error { return nudges.Delete(tx, id) })
}

// Nudges returns the nudges in queue order, and removes the oldest finished
// ones.
func (b *Store) Nudges() ([]Nudge, error) {
	var out []Nudge
	err := b.db.Update(func(tx *store.Tx) error {
		out = out[:0]
		if err := nudges.Each(tx, "", func(_ string, n Nudge) error {
			out = append(out, n)
			return nil
		}); err != nil {
			return err
		}
		done := map[NudgeState]int{}
		kept := len(out)
		for i := len(out) - 1; i >= 0; i-- {
			n := out[i]
			if done[n.State]++; !n.Ended.IsZero() && done[n.State] > keepEnded {
				if err := nudges.Delete(tx, n.ID); err != nil {
					return err
				}
				continue
			}
			kept--
			out[kept] = n
		}
		out = out[kept:]
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the nudges: %w", err)
	}
	return out, nil
}

// Wait is a stored wait: when its condition is met, an agent gets a note.
type Wait struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"` // who is watched
	Until   string    `json:"until"` // exit, idle, text=RE, quiet=D
	Wake    string    `json:"wake"`  // who gets the note
	Note    string    `json:"note,omitempty"`
	Created time.Time `json:"created"`
	Detail  string    `json:"detail,omitempty"` // why it cannot be checked now
}

// NewWait gives a wait its id.
func (b *Store) NewWait(w Wait) Wait {
	w.ID, w.Created = b.nextID(), time.Now().UTC()
	return w
}

// SaveWait queues the wait to be written.
func (b *Store) SaveWait(w Wait) *Commit {
	return b.put("wait "+w.ID, func(tx *store.Tx) error { return waits.Put(tx, w.ID, w) })
}

// MeetWait queues the replacement of a wait by the nudge that reports it, as one
// write.
func (b *Store) MeetWait(id string, n Nudge) *Commit {
	return b.put("", func(tx *store.Tx) error {
		if err := waits.Delete(tx, id); err != nil {
			return err
		}
		return nudges.Put(tx, n.ID, n)
	})
}

// DeleteWait queues its removal.
func (b *Store) DeleteWait(id string) *Commit {
	return b.put("wait "+id, func(tx *store.Tx) error { return waits.Delete(tx, id) })
}

// Waits returns all stored waits in the order they came.
func (b *Store) Waits() ([]Wait, error) {
	var out []Wait
	err := b.db.View(func(tx *store.Tx) error {
		return waits.Each(tx, "", func(_ string, w Wait) error {
			out = append(out, w)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the waits: %w", err)
	}
	return out, nil
}
