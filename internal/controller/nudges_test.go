package controller

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// idler is a fake whose agents are idle when it says so.
type idler struct {
	*runtimefake.Fake
	idle atomic.Bool
}

func (p *idler) WaitForIdle(ctx context.Context, _ string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for !p.idle.Load() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return nil
}

func idleBubble(t *testing.T, toml string, fn func(*rig, *idler)) {
	bubble(t, toml, func(r *rig) {
		p := &idler{Fake: r.fake}
		r.start(func(o *Options) { o.Provider = p })
		fn(r, p)
		r.end()
	})
}

func (r *rig) queue(q api.QueueRequest) session.Nudge {
	r.t.Helper()
	n, err := r.l.calls.Queue(context.Background(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
	return n
}

func (r *rig) nudge(id string) session.Nudge {
	r.t.Helper()
	synctest.Wait()
	var out session.Nudge
	if err := r.l.do(context.Background(), func() {
		for _, n := range r.l.nudges.list {
			if n.ID == id {
				out = *n
			}
		}
	}); err != nil {
		r.t.Fatal(err)
	}
	return out
}

func TestQueuedNudgeWaitsForIdle(t *testing.T) {
	idleBubble(t, oneAgent, func(r *rig, p *idler) {
		n := r.queue(api.QueueRequest{Agent: "a", Text: "hello"})
		time.Sleep(10 * time.Minute)
		if got := r.nudge(n.ID); got.State != session.NudgeQueued || got.Detail == "" || len(r.fake.CallsOf("Nudge", "")) != 0 {
			t.Fatalf("typed into an agent that is not idle: %+v", got)
		}
		p.idle.Store(true)
		time.Sleep(maxRetry)
		if got := r.nudge(n.ID); got.State != session.NudgeDelivered || got.Receipt != runtime.Submitted {
			t.Errorf("nudge %+v; log:\n%s", got, r.log)
		}
		if calls := r.fake.CallsOf("Nudge", "gc-city-a"); len(calls) != 1 || calls[0].Text != "hello" {
			t.Errorf("calls %+v", calls)
		}
	})
}

// maxRetry is longer than any back-off of a nudge.
const maxRetry = 7 * time.Minute

func TestNudgesOfOneAgentKeepTheirOrder(t *testing.T) {
	idleBubble(t, oneAgent, func(r *rig, p *idler) {
		p.idle.Store(true)
		r.fake.SetReceipt("gc-city-a", runtime.Receipt{State: runtime.Blocked, By: "dialog"})
		first := r.queue(api.QueueRequest{Agent: "a", Text: "1"})
		r.queue(api.QueueRequest{Agent: "a", Text: "2"})
		if got := r.nudge(first.ID); got.State != session.NudgeQueued || !strings.Contains(got.Detail, "dialog") {
			t.Errorf("blocked: %+v", got)
		}
		r.fake.SetReceipt("gc-city-a", runtime.Receipt{State: runtime.Submitted})
		time.Sleep(maxRetry)
		synctest.Wait()
		var texts []string
		for _, c := range r.fake.CallsOf("Nudge", "") {
			texts = append(texts, c.Text)
		}
		if got := strings.Join(texts, " "); got != "1 1 2" {
			t.Errorf("typed %s", got)
		}
	})
}

// redirector is an idler that interrupts.
type redirector struct{ *idler }

func (p redirector) NudgeInterrupt(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	if err := p.Interrupt(ctx, name); err != nil {
		return runtime.Receipt{}, err
	}
	r, err := p.Nudge(ctx, name, content)
	r.Interrupted = runtime.InterruptEnded
	return r, err
}

// A message that interrupts overtakes one that waits for the end of the turn. It is tried
// once: an agent is not interrupted again later.
func TestNudgeThatInterrupts(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		p := redirector{&idler{Fake: r.fake}}
		r.start(func(o *Options) { o.Provider = p })
		waits := r.queue(api.QueueRequest{Agent: "a", Text: "later"})
		n := r.queue(api.QueueRequest{Agent: "a", Text: "stop", Interrupt: true})
		time.Sleep(time.Second)
		if got := r.nudge(n.ID); got.State != session.NudgeDelivered || got.Interrupted != runtime.InterruptEnded {
			t.Errorf("%+v", got)
		}
		if got := r.nudge(waits.ID); got.State != session.NudgeQueued {
			t.Errorf("the other: %+v", got)
		}
		r.fake.SetReceipt("gc-city-a", runtime.Receipt{State: runtime.Blocked, By: "turn"})
		deaf := r.queue(api.QueueRequest{Agent: "a", Text: "stop now", Interrupt: true})
		time.Sleep(maxRetry)
		if got := r.nudge(deaf.ID); got.State != session.NudgeDead || got.Receipt != runtime.Blocked || got.Blocker != "turn" {
			t.Errorf("blocked: %+v", got)
		}
		r.fake.SetReceipt("gc-city-a", runtime.Receipt{State: runtime.Submitted})
		p.idle.Store(true)
		time.Sleep(maxRetry)
		synctest.Wait()
		var texts []string
		for _, c := range r.fake.CallsOf("Nudge", "") {
			texts = append(texts, c.Text)
		}
		if got := strings.Join(texts, ", "); got != "stop, stop now, later" {
			t.Errorf("typed %s", got)
		}
		if n := len(r.fake.CallsOf("Interrupt", "gc-city-a")); n != 2 {
			t.Errorf("%d interrupts, want 2", n)
		}
		r.end()
	})
}

func TestNudgeIsFencedByIncarnation(t *testing.T) {
	idleBubble(t, oneAgent, func(r *rig, p *idler) {
		n := r.queue(api.QueueRequest{Agent: "a", Text: "for the old one"})
		r.fake.Exit("gc-city-a", 1)
		r.wantState("a", api.StateRunning)
		p.idle.Store(true)
		time.Sleep(maxRetry)
		if got := r.nudge(n.ID); got.State != session.NudgeDead || got.Detail == "" || len(r.fake.CallsOf("Nudge", "")) != 0 {
			t.Errorf("nudge %+v", got)
		}
	})
}

func TestNudgeExpires(t *testing.T) {
	idleBubble(t, oneAgent, func(r *rig, p *idler) {
		n := r.queue(api.QueueRequest{Agent: "a", Text: "x", TTL: time.Minute})
		time.Sleep(3 * time.Minute)
		p.idle.Store(true)
		time.Sleep(maxRetry)
		if got := r.nudge(n.ID); got.State != session.NudgeDead || !strings.HasPrefix(got.Detail, "expired") {
			t.Errorf("nudge %+v", got)
		}
		if len(r.fake.CallsOf("Nudge", "")) != 0 {
			t.Error("an expired nudge was typed")
		}
	})
}

func TestQueueSurvivesTheController(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		p := &idler{Fake: r.fake}
		r.start(func(o *Options) { o.Provider = p })
		n := r.queue(api.QueueRequest{Agent: "a", Text: "later"})
		r.end()
		p.idle.Store(true)
		r.start(func(o *Options) { o.Provider = p })
		time.Sleep(maxRetry)
		if got := r.nudge(n.ID); got.State != session.NudgeDelivered {
			t.Errorf("nudge %+v", got)
		}
		r.end()
	})
}

func TestQueueRefusesNonsense(t *testing.T) {
	idleBubble(t, oneAgent, func(r *rig, _ *idler) {
		for _, q := range []api.QueueRequest{{Agent: "nobody", Text: "x"}, {Agent: "a"}, {Agent: "a", Text: strings.Repeat("x", api.MaxNudge+1)}} {
			if _, err := r.l.calls.Queue(context.Background(), q); err == nil {
				t.Errorf("accepted %.20q for %s", q.Text, q.Agent)
			}
		}
		if _, err := r.l.calls.Queue(context.Background(), api.QueueRequest{Agent: "nobody", Text: "x"}); !errors.Is(err, api.ErrUnknownAgent) {
			t.Errorf("error %v", err)
		}
	})
}

// TestDroppedIsNotCarriedOut: what was dropped before it was due is not carried
// out when it is.
func TestDroppedIsNotCarriedOut(t *testing.T) {
	two := oneAgent + strings.ReplaceAll(oneAgent, `"a"`, `"b"`)
	for _, until := range []string{"text=all green", "idle"} {
		idleBubble(t, two, func(r *rig, p *idler) {
			n := r.queue(api.QueueRequest{Agent: "a", Text: "dropped"})
			w, err := r.l.calls.StoreWait(context.Background(), api.WaitRequest{Agent: "a", Until: until, Wake: "b"})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // both are under way
			if err := errors.Join(r.l.calls.DropNudge(context.Background(), n.ID), r.l.calls.DropWait(context.Background(), w.ID)); err != nil {
				t.Fatal(err)
			}
			kept := r.queue(api.QueueRequest{Agent: "a", Text: "kept"})
			p.idle.Store(true)
			r.fake.SetPeek("gc-city-a", "all green")
			time.Sleep(2 * time.Second) // it need not wait for the dropped one
			if got := r.nudge(kept.ID); got.State != session.NudgeDelivered {
				t.Errorf("the one behind it: %+v", got)
			}
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			if calls := r.fake.CallsOf("Nudge", ""); len(calls) != 1 || calls[0].Text != "kept" {
				t.Errorf("%s: typed %+v", until, calls)
			}
			r.end()
			r.start(func(o *Options) { o.Provider = p }) // nor after a restart
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			if calls := r.fake.CallsOf("Nudge", ""); len(calls) != 1 {
				t.Errorf("%s: after a restart typed %+v", until, calls)
			}
		})
	}
}

func TestStoredWaitsWakeWithANote(t *testing.T) {
	two := oneAgent + strings.ReplaceAll(oneAgent, `"a"`, `"b"`)
	for _, until := range []string{"exit", "text=all green", "idle"} {
		idleBubble(t, two, func(r *rig, p *idler) {
			if _, err := r.l.calls.StoreWait(context.Background(), api.WaitRequest{Agent: "a", Until: until, Wake: "b", Note: "go on"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if len(r.fake.CallsOf("Nudge", "")) != 0 {
				t.Fatalf("%s: woken too early", until)
			}
			switch until {
			case "exit":
				r.fake.Exit("gc-city-a", 0)
			case "text=all green":
				r.fake.SetPeek("gc-city-a", "42 tests, all green")
			}
			p.idle.Store(true)
			time.Sleep(maxRetry)
			synctest.Wait()
			calls := r.fake.CallsOf("Nudge", "gc-city-b")
			if len(calls) != 1 || !strings.Contains(calls[0].Text, "go on") || !strings.Contains(calls[0].Text, until) {
				t.Errorf("%s: nudges %+v; log:\n%s", until, calls, r.log)
			}
		})
	}
}

func TestParseUntil(t *testing.T) {
	for _, bad := range []string{"", "blocked", "exit=1", "text=", "text=(", "quiet=", "quiet=-1s", "sometime"} {
		if c, err := api.ParseUntil(bad); err == nil {
			t.Errorf("%q gives %+v", bad, c)
		}
	}
	if c, err := api.ParseUntil("quiet=2s"); err != nil || c.Quiet != 2*time.Second {
		t.Errorf("%+v %v", c, err)
	}
}

func TestUntilIdle(t *testing.T) {
	bubble(t, oneAgent+oneJob, func(r *rig) {
		p := &idler{Fake: r.fake}
		dir := t.TempDir()
		r.start(func(o *Options) {
			o.Provider, o.Until, o.Timeout, o.StopOnCancel, o.Artifacts = p, UntilIdle, time.Hour, true, dir
		})
		r.fake.SetPeek("gc-city-job", "all done")
		r.fake.Exit("gc-city-job", 0)
		time.Sleep(time.Minute)
		r.wantState("a", api.StateRunning)
		p.idle.Store(true)
		if err := <-r.result; err != nil {
			t.Fatal(err)
		}
		if list, _ := r.fake.ListRunning(t.Context(), ""); len(list) != 0 {
			t.Errorf("left running: %v", list)
		}
		wantArtifacts(t, dir)
	})
}
