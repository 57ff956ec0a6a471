package exec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/runtime"
)

// How often the script is polled for running sessions: once a second, but its
// processes may use at most one percent of a core.
const (
	pollPeriod = time.Second
	pollShare  = 100
	pollMost   = 10 * time.Second
)

// eventRoom is how many events a subscriber may lag before it is dropped.
const eventRoom = 256

// Events implements runtime.EventSource. Scripts push nothing, so they are polled:
// one list-running per round, and is-running for a session that is missing from the
// list, or for every known one if the script cannot list.
func (p *Provider) Events(ctx context.Context) (<-chan runtime.Event, error) {
	w := &watch{p: p, out: make(chan runtime.Event, eventRoom), known: map[string]uint64{}}
	running, err := w.running(ctx)
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	for name := range running {
		n, making := p.births(name)
		if !making { // a session in the making is reported by a later round
			w.known[name] = n
		}
	}
	go w.run(ctx)
	return w.out, nil
}

// watch is one subscription.
type watch struct {
	p     *Provider
	out   chan runtime.Event
	known map[string]uint64 // running sessions, with the number of our start that created them
}

// startBegins notes a start of this provider. There is one at a time for a session.
func (p *Provider) startBegins(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.making[name] = true
}

// startEnds notes its end, and counts it if it created a session.
func (p *Provider) startEnds(name string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.making, name)
	if ok {
		p.born[name]++
	}
}

// births returns how often this provider started the session; making: a start is
// running.
func (p *Provider) births(name string) (n uint64, making bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.born[name], p.making[name]
}

// saw remembers a running session, for a script that cannot list.
func (p *Provider) saw(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.born[name]; !ok {
		p.born[name] = 0
	}
}

func (p *Provider) bornNames() map[string]uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := make(map[string]uint64, len(p.born))
	for name, n := range p.born {
		names[name] = n
	}
	return names
}

// forget drops a session that ended, unless it was started again.
func (p *Provider) forget(name string, births uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.born[name] == births {
		delete(p.born, name)
		delete(p.looks, name)
	}
}

func (w *watch) run(ctx context.Context) {
	defer close(w.out)
	timer := time.NewTimer(pollPeriod)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		before := w.p.spent.Load()
		if !w.round(ctx) {
			return
		}
		spent := time.Duration(w.p.spent.Load() - before)
		timer.Reset(min(max(pollPeriod, pollShare*spent), pollMost))
	}
}

// round polls once and reports changes; false if the subscriber is gone. Whatever is
// unknown now is reported by a later round.
func (w *watch) round(ctx context.Context) bool {
	born := w.p.bornNames()
	for name, n := range born {
		if n > w.known[name] { // it may have ended again
			w.known[name] = n
			if !w.tell(runtime.Event{Kind: runtime.EventStarted, Session: name, Time: time.Now()}) {
				return false
			}
		}
	}
	if len(w.known) == 0 {
		return true
	}
	running, err := w.running(ctx)
	if err != nil {
		return true
	}
	for name := range running {
		_, ok := w.known[name]
		if n, making := w.p.births(name); !ok && !making {
			w.known[name] = n
			if !w.tell(runtime.Event{Kind: runtime.EventStarted, Session: name, Time: time.Now()}) {
				return false
			}
		}
	}
	for name, n := range w.known {
		if running[name] {
			continue
		}
		if up, err := w.p.IsRunning(ctx, name); err != nil || up {
			continue
		}
		delete(w.known, name)
		w.p.forget(name, n)
		if !w.tell(runtime.Event{Kind: runtime.EventExited, Session: name, Time: time.Now(), Exit: w.exit(ctx, name)}) {
			return false
		}
	}
	return true
}

// running returns the sessions that the script lists; if it cannot list, known
// sessions that may run, for the caller to query.
func (w *watch) running(ctx context.Context) (map[string]bool, error) {
	running := map[string]bool{}
	names, err := w.p.ListRunning(ctx, "")
	if !errors.Is(err, runtime.ErrUnsupported) {
		for _, name := range names {
			running[name] = true
		}
		return running, err
	}
	for name := range w.p.bornNames() {
		if up, err := w.p.IsRunning(ctx, name); err == nil && up {
			running[name] = true
		}
	}
	return running, nil
}

// exit returns how a session ended, as far as the script reports it.
func (w *watch) exit(ctx context.Context, name string) *runtime.Exit {
	if e, err := w.p.LastExit(ctx, name); err == nil && e != nil {
		return e
	}
	return &runtime.Exit{Code: -1, Reason: runtime.ReasonUnknown, Time: time.Now()}
}

func (w *watch) tell(e runtime.Event) bool {
	select {
	case w.out <- e:
		return true
	default:
		return false
	}
}
