package exec

import (
	"fmt"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// Away returns the open deliveries to owners without a session here, oldest first.
func (c *Commands) Away() ([]api.Delivery, error) {
	open, err := c.completions.list()
	out := []api.Delivery{}
	for _, d := range open {
		if !c.hosts(d.Owner) {
			out = append(out, d)
		}
	}
	return out, err
}

// hosts reports whether the owner has a session here.
func (c *Commands) hosts(owner string) bool {
	_, ok := c.Host.Owner(owner)
	return ok
}

// Deliveries returns the deliveries of an owner ("" is all) in a state ("" is
// any), including final ones, and the number in each state.
func (c *Commands) Deliveries(owner string, state process.DeliveryState) (list []api.Delivery, counts map[process.DeliveryState]int, err error) {
	list, counts = []api.Delivery{}, make(map[process.DeliveryState]int)
	err = c.Host.View(func(tx *store.Tx) error {
		open, err := c.store.Open(tx)
		if err != nil {
			return err
		}
		finished, err := c.store.Finished(tx)
		for _, d := range append(finished, open...) {
			if owner != "" && d.Owner != owner {
				continue
			}
			counts[d.State]++
			if state == "" || d.State == state {
				list = append(list, d)
			}
		}
		return err
	})
	return list, counts, err
}

// Claim gives the caller what is due to an owner without a session here; only
// the caller may type it then. The claim is empty if nothing is due or another
// caller is delivering to the owner.
func (c *Commands) Claim(owner, by string) (api.Claim, error) {
	if owner == "" || by == "" {
		return api.Claim{}, fmt.Errorf("%w: a claim requires owner and by", api.ErrRequest)
	}
	co := c.completions
	if !co.reserve(owner) {
		return api.Claim{}, nil
	}
	defer func() {
		co.release(owner)
		if c.hosts(owner) { // its session started meanwhile
			co.wake()
		}
	}()
	if c.hosts(owner) {
		return api.Claim{}, nil
	}
	batch, events, text := co.take("away", owner, by)
	if len(events) == 0 {
		return api.Claim{}, nil
	}
	return api.Claim{Batch: batch, Events: events, Text: text}, nil
}

// Settle saves the outcome of a claim: delivered, dead, or pending for another
// try. A late outcome is ignored.
func (c *Commands) Settle(batch string, state process.DeliveryState, detail string) error {
	settle := outcome(state, c.Now(), detail)
	if settle == nil || batch == "" {
		return fmt.Errorf("%w: the state of a batch must be delivered, pending or dead", api.ErrRequest)
	}
	open, err := c.completions.list()
	if err != nil {
		return err
	}
	var ids []string
	for _, d := range open {
		if d.Batch == batch && d.By != "" && d.State == process.Injecting {
			ids = append(ids, d.Event)
		}
	}
	err = c.Host.Tx(func(tx *store.Tx) error {
		_, err := c.store.Step(tx, ids, func(d *process.Delivery) error {
			if d.Batch != batch || d.By == "" {
				return process.ErrState // settled meanwhile
			}
			return settle(d)
		})
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		c.completions.refresh(id)
	}
	c.completions.wake() // its session may have started here meanwhile
	return nil
}
