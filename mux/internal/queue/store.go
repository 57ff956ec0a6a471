package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// unsaved are messages in the state that mux.db refused to take. While there are any,
// nothing is delivered, and the disk is tried again after a pause.
type unsaved struct {
	items map[string]api.QueueItem
	pause time.Duration
	next  time.Time // of the next try
}

// put writes a message, or holds it until the disk takes it. kept is false if it was
// removed meanwhile.
func (q *Queue) put(it api.QueueItem) (kept bool) {
	kept, err := q.write(it)
	if err != nil {
		q.hold(it, err)
		return true
	}
	return kept
}

// write writes a message durably, unless it was removed.
func (q *Queue) write(it api.QueueItem) (kept bool, err error) {
	defer q.notify()
	err = q.DB.Batch(func(tx *store.Tx) error {
		kept, err = putMessage(tx, it)
		return err
	})
	return kept && err == nil, err
}

func putMessage(tx *store.Tx, it api.QueueItem) (kept bool, err error) {
	if _, kept, err = messages.Get(tx, it.ID); err != nil || !kept {
		return false, err
	}
	return true, messages.Put(tx, it.ID, it)
}

// hold keeps a message in memory that the disk refused.
func (q *Queue) hold(it api.QueueItem, why error) {
	if errors.Is(why, store.ErrClosed) {
		return
	}
	q.mu.Lock()
	u := &q.unsaved
	u.items[it.ID] = it
	first := u.next.IsZero()
	if first {
		u.pause = firstPause
		u.next = q.Clock.Now().Add(u.pause)
	}
	q.mu.Unlock()
	if first {
		slog.Warn("the queue is paused until mux.db accepts writes", "error", why)
	}
	q.notify()
}

// save writes unsaved messages if it is time to. It returns the time of the next attempt;
// zero if nothing is left.
func (q *Queue) save() (next time.Time) {
	q.mu.Lock()
	u := &q.unsaved
	if u.next.IsZero() {
		q.mu.Unlock()
		return time.Time{}
	}
	if u.next.After(q.Clock.Now()) {
		defer q.mu.Unlock()
		return u.next
	}
	items := make([]api.QueueItem, 0, len(u.items))
	for _, it := range u.items {
		items = append(items, it)
	}
	q.mu.Unlock()
	err := q.DB.Batch(func(tx *store.Tx) error {
		for _, it := range items {
			if _, err := putMessage(tx, it); err != nil {
				return err
			}
		}
		return nil
	})
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		u.pause = min(2*u.pause, longestPause)
		u.next = q.Clock.Now().Add(u.pause)
		return u.next
	}
	slog.Info("the queue is running again: mux.db accepts writes")
	for _, it := range items {
		if now := u.items[it.ID]; now.State == it.State && now.Tries == it.Tries && now.Detail == it.Detail {
			delete(u.items, it.ID)
		}
	}
	u.next = time.Time{}
	if len(u.items) > 0 { // added meanwhile
		u.next = q.Clock.Now().Add(firstPause)
	}
	return u.next
}

// current returns the actual state of a message, given what mux.db has.
func (q *Queue) current(it api.QueueItem) api.QueueItem {
	q.mu.Lock()
	defer q.mu.Unlock()
	if held, ok := q.unsaved.items[it.ID]; ok {
		return held
	}
	return it
}

// Remove removes a message.
func (q *Queue) Remove(id string) error {
	defer q.notify()
	err := q.DB.Batch(func(tx *store.Tx) error { return messages.Delete(tx, id) })
	if err == nil {
		q.mu.Lock()
		delete(q.unsaved.items, id)
		q.mu.Unlock()
	}
	return err
}

// notify wakes those who wait for the outcome of a message.
func (q *Queue) notify() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

// Await returns a message when it was delivered or given up, or as it is after limit.
// ErrNoMessage if it does not exist.
func (q *Queue) Await(ctx context.Context, id string, limit time.Duration) (it api.QueueItem, err error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		q.mu.Lock()
		if q.changed == nil {
			q.changed = make(chan struct{})
		}
		changed := q.changed
		q.mu.Unlock()
		found := false
		err = q.DB.View(func(tx *store.Tx) error {
			it, found, err = messages.Get(tx, id)
			return err
		})
		it = q.current(it)
		switch {
		case err != nil:
			return it, err
		case !found:
			return it, fmt.Errorf("%w: %s", api.ErrNoMessage, id)
		case it.State == api.QueueDelivered || it.State == api.QueueDead:
			return it, nil
		}
		select {
		case <-changed:
		case <-late.C:
			return it, nil
		case <-q.Done:
			return it, nil
		case <-ctx.Done():
			return it, ctx.Err()
		}
	}
}

// List returns the messages for a name, or all if it is empty, oldest first.
func (q *Queue) List(target string) ([]api.QueueItem, error) {
	out := []api.QueueItem{}
	err := q.DB.View(func(tx *store.Tx) error {
		return messages.Each(tx, "", func(_ string, it api.QueueItem) error {
			if target == "" || it.Target == target {
				out = append(out, q.current(it))
			}
			return nil
		})
	})
	return out, err
}

// Renamed updates the target of messages that wait for the session of an id.
func (q *Queue) Renamed(id, name string) {
	err := q.DB.Batch(func(tx *store.Tx) error {
		return messages.Each(tx, "", func(key string, it api.QueueItem) error {
			if it.Session != id || it.Target == name {
				return nil
			}
			it.Target = name
			return messages.Put(tx, key, it)
		})
	})
	if err != nil {
		slog.Warn("cannot rename in the queue", "error", err)
	}
	q.wake()
}
