// Package elsewhere is what a controller uses of a city's other machines, over the streams
// that it holds: their outboxes, and their background commands beside those of this machine.
//
// It makes no stream and starts no multiplexer. The command that runs the controller passes
// [Machines] to it.
package elsewhere

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gascity.dev/gc/cmd/gc/internal/away"
	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller"
	"gascity.dev/gc/internal/controller/outbox"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/client"
)

// Machines are the other machines of a city. It belongs to one goroutine; what it returns
// may be used by others.
type Machines struct {
	providers *backend.Set
	boxes     map[string]*away.Outbox // by machine
	commands  everyMux
}

// New returns the machines of a city that runs with these providers.
func New(providers *backend.Set) *Machines {
	return &Machines{providers: providers, boxes: map[string]*away.Outbox{}, commands: everyMux{muxes: []controller.Background{&commands{}}}}
}

// Commands returns the background commands of this machine and of the others.
func (ms *Machines) Commands() controller.Background { return &ms.commands }

// Outboxes implements controller.Options.Outboxes.
func (ms *Machines) Outboxes(city *config.City) []outbox.Outbox {
	var list []outbox.Outbox
	for _, machine := range backend.Hosts(city) {
		box := ms.boxes[machine]
		if box == nil {
			dial := func(ctx context.Context) (*client.Client, error) { return ms.providers.MuxOn(ctx, machine) }
			box = &away.Outbox{Machine: machine, Dial: dial}
			ms.boxes[machine] = box
			ms.commands.add(&commands{dial: dial})
		}
		list = append(list, box)
	}
	return list
}

// everyMux is the background commands of several multiplexers as one. Those that do not
// answer are left out: their deliveries wait there.
type everyMux struct {
	mu      sync.Mutex
	muxes   []controller.Background // only added to
	added   chan struct{}           // closed by add; nil: nobody follows
	batches map[string]controller.Background
}

// add adds a multiplexer, also to a Follow in progress.
func (e *everyMux) add(b controller.Background) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.muxes = append(e.muxes, b)
	if e.added != nil {
		close(e.added)
		e.added = nil
	}
}

func (e *everyMux) list() []controller.Background {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.muxes)
}

// followPause is between tries to follow a multiplexer, which may not run yet.
const followPause = 5 * time.Second

// Follow implements controller.Background. It ends when a multiplexer is added.
func (e *everyMux) Follow(ctx context.Context, changed func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	e.mu.Lock()
	muxes, added := slices.Clone(e.muxes), make(chan struct{})
	e.added = added
	e.mu.Unlock()
	var all sync.WaitGroup
	for _, b := range muxes {
		all.Go(func() {
			for ctx.Err() == nil {
				_ = b.Follow(ctx, changed) // it is tried again
				_ = clock.Sleep(ctx, followPause)
			}
		})
	}
	select {
	case <-added:
	case <-ctx.Done():
	}
	stop()
	all.Wait()
	return ctx.Err()
}

// Away implements controller.Background.
func (e *everyMux) Away(ctx context.Context) ([]process.Delivery, error) {
	muxes := e.list()
	lists, errs := make([][]process.Delivery, len(muxes)), make([]error, len(muxes))
	var all sync.WaitGroup
	for i, b := range muxes {
		all.Go(func() { lists[i], errs[i] = b.Away(ctx) })
	}
	all.Wait()
	if !slices.Contains(errs, nil) {
		return nil, errors.Join(errs...)
	}
	for i, list := range lists {
		for _, d := range list {
			e.claimed(d.Batch, muxes[i])
		}
	}
	return slices.Concat(lists...), nil
}

// claimed notes which multiplexer a batch is of.
func (e *everyMux) claimed(batch string, b controller.Background) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.batches == nil {
		e.batches = map[string]controller.Background{}
	}
	if batch != "" {
		e.batches[batch] = b
	}
}

// Claim implements controller.Background.
func (e *everyMux) Claim(ctx context.Context, owner, by string) (batch string, events []string, text string, err error) {
	var errs []error
	for _, b := range e.list() {
		batch, events, text, err := b.Claim(ctx, owner, by)
		if err == nil && batch != "" {
			e.claimed(batch, b)
			return batch, events, text, nil
		}
		errs = append(errs, err)
	}
	if slices.Contains(errs, nil) { // nothing is due where it can be asked
		return "", nil, "", nil
	}
	return "", nil, "", errors.Join(errs...)
}

// Settle implements controller.Background.
func (e *everyMux) Settle(ctx context.Context, batch string, state process.DeliveryState, detail string) error {
	e.mu.Lock()
	b := e.batches[batch]
	e.mu.Unlock()
	if b == nil {
		return fmt.Errorf("no multiplexer is known for the batch %s", batch)
	}
	err := b.Settle(ctx, batch, state, detail)
	if err == nil {
		e.mu.Lock()
		delete(e.batches, batch)
		e.mu.Unlock()
	}
	return err
}
