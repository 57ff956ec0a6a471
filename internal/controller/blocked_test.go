package controller

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// asker is a backend whose agent a may ask questions.
type asker struct {
	*runtimefake.Fake
	mu      sync.Mutex
	now     runtime.Activity
	changed chan struct{} // closed at every change
	sitting bool          // a person is attached
}

func newAsker(f *runtimefake.Fake) *asker {
	return &asker{Fake: f, now: runtime.Activity{State: runtime.ActivityWorking}, changed: make(chan struct{})}
}

// asks puts a question, or none, on the agent's screen.
func (p *asker) asks(kind, prompt string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = runtime.Activity{State: runtime.ActivityWorking, Since: time.Now()}
	if prompt != "" {
		p.now.State, p.now.Kind = runtime.ActivityBlocked, kind
		p.now.Pending = &runtime.Interaction{RequestID: prompt, Kind: kind, Prompt: prompt}
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *asker) sit(there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sitting = there
}

func (p *asker) IsAttached(context.Context, string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sitting, nil
}

func (p *asker) Activity(_ context.Context, name string) (runtime.Activity, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name != "gc-city-a" {
		return runtime.Activity{State: runtime.ActivityUnknown}, nil
	}
	return p.now, nil
}

func (p *asker) WaitFor(ctx context.Context, name string, any []runtime.Condition) (int, error) {
	for first := true; ; first = false {
		p.mu.Lock()
		now, changed := p.now, p.changed
		p.mu.Unlock()
		if name == "gc-city-a" && (any[0].Blocked && now.State == runtime.ActivityBlocked || any[0].Status && !first) {
			return 0, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-changed:
		}
	}
}

func blockedBubble(t *testing.T, change func(*Options), fn func(*rig, *asker)) {
	t.Helper()
	bubble(t, oneAgent+oneJob, func(r *rig) {
		p := newAsker(r.fake)
		r.start(func(o *Options) {
			o.Provider, o.Until, o.Timeout, o.BlockedTimeout, o.StopOnCancel = p, UntilDone, 100*time.Hour, time.Minute, true
			if change != nil {
				change(o)
			}
		})
		fn(r, p)
	})
}

// wantBlocked waits for a question to end the run.
func (r *rig) wantBlocked(prompt string, after time.Duration) {
	r.t.Helper()
	began := time.Now()
	err := <-r.result
	var blocked *BlockedError
	if !errors.As(err, &blocked) || blocked.Agent != "a" || blocked.Activity.Pending.Prompt != prompt {
		r.t.Fatalf("result %v", err)
	}
	if took := time.Since(began); took < after || took > after+10*time.Second {
		r.t.Errorf("ended after %v, want %v", took, after)
	}
}

func TestBlockedAgentFailsTheRun(t *testing.T) {
	dir := t.TempDir()
	blockedBubble(t, func(o *Options) { o.Artifacts = dir }, func(r *rig, p *asker) {
		p.asks(runtime.BlockedPermission, "Remove it?")
		r.wantBlocked("Remove it?", time.Minute)
		var a api.AgentStatus
		b, err := os.ReadFile(filepath.Join(dir, "gc-city-a", ArtifactResult))
		if err == nil {
			err = json.Unmarshal(b, &a)
		}
		if err != nil || a.State != api.StateRunning || a.Activity != runtime.ActivityBlocked || a.ActivityInfo.Pending.Prompt != "Remove it?" {
			t.Errorf("result %s, %v", b, err)
		}
	})
}

func TestFailOnBlockedFailsAtOnce(t *testing.T) {
	blockedBubble(t, func(o *Options) { o.FailOnBlocked = true }, func(r *rig, p *asker) {
		p.asks(runtime.BlockedQuestion, "Which?")
		r.wantBlocked("Which?", 0)
	})
}

// An answer in time, an attached user and a limit that passes by itself fail
// nothing; each question has its own time.
func TestBlockedTimeCountsOneQuestionWithoutAPerson(t *testing.T) {
	blockedBubble(t, nil, func(r *rig, p *asker) {
		p.asks(runtime.BlockedPermission, "one?")
		time.Sleep(40 * time.Second)
		p.asks(runtime.BlockedPermission, "two?")
		time.Sleep(40 * time.Second)
		p.asks("", "")
		time.Sleep(time.Hour)
		p.sit(true)
		p.asks(runtime.BlockedPermission, "three?")
		time.Sleep(10*time.Minute + time.Second)
		p.sit(false)
		p.asks(runtime.BlockedRateLimit, "limit reached")
		time.Sleep(10 * time.Minute)
		r.wantState("a", api.StateRunning)
		p.asks(runtime.BlockedPermission, "four?")
		r.wantBlocked("four?", time.Minute)
	})
}
