// Package elsewhere is what a controller uses of a city's other machines, over the streams
// that it holds: their outboxes, and their background commands beside those of this machine.
//
// It makes no stream and starts no multiplexer. Each pod is a machine of its own, as long as
// its stream is held. The command that runs the controller passes
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
	boxes     map[string]*machine // by name
	commands  everyMux
}

// machine is what is used of one machine.
type machine struct {
	box      *away.Outbox
	commands *commands
}

// New returns the machines of a city that runs with these providers.
func New(providers *backend.Set) *Machines {
	return &Machines{providers: providers, boxes: map[string]*machine{}, commands: everyMux{muxes: []controller.Background{&commands{}}}}
}

// Commands returns the background commands of this machine and of the others.
func (ms *Machines) Commands() controller.Background { return &ms.commands }

// Outboxes implements controller.Options.Outboxes.
func (ms *Machines) Outboxes(city *config.City) []outbox.Outbox {
	var list []outbox.Outbox
	pods, _ := ms.providers.HeldPods()
	for _, name := range append(backend.Hosts(city), pods...) {
		m := ms.boxes[name]
		if m == nil {
			dial := func(ctx context.Context) (*client.Client, error) { return ms.providers.MuxOn(ctx, name) }
			m = &machine{box: &away.Outbox{Machine: name, Dial: dial}, commands: &commands{dial: dial}}
			ms.boxes[name] = m
			ms.commands.add(m.commands)
		}
		list = append(list, m.box)
	}
	ms.leave(list)
	return list
}

// leave closes what was used of pods that are gone. Hosts stay: commands may run there.
func (ms *Machines) leave(stay []outbox.Outbox) {
	for name, m := range ms.boxes {
		if !backend.IsPod(name) || slices.Contains(stay, outbox.Outbox(m.box)) {
			continue
		}
		delete(ms.boxes, name)
		ms.commands.remove(m.commands)
		_ = m.box.Close() // the pod is gone
		m.commands.close()
	}
}

// Follow implements controller.Options.FollowOutboxes: the pods of a city come and go.
func (ms *Machines) Follow(ctx context.Context, changed func()) {
	var last []string
	for ctx.Err() == nil {
		pods, next := ms.providers.HeldPods()
		if next == nil {
			return
		}
		if !slices.Equal(pods, last) {
			last = pods
			changed()
		}
		select {
		case <-next:
		case <-ctx.Done():
		}
	}
}

// everyMux is the background commands of several multiplexers as one. Those that do not
// answer are left out: their deliveries wait there.
type everyMux struct {
	mu      sync.Mutex
	muxes   []controller.Background
	changed chan struct{} // closed by add and remove; nil: nobody follows
	batches map[string]controller.Background
}

// add adds a multiplexer, also to a Follow in progress.
func (e *everyMux) add(b controller.Background) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.muxes = append(e.muxes, b)
	e.wake()
}

// remove removes a multiplexer, also from a Follow in progress.
func (e *everyMux) remove(b controller.Background) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.muxes = slices.DeleteFunc(e.muxes, func(o controller.Background) bool { return o == b })
	e.wake()
}

// wake tells a Follow in progress. The lock is held.
func (e *everyMux) wake() {
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

func (e *everyMux) list() []controller.Background {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.muxes)
}

// followPause is between tries to follow a multiplexer, which may not run yet.
const followPause = 5 * time.Second

// Follow implements controller.Background: each multiplexer while it is in the list.
func (e *everyMux) Follow(ctx context.Context, changed func()) error {
	ctx, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	followed := map[controller.Background]context.CancelFunc{}
	for ctx.Err() == nil {
		e.mu.Lock()
		muxes, others := slices.Clone(e.muxes), make(chan struct{})
		e.changed = others
		e.mu.Unlock()
		for b, leave := range followed {
			if !slices.Contains(muxes, b) {
				leave()
				delete(followed, b)
			}
		}
		for _, b := range muxes {
			if followed[b] == nil {
				one, leave := context.WithCancel(ctx)
				followed[b] = leave
				all.Go(func() { followOne(one, b, changed) })
			}
		}
		select {
		case <-others:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// followOne follows one multiplexer, again after each loss.
func followOne(ctx context.Context, b controller.Background, changed func()) {
	for ctx.Err() == nil {
		_ = b.Follow(ctx, changed) // it is tried again
		_ = clock.Sleep(ctx, followPause)
	}
}

// Dead implements controller.Background.
func (e *everyMux) Dead(ctx context.Context) ([]process.Delivery, error) {
	lists, err := ofEach(e.list(), func(b controller.Background) ([]process.Delivery, error) { return b.Dead(ctx) })
	return slices.Concat(lists...), err
}

// ofEach asks all multiplexers at once. It fails if none answers.
func ofEach(muxes []controller.Background, ask func(controller.Background) ([]process.Delivery, error)) ([][]process.Delivery, error) {
	lists, errs := make([][]process.Delivery, len(muxes)), make([]error, len(muxes))
	var all sync.WaitGroup
	for i, b := range muxes {
		all.Go(func() { lists[i], errs[i] = ask(b) })
	}
	all.Wait()
	if !slices.Contains(errs, nil) {
		return nil, errors.Join(errs...)
	}
	return lists, nil
}

// Away implements controller.Background.
func (e *everyMux) Away(ctx context.Context) ([]process.Delivery, error) {
	muxes := e.list()
	lists, err := ofEach(muxes, func(b controller.Background) ([]process.Delivery, error) { return b.Away(ctx) })
	if err != nil {
		return nil, err
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
