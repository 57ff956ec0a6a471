package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/runtime"
)

// stopGrace is how long Stop lets an agent end by itself.
const stopGrace = 5 * time.Second

// Stop implements runtime.Provider. The agent is asked to end before the base ends
// what is left.
func (p *Provider) Stop(ctx context.Context, name string) error {
	if runtime.CheckName(name) != nil {
		return nil
	}
	if running, err := p.IsRunning(ctx, name); err == nil && running {
		polite, cancel := context.WithTimeout(ctx, runtime.Grace(ctx, p.o.StopGrace))
		if c, err := p.client(polite, name); err == nil {
			_ = c.End(polite) // the base ends what did not
			c.Close()
		}
		cancel()
	}
	return p.o.Base.Stop(ctx, name)
}

// WaitForInterruptBoundary waits until no turn that began before since is open: the
// agent has answered the prompt.
func (p *Provider) WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error {
	inner, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	first := ""
	_, err := p.until(inner, name, func(s control.State) bool {
		if first == "" {
			first = s.Turn
		}
		return s.Turn == "" || s.Turn != first || s.LastTurn != nil && s.LastTurn.Ended.After(since)
	})
	if err != nil {
		return fmt.Errorf("interrupt boundary of %s: %w", name, err)
	}
	return nil
}

// resetTime is how long an interrupted turn may take to end.
const resetTime = 15 * time.Second

// ResetInterruptedTurn ends the turn that was interrupted, if it still runs, so that
// the next message begins a new one.
func (p *Provider) ResetInterruptedTurn(ctx context.Context, name string) error {
	st, err := p.state(ctx, name)
	if err != nil {
		return fmt.Errorf("reset %s: %w", name, err)
	}
	if st.Turn == "" {
		return nil
	}
	if err := p.Interrupt(ctx, name); err != nil {
		return err
	}
	return p.WaitForInterruptBoundary(ctx, name, time.Now(), resetTime)
}

// SendKeys implements runtime.Provider: messages do not reach a terminal.
func (p *Provider) SendKeys(ctx context.Context, name string, keys ...string) error {
	if running, err := p.IsRunning(ctx, name); err != nil || !running {
		return err
	}
	return fmt.Errorf("keys to %s: %w", name, runtime.ErrUnsupported)
}

// Relaunch implements runtime.RelaunchProvider.
func (p *Provider) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	return fmt.Errorf("relaunch %s: %w", name, runtime.ErrRelaunchUnsupported)
}

// AwaitFirstIdle implements runtime.StartupProvider: Start has waited.
func (p *Provider) AwaitFirstIdle(ctx context.Context, name string, cfg runtime.Config) error {
	_, err := p.until(ctx, name, func(s control.State) bool { return s.Phase == control.PhaseReady })
	if err != nil {
		return fmt.Errorf("first idle of %s: %w", name, err)
	}
	return nil
}

// Conversation returns the agent's id of the conversation, with which a later start
// continues it; "" before there is one.
func (p *Provider) Conversation(ctx context.Context, name string) (string, error) {
	st, err := p.state(ctx, name)
	if err != nil {
		return "", fmt.Errorf("conversation of %s: %w", name, err)
	}
	return st.Conversation, nil
}

// SetMode changes the agent's mode and model; "" leaves one unchanged.
func (p *Provider) SetMode(ctx context.Context, name, mode, model string) error {
	err := p.query(ctx, name, func(c *control.Client) error { return c.Set(ctx, mode, model) })
	var e *control.Error
	if errors.As(err, &e) && len(e.Valid) > 0 {
		return fmt.Errorf("%s: %w; valid values: %s", name, err, strings.Join(e.Valid, ", "))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
