package elsewhere

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/process"
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
		e.add(&muxFake{name: "far"})
		<-ended // so that it is called again
		go func() { ended <- e.Follow(ctx, func() {}) }()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
