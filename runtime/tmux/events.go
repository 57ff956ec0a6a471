package tmux

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
)

// tmux does not notify control clients of a program's end while the pane remains, and
// notices from a hook may crash it (see quiet.go). So we ask the kernel: every
// session's program is a process on this machine.

// eventRoom is how many events a subscriber may lag before it is dropped.
const eventRoom = 256

// watch is one subscription to events.
type watch struct {
	p    *Provider
	ctx  context.Context
	end  context.CancelFunc
	out  chan runtime.Event
	work sync.WaitGroup

	mu      sync.Mutex
	stopped bool           // programs are no longer followed
	known   map[string]int // pid of each session's program
}

// Events implements runtime.EventSource.
func (p *Provider) Events(ctx context.Context) (<-chan runtime.Event, error) {
	w := &watch{p: p, out: make(chan runtime.Event, eventRoom), known: map[string]int{}}
	w.ctx, w.end = context.WithCancel(ctx)
	p.mu.Lock()
	p.watches = append(p.watches, w)
	p.mu.Unlock()
	panes, err := p.panes(ctx)
	if err != nil {
		w.close()
		return nil, fmt.Errorf("events: %w", err)
	}
	for _, v := range panes {
		w.see(v, false)
	}
	go func() {
		<-w.ctx.Done()
		w.close()
	}()
	return w.out, nil
}

func (w *watch) close() {
	w.end()
	w.p.mu.Lock()
	for i, other := range w.p.watches {
		if other == w {
			w.p.watches = append(w.p.watches[:i:i], w.p.watches[i+1:]...)
			break
		}
	}
	w.p.mu.Unlock()
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.work.Wait()
	close(w.out)
}

// watched returns the current subscriptions.
func (p *Provider) watched() []*watch {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watches
}

// seen reports running sessions to every subscription.
func (p *Provider) seen(panes ...pane) {
	for _, w := range p.watched() {
		for _, v := range panes {
			w.see(v, true)
		}
	}
}

// see follows a session's program unless it does so already. report: send an event for a new
// session.
func (w *watch) see(v pane, report bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || v.pid <= 0 || w.known[v.name] == v.pid {
		return
	}
	_, had := w.known[v.name]
	w.known[v.name] = v.pid
	if report && !had {
		w.send(runtime.Event{Kind: runtime.EventStarted, Session: v.name, Time: time.Now()})
	}
	w.work.Go(func() { w.follow(v) })
}

// send must be called with w.mu held. It drops a subscriber that lags too far.
func (w *watch) send(e runtime.Event) {
	select {
	case w.out <- e:
	default:
		w.end()
	}
}

// deadLimit is how long a pane may seem alive after its program's end. It does while
// a child of the program holds the terminal; the patrol finds that.
const deadLimit = 2 * time.Second

// follow waits for the end of a session's program and reports how it ended, as tmux
// has it.
func (w *watch) follow(v pane) {
	if proc, err := proctree.Get(v.pid); err == nil {
		_ = proctree.Ended(w.ctx, proc) // tmux is asked next in any case
	}
	if w.ctx.Err() != nil {
		return
	}
	for begin := time.Now(); time.Since(begin) < deadLimit; {
		now, err := w.p.get(w.ctx, v.target)
		switch {
		case gone(err):
			w.ended(v, &runtime.Exit{Code: -1, Reason: runtime.ReasonUnknown, Time: time.Now()})
			return
		case err != nil:
			w.forget(v)
			return
		case now.dead:
			w.ended(v, now.exit())
			return
		case now.pid != v.pid: // relaunched
			w.see(now, true)
			return
		}
		if clock.Sleep(w.ctx, echoStep) != nil {
			return
		}
	}
	w.forget(v)
}

func (w *watch) ended(v pane, exit *runtime.Exit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known[v.name] != v.pid || w.stopped {
		return
	}
	delete(w.known, v.name)
	w.send(runtime.Event{Kind: runtime.EventExited, Session: v.name, Time: time.Now(), Exit: exit})
}

// forget leaves a session to the next list.
func (w *watch) forget(v pane) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known[v.name] == v.pid {
		delete(w.known, v.name)
	}
}
