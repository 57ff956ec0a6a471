package store

import "errors"

// batchCall is one call of Batch.
type batchCall struct {
	fn   func(*Tx) error
	err  error
	pan  any           // the value fn panicked with
	done chan struct{} // closed when the outcome is known
	lead chan struct{} // closed to make this caller commit the next group
}

// errRetry rolls a group back so that it can run again without a failed call.
var errRetry = errors.New("group rolled back")

// Batch is Update for many concurrent callers: calls that arrive during a
// commit share the next one, and so one fsync; a lone caller does not wait. fn
// may run more than once (if another call of its group failed) and must be
// idempotent; it may run on another caller's goroutine. Each caller gets its own fn's
// error or panic, and a failing fn undoes only itself.
func (db *DB) Batch(fn func(*Tx) error) error {
	c := &batchCall{fn: fn, done: make(chan struct{}), lead: make(chan struct{})}
	db.mu.Lock()
	db.queue = append(db.queue, c)
	first := !db.committing
	db.committing = true
	db.mu.Unlock()
	if first {
		db.lead()
	} else {
		select {
		case <-c.done:
		case <-c.lead:
			db.lead()
		}
	}
	<-c.done
	if c.pan != nil {
		panic(c.pan)
	}
	return c.err
}

// lead commits everything queued, including the caller's own call, then makes
// the first caller that arrived meanwhile the leader.
func (db *DB) lead() {
	db.mu.Lock()
	group := db.queue
	db.queue = nil
	db.mu.Unlock()

	db.commit(group)

	db.mu.Lock()
	if len(db.queue) > 0 {
		close(db.queue[0].lead)
	} else {
		db.committing = false
	}
	db.mu.Unlock()
}

// commit runs the calls in one transaction, removing each that fails, until the
// remaining ones commit together.
func (db *DB) commit(group []*batchCall) {
	for len(group) > 0 {
		failed := -1
		err := db.Update(func(tx *Tx) error {
			for i, c := range group {
				if c.run(tx) {
					continue
				}
				failed = i
				return errRetry
			}
			return nil
		})
		if failed >= 0 {
			close(group[failed].done)
			group = append(group[:failed:failed], group[failed+1:]...)
			continue
		}
		for _, c := range group {
			c.err = err
			close(c.done)
		}
		return
	}
}

// run calls fn and reports success; a panic is saved for the caller's
// goroutine.
func (c *batchCall) run(tx *Tx) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			c.pan, ok = p, false
		}
	}()
	c.err = c.fn(tx)
	if c.err == nil {
		c.err, tx.err = tx.err, nil
	}
	return c.err == nil
}
