package server

import (
	"fmt"
	"net/http"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// hosts reports whether the owner has a session here.
func (x *execs) hosts(owner string) bool {
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	return x.srv.sessions.byName[owner] != nil
}

// away are the open deliveries to owners without a session here.
func (x *execs) away() ([]api.Delivery, error) {
	open, err := x.deliveries()
	out := []api.Delivery{}
	for _, d := range open {
		if !x.hosts(d.Owner) {
			out = append(out, d)
		}
	}
	return out, err
}

func (x *execs) handleClaim(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct{ Owner, By string }
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	if in.Owner == "" || in.By == "" {
		return nil, fmt.Errorf("%w: a claim names the owner, and whose it is", api.ErrRequest)
	}
	if !x.reserve(in.Owner) { // it is being told
		return api.Claim{}, nil
	}
	defer func() {
		x.release(in.Owner)
		if x.hosts(in.Owner) { // it came meanwhile
			x.wake()
		}
	}()
	if x.hosts(in.Owner) {
		return api.Claim{}, nil
	}
	batch, events, text := x.take("away", in.Owner, in.By)
	if len(events) == 0 {
		return api.Claim{}, nil
	}
	return api.Claim{Batch: batch, Events: events, Text: text}, nil
}

// reserve makes the caller the only one who tells an owner; false when somebody
// does.
func (x *execs) reserve(owner string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.busy[owner] {
		return false
	}
	x.busy[owner] = true
	return true
}

func (x *execs) release(owner string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.busy, owner)
}

func (x *execs) handleSettle(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Batch, Detail string
		State         process.DeliveryState
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	now := x.srv.clock.Now()
	settle := map[process.DeliveryState]func(*process.Delivery) error{
		process.Delivered: func(d *process.Delivery) error { return d.Deliver(now, in.Detail) },
		process.Pending:   func(d *process.Delivery) error { return d.Retry(now, in.Detail) },
		process.Dead:      func(d *process.Delivery) error { return d.GiveUp(now, in.Detail) },
	}[in.State]
	if settle == nil || in.Batch == "" {
		return nil, fmt.Errorf("%w: a batch is settled as delivered, pending or dead", api.ErrRequest)
	}
	open, err := x.deliveries()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, d := range open {
		if d.Batch == in.Batch && d.By != "" && d.State == process.Injecting {
			ids = append(ids, d.Event)
		}
	}
	err = x.srv.db.Batch(func(tx *store.Tx) error {
		_, err := x.book.Step(tx, ids, func(d *process.Delivery) error {
			if d.Batch != in.Batch || d.By == "" {
				return process.ErrState // settled meanwhile
			}
			return settle(d)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		x.refresh(id)
	}
	x.wake() // its session may have come here meanwhile
	return nil, nil
}
