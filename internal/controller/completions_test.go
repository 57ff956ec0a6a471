package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// outside is a Background in memory that outlives controllers, with the
// transitions of the real one.
type outside struct {
	mu      sync.Mutex
	list    []process.Delivery
	changed chan struct{}
	batches int
	dieAt   string // the step at which the controller's calls hang until it is gone
}

func newOutside() *outside { return &outside{changed: make(chan struct{}, 1)} }

// end adds the end of a command of the owner.
func (b *outside) end(id, owner string) {
	b.mu.Lock()
	b.list = append(b.list, process.Delivery{Event: id, Owner: owner, Progress: delivery.Progress{State: process.Pending, Created: time.Now()}})
	b.mu.Unlock()
	b.changed <- struct{}{}
}

func (b *outside) state(id string) process.Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.list, func(d process.Delivery) bool { return d.Event == id })
	return b.list[i]
}

// die hangs the call until the controller ends, if this is where it dies.
func (b *outside) die(ctx context.Context, step string) error {
	b.mu.Lock()
	here := b.dieAt == step
	b.mu.Unlock()
	if here {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (b *outside) Follow(ctx context.Context, changed func()) error {
	for {
		changed()
		select {
		case <-b.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *outside) Dead(context.Context) ([]process.Delivery, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.list), func(d process.Delivery) bool { return d.State != process.Dead }), nil
}

func (b *outside) Away(context.Context) ([]process.Delivery, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []process.Delivery
	for _, d := range b.list {
		if !d.State.Final() {
			out = append(out, d)
		}
	}
	return out, nil
}

func (b *outside) Claim(ctx context.Context, owner, by string) (batch string, events []string, text string, err error) {
	if err := b.die(ctx, "before the claim"); err != nil {
		return "", nil, "", err
	}
	b.mu.Lock()
	b.batches++
	batch = fmt.Sprint("batch ", b.batches)
	now := time.Now()
	for i, d := range b.list {
		if d.Owner != owner || len(events) == process.MaxBatch {
			continue
		}
		if d.Acquire(now) == nil {
			_ = d.Inject(batch, by, now)
			b.list[i] = d
			events, text = append(events, d.Event), text+"command "+process.Tag(d.Event)+" "
		}
	}
	b.mu.Unlock()
	if len(events) == 0 {
		return "", nil, "", nil
	}
	return batch, events, text, b.die(ctx, "after the claim")
}

func (b *outside) Settle(ctx context.Context, batch string, state process.DeliveryState, detail string) error {
	if err := b.die(ctx, "before the receipt"); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for i, d := range b.list {
		if d.Batch != batch || d.State != process.Injecting {
			continue
		}
		switch state {
		case process.Delivered:
			_ = d.Deliver(now, detail)
		case process.Dead:
			_ = d.GiveUp(now, detail)
		default:
			_ = d.Retry(now, detail)
		}
		b.list[i] = d
	}
	return nil
}

func (b *outside) use(o *Options) { o.Background = b }

// submitted counts the tag in the nudges that were submitted.
func (r *rig) submitted(id string) (n int) {
	r.t.Helper()
	synctest.Wait()
	for _, c := range r.fake.CallsOf("Nudge", "") {
		n += strings.Count(c.Text, process.Tag(id))
	}
	return n
}

func TestEndWakesItsSleepingOwner(t *testing.T) {
	bubble(t, oneAgent+"idle_timeout = \"1m\"\n", func(r *rig) {
		b := newOutside()
		r.start(b.use)
		time.Sleep(2 * time.Minute)
		r.wantState("a", api.StateStopped)
		b.end("1/exit", "gc-city-a")
		r.wantState("a", api.StateRunning)
		time.Sleep(10 * time.Second)
		if d := b.state("1/exit"); d.State != process.Delivered || r.submitted("1/exit") != 1 || r.starts("gc-city-a") != 2 {
			t.Errorf("%+v, told %d times, %d starts", d, r.submitted("1/exit"), r.starts("gc-city-a"))
		}
		r.end()
	})
}

// TestWokenAgentStaysUpUntilDelivery: even if the idle timeout is shorter
// than the quiet time before the message.
func TestWokenAgentStaysUpUntilDelivery(t *testing.T) {
	bubble(t, oneAgent+"idle_timeout = \"1s\"\n", func(r *rig) {
		b := newOutside()
		r.start(b.use)
		time.Sleep(time.Minute)
		r.wantState("a", api.StateStopped)
		b.end("1/exit", "gc-city-a")
		time.Sleep(time.Minute)
		if d := b.state("1/exit"); d.State != process.Delivered || r.submitted("1/exit") != 1 || r.starts("gc-city-a") != 2 {
			t.Errorf("%+v, told %d times, %d starts", d, r.submitted("1/exit"), r.starts("gc-city-a"))
		}
		r.wantState("a", api.StateStopped)
		r.end()
	})
}

// TestEndDoesNotWakeStoppedAgents: stopped and suspended agents stay down.
func TestEndDoesNotWakeStoppedAgents(t *testing.T) {
	for name, down := range map[string]func(*rig) error{
		"stop":    func(r *rig) error { return r.l.calls.StopAgents(context.Background(), []string{"a"}) },
		"suspend": func(r *rig) error { return r.l.calls.SetSuspended(context.Background(), []string{"a"}, true) },
		"drain":   func(r *rig) error { return r.l.calls.SetDrained(context.Background(), []string{"a"}, true) },
	} {
		bubble(t, "[daemon]\ndrift_drain_timeout = \"1s\"\n"+oneAgent, func(r *rig) {
			b := newOutside()
			r.start(b.use)
			if err := down(r); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			b.end("1/exit", "gc-city-a")
			time.Sleep(time.Hour)
			synctest.Wait()
			if a := r.status("a"); a.State == api.StateRunning || b.state("1/exit").State != process.Pending {
				t.Errorf("%s: agent %s, delivery %+v", name, a.State, b.state("1/exit"))
			}
			r.end()
		})
	}
}

// TestEndIsDeliveredElsewhere: owners of another provider get the message
// through it, once, with ten ends in one message.
func TestEndIsDeliveredElsewhere(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		b := newOutside()
		r.start(b.use)
		r.fake.SetReceipt("gc-city-a", runtime.Receipt{State: runtime.Blocked, By: "dialog"})
		for i := range 12 {
			b.end(fmt.Sprint(i, "/exit"), "gc-city-a")
		}
		b.end("other/exit", "somebody-else")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if d := b.state("0/exit"); d.State != process.Pending || d.Tries == 0 || !strings.Contains(d.Detail, "dialog") {
			t.Errorf("past a dialog: %+v", d)
		}
		tries := len(r.fake.CallsOf("Nudge", ""))
		r.fake.SetReceipt("gc-city-a", runtime.Receipt{State: runtime.Submitted})
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		for i := range 12 {
			if d := b.state(fmt.Sprint(i, "/exit")); d.State != process.Delivered {
				t.Errorf("%+v", d)
			}
		}
		if n := len(r.fake.CallsOf("Nudge", "")) - tries; n != 2 {
			t.Errorf("%d messages for 12 ends", n)
		}
		if b.state("other/exit").State != process.Pending {
			t.Error("another owner's end was reported")
		}
		r.end()
	})
}

// TestEndIsDeliveredOnceOverControllers: if a controller dies at any step, the next
// one leaves the message delivered once.
func TestEndIsDeliveredOnceOverControllers(t *testing.T) {
	for _, step := range []string{"before the claim", "after the claim", "before the receipt"} {
		bubble(t, oneAgent, func(r *rig) {
			b := newOutside()
			b.dieAt = step
			r.start(b.use)
			b.end("1/exit", "gc-city-a")
			time.Sleep(time.Minute)
			r.end()
			b.mu.Lock()
			b.dieAt = ""
			b.mu.Unlock()
			if screen, _ := r.fake.Peek(t.Context(), "gc-city-a", 0); strings.Contains(screen, "1/exit") {
				r.fake.SetPeek("gc-city-a", screen+"\nand what the agent said to it")
			}
			r.start(b.use)
			time.Sleep(time.Minute)
			if d := b.state("1/exit"); d.State != process.Delivered || r.submitted("1/exit") != 1 {
				t.Errorf("killed %s: %+v, told %d times; log:\n%s", step, d, r.submitted("1/exit"), r.log)
			}
			r.end()
		})
	}
}

// composer is a fake whose drafts leave the composer at Enter, unless it
// follows the text so soon that it counts as part of a paste.
type composer struct {
	*runtimefake.Fake
	shown time.Time // when the draft appeared
}

func (p *composer) SendKeys(ctx context.Context, name string, keys ...string) error {
	if screen, _ := p.Peek(ctx, name, 0); slices.Equal(keys, []string{"Enter"}) {
		if time.Since(p.shown) > 120*time.Millisecond {
			screen += "\n> "
		}
		p.SetPeek(name, screen)
	}
	return p.Fake.SendKeys(ctx, name, keys...)
}

// TestEndLeftInTheComposer: a message that a dead controller typed but did not
// submit is submitted, not typed again.
func TestEndLeftInTheComposer(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		b := newOutside()
		b.dieAt = "after the claim"
		r.start(b.use)
		b.end("1/exit", "gc-city-a")
		time.Sleep(time.Minute)
		r.end()
		b.dieAt = ""
		agent := &composer{Fake: r.fake}
		r.start(b.use, func(o *Options) { o.Provider = agent })
		time.Sleep(300 * time.Millisecond) // it is a slow one
		agent.shown = time.Now()
		r.fake.SetPeek("gc-city-a", "> command "+process.Tag("1/exit"))
		time.Sleep(time.Minute)
		if d := b.state("1/exit"); d.State != process.Delivered || r.submitted("1/exit") != 0 {
			t.Errorf("%+v, typed %d times", d, r.submitted("1/exit"))
		}
		if keys := r.fake.CallsOf("SendKeys", "gc-city-a"); len(keys) != 1 {
			t.Errorf("keys %+v", keys)
		}
		r.end()
	})
}

// TestEndIsNotTypedAgainUnseen: while the screen cannot be read, nothing is
// retyped or given up.
func TestEndIsNotTypedAgainUnseen(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		b := newOutside()
		r.start(b.use)
		r.fake.Fail("Peek", "", errors.New("no answer"))
		r.fake.SetReceipt("gc-city-a", runtime.Receipt{State: runtime.Unverified})
		b.end("1/exit", "gc-city-a")
		time.Sleep(10 * time.Minute)
		if d := b.state("1/exit"); d.State != process.Injecting || r.submitted("1/exit") != 1 {
			t.Errorf("%+v, typed %d times", d, r.submitted("1/exit"))
		}
		r.fake.Fail("Peek", "", nil)
		r.fake.SetPeek("gc-city-a", "> command "+process.Tag("1/exit")+"\nworking")
		time.Sleep(time.Minute)
		if d := b.state("1/exit"); d.State != process.Delivered || r.submitted("1/exit") != 1 {
			t.Errorf("%+v, typed %d times", d, r.submitted("1/exit"))
		}
		r.end()
	})
}

// TestEndIsDeliveredOnceWithoutKeys: what a backend without keys typed, and cannot be
// verified or taken back, is not typed again.
func TestEndIsDeliveredOnceWithoutKeys(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		b := newOutside()
		r.start(b.use)
		r.fake.Fail("SendKeys", "", runtime.ErrUnsupported)
		r.fake.SetReceipt("gc-city-a", runtime.Receipt{State: runtime.Unverified})
		r.fake.SetPeek("gc-city-a", "> command "+process.Tag("1/exit"))
		b.end("1/exit", "gc-city-a")
		time.Sleep(10 * time.Minute)
		if d := b.state("1/exit"); d.State != process.Dead || !strings.Contains(d.Detail, "unverified") || r.submitted("1/exit") != 1 {
			t.Errorf("%+v, typed %d times", d, r.submitted("1/exit"))
		}
		r.end()
	})
}
