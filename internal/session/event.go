package session

import (
	"fmt"
	"strconv"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/store"
)

// Event is one thing that happened in a city. Fields are only ever added.
type Event struct {
	Seq     uint64    `json:"seq"` // counts from 1 over the life of the city
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"`
	Agent   string    `json:"agent,omitempty"`
	Session string    `json:"session,omitempty"`
	// SessionID is the id of the incarnation: GC_SESSION_ID, and the session's id in a
	// multiplexer; "" if it is about none.
	SessionID string        `json:"sessionId,omitempty"`
	Host      string        `json:"host,omitempty"` // the other machine of the session, ssh://…
	Why       string        `json:"why,omitempty"`
	Detail    string        `json:"detail,omitempty"`
	Exit      *runtime.Exit `json:"exit,omitempty"`
	Screen    string        `json:"screen,omitempty"` // the last screen before a crash

	// By is who did it, as far as it is proved: "agent NAME", "session NAME",
	// "terminal pts/3", "controller", "multiplexer", "unknown"; "" for what happened by
	// itself.
	By      string           `json:"by,omitempty"`
	Receipt *runtime.Receipt `json:"receipt,omitempty"` // nudge

	Turn  *runtime.Turn  `json:"turn,omitempty"`  // acp.turn
	Usage *runtime.Usage `json:"usage,omitempty"` // acp.turn: of the conversation so far
}

// keepEvents is how many events a city keeps.
const keepEvents = 50_000

var events = store.NewBucket[Event]("events")

// eventKey formats a number so that keys sort numerically.
func eventKey(seq uint64) string { return fmt.Sprintf("%020d", seq) }

// Append numbers the event, queues it to be written, and returns it.
func (b *Store) Append(e Event) Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq++
	e.Seq = b.seq
	if !b.closed {
		b.events = append(b.events, e)
		b.wakeLocked()
	}
	return e
}

// Seq is the number of the newest event; 0 before the first.
func (b *Store) Seq() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seq
}

// Events returns the kept events after seq, oldest first, including those not on
// disk yet; at most limit, 0 = all.
func (b *Store) Events(after uint64, limit int) ([]Event, error) {
	b.mu.Lock()
	fresh := append([]Event(nil), b.events...)
	b.mu.Unlock()
	var out []Event
	err := b.db.View(func(tx *store.Tx) error {
		for seq := after + 1; ; seq++ {
			e, ok, err := events.Get(tx, eventKey(seq))
			if err != nil {
				return err
			}
			if !ok {
				last, err := lastSeq(tx)
				if err != nil || seq >= last {
					return err
				}
				next := nextEvent(tx, seq)
				if next == 0 {
					return nil
				}
				seq = next - 1
				continue
			}
			if out = append(out, e); limit > 0 && len(out) == limit {
				return nil
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read the events: %w", err)
	}
	last := after
	if len(out) > 0 {
		last = out[len(out)-1].Seq
	}
	for _, e := range fresh {
		if e.Seq > last && (limit <= 0 || len(out) < limit) {
			out = append(out, e)
		}
	}
	return out, nil
}

// nextEvent returns the number of the first kept event after seq, 0 if there is
// none. There are gaps: the oldest are dropped, and so is what a failing disk
// did not take.
func nextEvent(tx *store.Tx, seq uint64) uint64 {
	for key := range events.All(tx, "") {
		n, err := strconv.ParseUint(key, 10, 64)
		if err == nil && n > seq {
			return n
		}
	}
	return 0
}

// lastSeq returns the newest number on disk.
func lastSeq(tx *store.Tx) (uint64, error) {
	last, _, err := counters.Get(tx, lastEvent)
	return last, err
}

// counters holds numbers that outlive what they count.
var counters = store.NewBucket[uint64]("counters")

const (
	lastEvent = "events"
	lastID    = "ids"
)

// writeEvents writes new events and drops the oldest.
func writeEvents(tx *store.Tx, list []Event) error {
	for _, e := range list {
		if err := events.Put(tx, eventKey(e.Seq), e); err != nil {
			return err
		}
		if e.Seq > keepEvents {
			if err := events.Delete(tx, eventKey(e.Seq-keepEvents)); err != nil {
				return err
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	return counters.Put(tx, lastEvent, list[len(list)-1].Seq)
}
