package server

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
func (d *deliveries) put(it api.QueueItem) (kept bool) {
	kept, err := d.write(it)
	if err != nil {
		d.hold(it, err)
		return true
	}
	return kept
}

// write writes a message durably, unless it was removed.
func (d *deliveries) write(it api.QueueItem) (kept bool, err error) {
	defer d.notify()
	err = d.srv.db.Batch(func(tx *store.Tx) error {
		kept, err = putMessage(tx, it)
		return err
	})
	return kept && err == nil, err
}

func putMessage(tx *store.Tx, it api.QueueItem) (kept bool, err error) {
	if _, kept, err = queueBucket.Get(tx, it.ID); err != nil || !kept {
		return false, err
	}
	return true, queueBucket.Put(tx, it.ID, it)
}

// hold keeps a message in memory that the disk refused.
func (d *deliveries) hold(it api.QueueItem, why error) {
	if errors.Is(why, store.ErrClosed) {
		return
	}
	d.mu.Lock()
	u := &d.unsaved
	u.items[it.ID] = it
	first := u.next.IsZero()
	if first {
		u.pause = queuePause
		u.next = d.srv.clock.Now().Add(u.pause)
	}
	d.mu.Unlock()
	if first {
		slog.Warn("the queue is paused until mux.db accepts writes", "error", why)
	}
	d.notify()
}

// save writes unsaved messages if it is time to. It returns the time of the next attempt;
// zero if nothing is left.
func (d *deliveries) save() (next time.Time) {
	d.mu.Lock()
	u := &d.unsaved
	if u.next.IsZero() {
		d.mu.Unlock()
		return time.Time{}
	}
	if u.next.After(d.srv.clock.Now()) {
		defer d.mu.Unlock()
		return u.next
	}
	items := make([]api.QueueItem, 0, len(u.items))
	for _, it := range u.items {
		items = append(items, it)
	}
	d.mu.Unlock()
	err := d.srv.db.Batch(func(tx *store.Tx) error {
		for _, it := range items {
			if _, err := putMessage(tx, it); err != nil {
				return err
			}
		}
		return nil
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		u.pause = min(2*u.pause, queuePauses)
		u.next = d.srv.clock.Now().Add(u.pause)
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
		u.next = d.srv.clock.Now().Add(queuePause)
	}
	return u.next
}

// current returns the actual state of a message, given what mux.db has.
func (d *deliveries) current(it api.QueueItem) api.QueueItem {
	d.mu.Lock()
	defer d.mu.Unlock()
	if held, ok := d.unsaved.items[it.ID]; ok {
		return held
	}
	return it
}

func (d *deliveries) remove(id string) error {
	defer d.notify()
	err := d.srv.db.Batch(func(tx *store.Tx) error { return queueBucket.Delete(tx, id) })
	if err == nil {
		d.mu.Lock()
		delete(d.unsaved.items, id)
		d.mu.Unlock()
	}
	return err
}

// notify wakes those who wait for the outcome of a message.
func (d *deliveries) notify() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changed != nil {
		close(d.changed)
		d.changed = nil
	}
}

// await returns a message when it was delivered or given up, or as it is after limit.
// ErrNoMessage if it does not exist.
func (d *deliveries) await(ctx context.Context, id string, limit time.Duration) (it api.QueueItem, err error) {
	late, stop := after(limit)
	defer stop()
	for {
		d.mu.Lock()
		if d.changed == nil {
			d.changed = make(chan struct{})
		}
		changed := d.changed
		d.mu.Unlock()
		found := false
		err = d.srv.db.View(func(tx *store.Tx) error {
			it, found, err = queueBucket.Get(tx, id)
			return err
		})
		it = d.current(it)
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
		case <-late:
			return it, nil
		case <-d.srv.lifetime.done:
			return it, nil
		case <-ctx.Done():
			return it, ctx.Err()
		}
	}
}

func (d *deliveries) list(target string) ([]api.QueueItem, error) {
	out := []api.QueueItem{}
	err := d.srv.db.View(func(tx *store.Tx) error {
		return queueBucket.Each(tx, "", func(_ string, it api.QueueItem) error {
			if target == "" || it.Target == target {
				out = append(out, d.current(it))
			}
			return nil
		})
	})
	return out, err
}
