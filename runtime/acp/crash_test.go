package acp_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/acp"
)

// agentOf starts an agent that repeats its messages.
func agentOf(t *testing.T, b *backend) (p *acp.Provider, name string) {
	t.Helper()
	wrapped := b.provider(t)
	if err := wrapped.Start(t.Context(), "a", runtime.Config{WorkDir: t.TempDir(), Command: "exec cat"}); err != nil {
		t.Fatal(err)
	}
	return wrapped.(agents).Provider.(*acp.Provider), "a"
}

// patience is how long a test waits for an expected condition.
const patience = 10 * time.Second

// await calls ok until it holds.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waiting for", what)
		}
	}
}

func (b *backend) killServer(t *testing.T) {
	t.Helper()
	pid := b.server(t)
	kill(t, pid, syscall.SIGKILL)
}

func is(t *testing.T, p *acp.Provider, name, state string) func() bool {
	return func() bool {
		a, err := p.Activity(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return a.State == state
	}
}

// TestServerKilledWhileItAsks: the question is open all the time, and its answer arrives.
func TestServerKilledWhileItAsks(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	p, name := agentOf(t, b)
	if r, err := p.Nudge(t.Context(), name, runtime.TextContent("ASK permission Red Blue")); err != nil || r.State != runtime.Submitted {
		t.Fatalf("%+v, %v", r, err)
	}
	await(t, "the question", is(t, p, name, runtime.ActivityBlocked))
	q, err := p.Pending(t.Context(), name)
	if err != nil || q == nil {
		t.Fatalf("%+v, %v", q, err)
	}
	for range 3 {
		b.killServer(t)
		now, err := p.Pending(t.Context(), name)
		if err != nil || now == nil || now.RequestID != q.RequestID {
			t.Fatalf("after the kill: %+v, %v", now, err)
		}
		if a, err := p.Activity(t.Context(), name); err != nil || a.State != runtime.ActivityBlocked {
			t.Fatalf("after the kill: %+v, %v", a, err)
		}
	}
	b.killServer(t)
	if err := p.Respond(t.Context(), name, runtime.Answer{RequestID: q.RequestID, Action: "Blue"}); err != nil {
		t.Fatal(err)
	}
	await(t, "the answer", func() bool {
		screen, err := p.Peek(t.Context(), name, 0)
		return err == nil && strings.Contains(screen, "chose Blue")
	})
	await(t, "the end of the turn", is(t, p, name, runtime.ActivityIdle))
}

// TestServerKilledWhileMessagesWait: each arrives once, and its sender learns that.
func TestServerKilledWhileMessagesWait(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	p, name := agentOf(t, b)
	if r, err := p.Nudge(t.Context(), name, runtime.TextContent("HOLD")); err != nil || r.State != runtime.Submitted {
		t.Fatalf("%+v, %v", r, err)
	}
	results := make(chan error, 3)
	for i := range cap(results) {
		go func() {
			r, err := p.Nudge(t.Context(), name, runtime.TextContent(fmt.Sprintf("message-%d", i)))
			if err == nil && r.State != runtime.Submitted {
				err = fmt.Errorf("%+v", r)
			}
			results <- err
		}()
	}
	idle := make(chan error, 1)
	go func() { idle <- p.WaitForIdle(t.Context(), name, 30*time.Second) }()
	for range 3 {
		b.killServer(t)
		await(t, "the next server", is(t, p, name, runtime.ActivityWorking))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := p.Interrupt(ctx, name); err != nil {
		t.Fatal(err)
	}
	for range cap(results) {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if err := <-idle; err != nil {
		t.Errorf("the wait: %v", err)
	}
	screen := ""
	await(t, "the end on the screen", func() bool { // it is painted a moment later
		screen, _ = p.Peek(t.Context(), name, 0)
		return strings.HasSuffix(screen, "idle · ask · small")
	})
	for i := range cap(results) {
		if n := strings.Count(screen, fmt.Sprintf("› message-%d", i)); n != 1 {
			t.Errorf("message %d arrived %d times: %q", i, n, screen)
		}
	}
}

// An agent with a bounded task ends when its turn has ended, and says how.
func TestOneShot(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	p := b.provider(t)
	for prompt, want := range map[string]int{"hello": 0, "HOLD": 1} {
		cfg := runtime.Config{WorkDir: t.TempDir(), Command: "exec cat", Prompt: prompt, Lifecycle: runtime.OneShot}
		if err := p.Start(t.Context(), prompt, cfg); err != nil {
			t.Fatal(err)
		}
		if prompt == "HOLD" { // a turn that is cancelled is no success
			await(t, "the turn", func() bool { // before the agent says so, it may overlook a cancel
				screen, err := p.Peek(t.Context(), prompt, 0)
				return err == nil && strings.Contains(screen, "holding")
			})
			if err := p.Interrupt(t.Context(), prompt); err != nil {
				t.Fatal(err)
			}
		}
		await(t, "the end of "+prompt, func() bool {
			e, err := p.(agents).Provider.(*acp.Provider).LastExit(t.Context(), prompt)
			return err == nil && e != nil && e.Code == want
		})
	}
}
