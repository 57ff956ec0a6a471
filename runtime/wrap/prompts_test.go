package wrap_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/wrap"
)

// hosted is tiny as a provider of agents that speak a protocol.
type hosted struct {
	*tiny
	reset, set string
}

func (p *hosted) SupportsTransport(t string) bool { return t == "acp" }

func (p *hosted) ResetInterruptedTurn(_ context.Context, name string) error {
	p.reset = name
	return nil
}

func (p *hosted) WaitForInterruptBoundary(ctx context.Context, _ string, _ time.Time, timeout time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

func (p *hosted) Conversation(_ context.Context, name string) (string, error) {
	return "of " + name, nil
}

func (p *hosted) SetMode(_ context.Context, name, mode, model string) error {
	p.set = name + " " + mode + " " + model
	return nil
}

// The interfaces of providers for prompts are found through decorators and routers, and
// only where a provider has them.
func TestPromptInterfaces(t *testing.T) {
	p := &hosted{tiny: newTiny()}
	if err := p.Start(t.Context(), "a", runtime.Config{Command: "exec sleep 60"}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Stop(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}()
	w := wrap.Decorate(p, wrap.Deadlines{Query: 10 * time.Millisecond})
	if !runtime.SupportsTransport(w, "acp") || runtime.SupportsTransport(w, "terminal") || runtime.SupportsTransport(newTiny(), "acp") {
		t.Error("transports")
	}
	reset, ok := runtime.As[runtime.InterruptedTurnResetProvider](w)
	if !ok || reset.ResetInterruptedTurn(t.Context(), "a") != nil || p.reset != "a" {
		t.Errorf("reset: %v, %q", ok, p.reset)
	}
	wait, ok := runtime.As[runtime.InterruptBoundaryWaitProvider](w)
	if !ok {
		t.Fatal("no boundary")
	}
	begin := time.Now()
	err := wait.WaitForInterruptBoundary(t.Context(), "a", begin, 50*time.Millisecond)
	if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took < 60*time.Millisecond {
		t.Errorf("boundary: %v after %v, want the caller's timeout and the deadline", err, took)
	}
	if c, ok := runtime.As[runtime.ConversationProvider](w); !ok {
		t.Error("no conversation")
	} else if id, err := c.Conversation(t.Context(), "a"); id != "of a" || err != nil {
		t.Errorf("conversation %q, %v", id, err)
	}
	if m, ok := runtime.As[runtime.ModeProvider](w); !ok || m.SetMode(t.Context(), "a", "plan", "large") != nil || p.set != "a plan large" {
		t.Errorf("mode %q", p.set)
	}
	if _, ok := runtime.As[runtime.ConversationProvider](wrap.Decorate(newTiny(), wrap.Deadlines{})); ok {
		t.Error("a conversation of a provider without any")
	}
}
