package elsewhere

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/outbox"
	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/many"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
	"gascity.dev/gc/runtime/wrap"
)

// muxFake is the background commands of one multiplexer.
type muxFake struct {
	name    string
	err     error
	owner   string // one delivery is due to it
	settled []string
	follows int
}

func (m *muxFake) Follow(ctx context.Context, changed func()) error {
	m.follows++
	if m.err != nil {
		return m.err
	}
	changed()
	<-ctx.Done()
	return ctx.Err()
}

func (m *muxFake) Away(context.Context) ([]process.Delivery, error) {
	if m.err != nil || m.owner == "" {
		return nil, m.err
	}
	return []process.Delivery{{Owner: m.owner, Event: m.name}}, nil
}

func (m *muxFake) Dead(ctx context.Context) ([]process.Delivery, error) { return m.Away(ctx) }

func (m *muxFake) Claim(_ context.Context, owner, _ string) (string, []string, string, error) {
	if m.err != nil || m.owner != owner {
		return "", nil, "", m.err
	}
	return "batch of " + m.name, []string{m.name}, "text of " + m.name, nil
}

func (m *muxFake) Settle(_ context.Context, batch string, _ process.DeliveryState, _ string) error {
	m.settled = append(m.settled, batch)
	return m.err
}

func TestEveryMux(t *testing.T) {
	ctx, no := t.Context(), errors.New("away")
	here, far, lost := &muxFake{name: "here"}, &muxFake{name: "far", owner: "a"}, &muxFake{name: "lost", err: no}
	var e everyMux
	e.add(lost)
	if _, err := e.Away(ctx); !errors.Is(err, no) {
		t.Errorf("all are lost: %v", err)
	}
	if _, _, _, err := e.Claim(ctx, "a", "city"); !errors.Is(err, no) {
		t.Errorf("all are lost: %v", err)
	}
	e.add(here)
	e.add(far)
	if list, err := e.Dead(ctx); err != nil || len(list) != 1 || list[0].Event != "far" {
		t.Error(list, err)
	}
	if list, err := e.Away(ctx); err != nil || len(list) != 1 || list[0].Event != "far" {
		t.Errorf("%v, %v", list, err)
	}
	if batch, _, _, err := e.Claim(ctx, "b", "city"); err != nil || batch != "" {
		t.Errorf("%q, %v", batch, err)
	}
	batch, events, text, err := e.Claim(ctx, "a", "city")
	if err != nil || batch != "batch of far" || len(events) != 1 || text != "text of far" {
		t.Errorf("%q, %v, %q, %v", batch, events, text, err)
	}
	if err := e.Settle(ctx, batch, process.Delivered, ""); err != nil || len(far.settled) != 1 || len(here.settled)+len(lost.settled) != 0 {
		t.Errorf("%v: %v, %v, %v", err, here.settled, far.settled, lost.settled)
	}
	if err := e.Settle(ctx, "unknown", process.Delivered, ""); err == nil {
		t.Error("an unknown batch was settled")
	}
}

func TestEveryMuxIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, lost := &muxFake{name: "here"}, &muxFake{name: "lost", err: errors.New("away")}
		e := everyMux{}
		e.add(here)
		e.add(lost)
		ctx, cancel := context.WithCancel(t.Context())
		changes, ended := 0, make(chan error, 1)
		go func() { ended <- e.Follow(ctx, func() { changes++ }) }()
		time.Sleep(3*followPause - time.Second)
		synctest.Wait()
		if here.follows != 1 || lost.follows != 3 || changes != 1 {
			t.Errorf("followed %d and %d times, %d changes", here.follows, lost.follows, changes)
		}
		far := &muxFake{name: "far"}
		e.add(far)
		synctest.Wait()
		e.remove(lost)
		time.Sleep(2 * followPause)
		synctest.Wait()
		if here.follows != 1 || lost.follows != 3 || far.follows != 1 || changes != 2 {
			t.Errorf("followed %d, %d and %d times, %d changes", here.follows, lost.follows, far.follows, changes)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// podHost is a provider whose pods come and go. It passes calls on, as that of gc-k8s does.
type podHost struct {
	*wrap.Around
	mu      sync.Mutex
	held    map[string]*link.Link
	changed chan struct{}
}

func (h *podHost) Held() (map[string]*link.Link, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held, h.changed
}

func (h *podHost) change(held map[string]*link.Link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.changed)
	h.held, h.changed = held, make(chan struct{})
}

// Each pod whose stream is held is a machine; one that is gone is left.
func TestPodsComeAndGo(t *testing.T) {
	host := &podHost{Around: wrap.Through(runtimefake.New()), changed: make(chan struct{})}
	set := &backend.Set{Make: map[string]backend.Maker{"k8s": func(*backend.Set, string) (runtime.Provider, error) { return host, nil }}}
	defer set.Close()
	city := &config.City{}
	ms := New(set)
	ctx, cancel := context.WithCancel(t.Context())
	if got := ms.Outboxes(city); len(got) != 0 {
		t.Fatalf("%v without pods", got)
	}
	ms.Follow(ctx, func() { t.Error("nothing changed") }) // and it ends: there is no provider of pods
	if _, err := set.New(backend.Choice{Name: "k8s"}, ""); err != nil {
		t.Fatal(err)
	}
	seen, ended := make(chan []outbox.Outbox), make(chan struct{})
	go func() {
		defer close(ended)
		ms.Follow(ctx, func() { seen <- ms.Outboxes(city) })
	}()
	a, b := link.New("a", nil, many.Hello{}), link.New("b", nil, many.Hello{})
	names := func() string { return fmt.Sprint(<-seen) }
	host.change(map[string]*link.Link{"a": a, "b": b})
	if got := names(); got != "[k8s:a k8s:b]" {
		t.Errorf("outboxes of %s", got)
	}
	if got := len(ms.commands.list()); got != 3 {
		t.Errorf("commands of %d multiplexers", got)
	}
	host.change(map[string]*link.Link{"b": b}) // a is gone
	host.change(map[string]*link.Link{"b": b}) // nothing new
	if got := names(); got != "[k8s:b]" {
		t.Errorf("outboxes of %s", got)
	}
	if got := len(ms.commands.list()); got != 2 {
		t.Errorf("commands of %d multiplexers", got)
	}
	cancel()
	<-ended
}
