package session

import (
	"fmt"
	"time"

	"gascity.dev/gc/store"
)

// taken holds the messages from outboxes of other machines that were applied here and may
// still be there, by id, with the time.
var taken = store.NewBucket[time.Time]("taken")

// keepTaken is how long an id is kept if its outbox never confirms that it deleted the
// message. A machine may be off for weeks and come back with the message; one that stays
// away for a season does not come back. Each loss of a machine leaves at most one such id,
// so even years of them are small.
const keepTaken = 90 * 24 * time.Hour

// Taken returns the ids of messages that were applied and not forgotten. It forgets those
// that are too old.
func (b *Store) Taken() (map[string]bool, error) {
	all := map[string]bool{}
	err := b.db.Update(func(tx *store.Tx) error {
		clear(all)
		var old []string
		if err := taken.Each(tx, "", func(id string, at time.Time) error {
			if all[id] = true; time.Since(at) > keepTaken {
				old = append(old, id)
			}
			return nil
		}); err != nil {
			return err
		}
		for _, id := range old {
			delete(all, id)
			if err := taken.Delete(tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the messages taken from outboxes: %w", err)
	}
	return all, nil
}

// Take queues the id of a message to be written.
func (b *Store) Take(id string) *Commit { return b.take(id, nil) }

// TakeNudge queues a nudge and the id of the message that asked for it, as one write.
func (b *Store) TakeNudge(id string, n Nudge) *Commit {
	return b.take(id, func(tx *store.Tx) error { return nudges.Put(tx, n.ID, n) })
}

// TakeWait queues a wait and the id of the message that asked for it, as one write.
func (b *Store) TakeWait(id string, w Wait) *Commit {
	return b.take(id, func(tx *store.Tx) error { return waits.Put(tx, w.ID, w) })
}

// TakeRecord queues a record and the id of the message that changed it, as one write.
func (b *Store) TakeRecord(id string, r Record) *Commit {
	r.Restarts = append([]time.Time(nil), r.Restarts...) // the caller keeps changing its own
	return b.take(id, func(tx *store.Tx) error { return records.Put(tx, r.Agent, r) })
}

// take queues one write of an id and its effect. It has no key: no later write of the
// effect alone may replace it.
func (b *Store) take(id string, effect func(*store.Tx) error) *Commit {
	at := time.Now().UTC()
	return b.put("", func(tx *store.Tx) error {
		if effect != nil {
			if err := effect(tx); err != nil {
				return err
			}
		}
		return taken.Put(tx, id, at)
	})
}

// Forget queues the removal of an id. Its message is not in its outbox any more.
func (b *Store) Forget(id string) *Commit {
	return b.put("", func(tx *store.Tx) error { return taken.Delete(tx, id) })
}

// Flush returns a commit of everything that was queued before, also of writes that failed:
// these are tried again.
func (b *Store) Flush() *Commit {
	return b.put("flush", func(*store.Tx) error { return nil })
}
