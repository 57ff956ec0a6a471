package acp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/runtime"
)

// source is Activity.Source of what the agent itself said.
const source = "acp"

// Activity implements runtime.ActivityProvider.
func (p *Provider) Activity(ctx context.Context, name string) (runtime.Activity, error) {
	st, err := p.state(ctx, name)
	if errors.Is(err, runtime.ErrSessionNotFound) { // it may have exited: the base knows
		if a, ok := runtime.As[runtime.ActivityProvider](p.o.Base); ok {
			return a.Activity(ctx, name)
		}
	}
	if err != nil {
		return runtime.Activity{}, fmt.Errorf("activity of %s: %w", name, err)
	}
	a := activityOf(st)
	if base, ok := runtime.As[runtime.ActivityProvider](p.o.Base); ok && a.State == runtime.ActivityWorking {
		if seen, err := base.Activity(ctx, name); err == nil {
			a = still(a, seen)
		}
	}
	return a, nil
}

// still adds what only the base sees: that nothing moves although the agent claims to work,
// and what runs in its background.
func still(a, seen runtime.Activity) runtime.Activity {
	if a.State == runtime.ActivityWorking && seen.State == runtime.ActivityStuck {
		a.State, a.Source, a.Since, a.Evidence = seen.State, seen.Source, seen.Since, seen.Evidence
		a.Sources = slices.Concat(a.Sources, seen.Sources)
	}
	a.Background = seen.Background
	return a
}

// atOnce is how many hosts Activities asks at the same time.
const atOnce = 16

// Activities implements runtime.ManyActivities: the base knows when there was output,
// the hosts know what their agents are doing.
func (p *Provider) Activities(ctx context.Context, names []string) (map[string]runtime.SessionActivity, error) {
	out, err := p.Around.Activities(ctx, names)
	var mu sync.Mutex
	var asked sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for _, name := range slices.Collect(maps.Keys(out)) {
		asked.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			st, err := p.state(ctx, name)
			if err != nil {
				return // what the base says is as good as it gets
			}
			mu.Lock()
			defer mu.Unlock()
			s := out[name]
			s.Activity = still(activityOf(st), s.Activity)
			s.Sources = nil
			out[name] = s
		})
	}
	asked.Wait()
	return out, err
}

func activityOf(st control.State) runtime.Activity {
	return runtime.Activity{
		State: st.Activity, Kind: st.Kind, Source: source, Evidence: st.Evidence, Since: st.Since,
		Pending: interaction(st.Pending), Mode: st.Mode, Model: st.Model, Notice: st.Notice,
		Usage: usage(st), LastTurn: lastTurn(st), Answered: (*runtime.Answered)(st.Answered),
		Sources: []runtime.ActivitySource{{Source: source, State: st.Activity, Kind: st.Kind, Since: st.Since, Evidence: st.Evidence}},
	}
}

// usage is nil if the agent does not say.
func usage(st control.State) *runtime.Usage {
	u := runtime.Usage{Used: st.Used, Size: st.Size, Cost: st.Cost, Currency: st.Currency}
	if u == (runtime.Usage{}) {
		return nil
	}
	return &u
}

func lastTurn(st control.State) *runtime.Turn {
	t := st.LastTurn
	if t == nil {
		return nil
	}
	return &runtime.Turn{
		N: st.Turns, ID: t.ID, StopReason: t.StopReason, Error: t.Error, Duration: t.Duration,
		InputTokens: t.Input, OutputTokens: t.Output, Ended: t.Ended, CancelledBy: t.Cancelled,
	}
}

// AwaitTurn implements runtime.TurnProvider.
func (p *Provider) AwaitTurn(ctx context.Context, name string, after int) (runtime.Turn, error) {
	st, err := p.until(ctx, name, func(s control.State) bool { return s.Turns > after && s.LastTurn != nil })
	if err != nil {
		return runtime.Turn{}, fmt.Errorf("turns of %s: %w", name, err)
	}
	return *lastTurn(st), nil
}

func interaction(q *control.Question) *runtime.Interaction {
	if q == nil {
		return nil
	}
	return &runtime.Interaction{RequestID: q.RequestID, Kind: q.Kind, Prompt: q.Prompt, Options: q.Options, Metadata: q.Metadata}
}

// Pending implements runtime.InteractionProvider: the oldest open question.
func (p *Provider) Pending(ctx context.Context, name string) (*runtime.Interaction, error) {
	st, err := p.state(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("question of %s: %w", name, err)
	}
	return interaction(st.Pending), nil
}

// Respond implements runtime.InteractionProvider. Without the question's id it answers
// the one that is open now, also if the connection breaks.
func (p *Provider) Respond(ctx context.Context, name string, a runtime.Answer) error {
	if a.RequestID == "" {
		q, err := p.Pending(ctx, name)
		if err != nil {
			return fmt.Errorf("answer %s: %w", name, err)
		}
		if q == nil {
			return fmt.Errorf("answer %s: %w: no question is open", name, runtime.ErrQuestion)
		}
		a.RequestID = q.RequestID
	}
	return p.Around.Respond(ctx, name, a)
}

// WaitForIdle implements runtime.IdleWaitProvider.
func (p *Provider) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	inner, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := p.until(inner, name, func(s control.State) bool { return s.Activity == runtime.ActivityIdle && len(s.Queue) == 0 })
	if err != nil {
		return fmt.Errorf("idle %s: %w", name, err)
	}
	return nil
}

// WaitFor implements runtime.Waiter: the host knows about turns, the base about the
// screen and the end.
func (p *Provider) WaitFor(ctx context.Context, name string, any []runtime.Condition) (int, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		met int
		err error
	}
	done := make(chan result, 2)
	mine, others := split(any)
	waits := 0
	if len(mine) > 0 {
		waits++
		go func() {
			met, err := p.waitTurn(inner, name, any, mine)
			done <- result{met, err}
		}()
	}
	if len(others) > 0 || len(mine) == 0 {
		waits++
		go func() {
			met, err := p.waitBase(inner, name, any, others)
			done <- result{met, err}
		}()
	}
	first := <-done
	cancel()
	for range waits - 1 {
		<-done
	}
	return first.met, first.err
}

// split returns the indexes of the conditions about turns, and of the others. Both know of
// changes of the status: only the base sees that nothing moves.
func split(any []runtime.Condition) (turns, others []int) {
	for i, c := range any {
		if c.Idle || c.Blocked || c.Done || c.Status {
			turns = append(turns, i)
		}
		if !c.Idle && !c.Blocked && !c.Done {
			others = append(others, i)
		}
	}
	return turns, others
}

// waitBase waits for conditions of the base.
func (p *Provider) waitBase(ctx context.Context, name string, any []runtime.Condition, index []int) (int, error) {
	w, ok := runtime.As[runtime.Waiter](p.o.Base)
	if !ok {
		return 0, fmt.Errorf("wait for %s: %w", name, runtime.ErrUnsupported)
	}
	list := make([]runtime.Condition, 0, len(index))
	for _, i := range index {
		list = append(list, any[i])
	}
	met, err := w.WaitFor(ctx, name, list)
	if err != nil {
		return 0, err
	}
	return index[met], nil
}

// waitTurn waits for conditions of the host.
func (p *Provider) waitTurn(ctx context.Context, name string, any []runtime.Condition, index []int) (int, error) {
	met := -1
	var begin *control.State
	_, err := p.until(ctx, name, func(s control.State) bool {
		if begin == nil {
			begin = &s
		}
		for _, i := range index {
			if holds(any[i], *begin, s) {
				met = i
				return true
			}
		}
		return false
	})
	if err != nil {
		return 0, fmt.Errorf("wait for %s: %w", name, err)
	}
	return met, nil
}

// holds reports whether a condition holds in a state.
func holds(c runtime.Condition, begin, now control.State) bool {
	switch {
	case c.Idle:
		return now.Activity == runtime.ActivityIdle
	case c.Blocked:
		return now.Activity == runtime.ActivityBlocked
	case c.Done:
		return now.Activity == runtime.ActivityIdle && now.Turns > 0
	}
	return now.Activity != begin.Activity || now.Kind != begin.Kind || requestID(now) != requestID(begin)
}

func requestID(s control.State) string {
	if s.Pending == nil {
		return ""
	}
	return s.Pending.RequestID
}
