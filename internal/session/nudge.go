package session

import (
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/store"
)

// NudgeState is where a queued nudge stands.
type NudgeState string

// The states of a queued nudge.
const (
	NudgeQueued     NudgeState = "queued"
	NudgeDelivering NudgeState = "delivering" // being typed, or its controller died while it was
	NudgeDelivered  NudgeState = "delivered"
	NudgeDead       NudgeState = "dead"    // given up; Detail says why
	NudgeDropped    NudgeState = "dropped" // a person took it back; never stored
)

// Nudge is a message that waits for its agent. Fields are only ever added.
type Nudge struct {
	ID        string        `json:"id"` // sorts in the order they came
	Agent     string        `json:"agent"`
	Text      string        `json:"text"`
	From      string        `json:"from,omitempty"` // the wait that made it
	Immediate bool          `json:"immediate,omitempty"`
	Raw       bool          `json:"raw,omitempty"` // typed as it is, also what is a command to the agent
	State     NudgeState    `json:"state"`
	Receipt   runtime.State `json:"receipt,omitempty"` // of the last try
	Detail    string        `json:"detail,omitempty"`  // why it waits, or was given up
	Changed   string        `json:"changed,omitempty"` // as in the receipt

	// The incarnation it is for: no other gets it. Empty: the first that can.
	SessionID string `json:"sessionId,omitempty"`
	Epoch     int64  `json:"epoch,omitempty"`

	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
	NotBefore time.Time `json:"notBefore,omitzero"` // back-off
	Lease     time.Time `json:"lease,omitzero"`     // delivering: until then it is somebody's
	Tries     int       `json:"tries,omitempty"`
	Ended     time.Time `json:"ended,omitzero"`
}

// DefaultTTL is how long a nudge waits before it becomes a dead letter.
const DefaultTTL = 24 * time.Hour

// The back-off between tries that were blocked, and the lease of one try.
const (
	firstNudgeBackOff = 5 * time.Second
	maxNudgeBackOff   = 5 * time.Minute
	nudgeLease        = 2 * time.Minute
)

// Open reports whether the nudge may still be delivered.
func (n *Nudge) Open() bool { return n.State == NudgeQueued }

// Fence ends a nudge that is too old or for an incarnation that is gone. It
// reports whether it did.
func (n *Nudge) Fence(now time.Time, sessionID string) bool {
	switch {
	case n.State != NudgeQueued:
		return false
	case !now.Before(n.Expires):
		n.giveUp(now, "expired: "+n.Detail)
	case n.SessionID != "" && sessionID != "" && n.SessionID != sessionID:
		n.giveUp(now, "the session it was for has ended")
	default:
		return false
	}
	return true
}

func (n *Nudge) giveUp(now time.Time, why string) {
	n.State, n.Detail, n.Ended, n.Lease = NudgeDead, why, now, time.Time{}
}

// Begin leases the nudge for one try on an incarnation. It must be on disk
// before anything is typed.
func (n *Nudge) Begin(now time.Time, sessionID string, epoch int64) {
	n.State, n.SessionID, n.Epoch, n.Lease = NudgeDelivering, sessionID, epoch, now.Add(nudgeLease)
	n.Tries++
}

// End takes in the outcome of a try. What may have been typed is never typed
// again; what was not is tried again later.
func (n *Nudge) End(now time.Time, r runtime.Receipt, err error) {
	n.Lease, n.Receipt, n.Changed = time.Time{}, r.State, r.Changed
	switch {
	case errors.Is(err, runtime.ErrSessionNotFound):
		n.giveUp(now, "the session it was for has ended")
	case err != nil:
		n.giveUp(now, fmt.Sprintf("it may have been typed: %v", err))
	case r.State == runtime.Submitted, r.State == runtime.Unverified:
		n.State, n.Detail, n.Ended = NudgeDelivered, r.Detail, now
	case r.State == runtime.Blocked, r.State == runtime.Refused:
		n.Wait(now, joinDetail(string(r.State)+" "+r.By, r.Detail))
	default:
		n.giveUp(now, joinDetail(string(r.State), r.Detail))
	}
}

func joinDetail(a, b string) string {
	if b == "" {
		return a
	}
	return a + ": " + b
}

// Wait puts the nudge back with a back-off.
func (n *Nudge) Wait(now time.Time, why string) {
	d := firstNudgeBackOff
	for range n.Tries - 1 {
		d = min(2*d, maxNudgeBackOff)
	}
	n.State, n.Detail, n.NotBefore, n.Lease = NudgeQueued, why, now.Add(d), time.Time{}
}

// Recover ends what a controller that died was typing: it may have arrived, so
// it is reported, never repeated. It reports whether it did.
func (n *Nudge) Recover(now time.Time) bool {
	if n.State != NudgeDelivering {
		return false
	}
	n.giveUp(now, "the controller ended while it was typed: it may have arrived")
	return true
}

var (
	nudges = store.NewBucket[Nudge]("nudges")
	waits  = store.NewBucket[Wait]("waits")
)

// keepEnded is how many nudges that are done are kept, of each kind.
const keepEnded = 500

// NewNudge makes a queued nudge with an id that sorts after all earlier ones.
func (b *Book) NewNudge(n Nudge, ttl time.Duration) Nudge {
	if ttl <= 0 {
		ttl = DefaultTTL
	}
	n.ID = b.nextID()
	n.State, n.Created = NudgeQueued, b.Now().UTC()
	n.Expires = n.Created.Add(ttl)
	return n
}

// SaveNudge writes it, soon.
func (b *Book) SaveNudge(n Nudge) *Ticket {
	return b.put("nudge "+n.ID, func(tx *store.Tx) error { return nudges.Put(tx, n.ID, n) })
}

// DeleteNudge forgets it.
func (b *Book) DeleteNudge(id string) *Ticket {
	return b.put("nudge "+id, func(tx *store.Tx) error { return nudges.Delete(tx, id) })
}

// Nudges returns all of them in the order they came, and forgets the oldest of
// those that are done.
func (b *Book) Nudges() ([]Nudge, error) {
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

// Wait is a stored wait: when its condition is met, an agent is woken with a
// note.
type Wait struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"` // who is watched
	Until   string    `json:"until"` // exit, idle, text=RE, quiet=D
	Wake    string    `json:"wake"`  // who gets the note
	Note    string    `json:"note,omitempty"`
	Created time.Time `json:"created"`
	Detail  string    `json:"detail,omitempty"` // why it cannot be told now
}

// NewWait gives a wait its id.
func (b *Book) NewWait(w Wait) Wait {
	w.ID, w.Created = b.nextID(), time.Now().UTC()
	return w
}

// SaveWait writes it, soon.
func (b *Book) SaveWait(w Wait) *Ticket {
	return b.put("wait "+w.ID, func(tx *store.Tx) error { return waits.Put(tx, w.ID, w) })
}

// MeetWait replaces a wait by the nudge that tells of it, in one step.
func (b *Book) MeetWait(id string, n Nudge) *Ticket {
	return b.put("", func(tx *store.Tx) error {
		if err := waits.Delete(tx, id); err != nil {
			return err
		}
		return nudges.Put(tx, n.ID, n)
	})
}

// DeleteWait forgets it.
func (b *Book) DeleteWait(id string) *Ticket {
	return b.put("wait "+id, func(tx *store.Tx) error { return waits.Delete(tx, id) })
}

// Waits returns all stored waits in the order they came.
func (b *Book) Waits() ([]Wait, error) {
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
