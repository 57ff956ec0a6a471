package agent

import (
	"context"
	"sync"

	"gascity.dev/gc/runtime"
)

// Fake is an [Agent] in memory, for the tests of what sits above agents. It
// records calls, fails on demand and is safe for concurrent use.
type Fake struct {
	AgentName string
	Session   string
	Config    runtime.Config

	mu      sync.Mutex
	calls   []string
	running bool
	zombie  bool
	screen  string
	receipt runtime.Receipt
	fail    map[string]error
}

var _ Agent = (*Fake)(nil)

// NewFake returns a fake that does not run.
func NewFake(name, session string) *Fake {
	return &Fake{AgentName: name, Session: session, receipt: runtime.Receipt{State: runtime.Submitted}, fail: map[string]error{}}
}

// Fail makes every call of method fail with err; nil ends it.
func (f *Fake) Fail(method string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail[method] = err
}

// SetPeek, SetReceipt and SetZombie set what the next calls answer.
func (f *Fake) SetPeek(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.screen = text
}

// SetReceipt sets what a nudge answers.
func (f *Fake) SetReceipt(r runtime.Receipt) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.receipt = r
}

// SetZombie makes the session exist without its process.
func (f *Fake) SetZombie(zombie bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.zombie = zombie
}

// Calls returns the methods called so far, a nudge with its text.
func (f *Fake) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

// enter records a call and returns the failure set for it. The lock is held
// when it returns.
func (f *Fake) enter(method, detail string) error {
	f.mu.Lock()
	if detail != "" {
		detail = " " + detail
	}
	f.calls = append(f.calls, method+detail)
	return f.fail[method]
}

// Name implements [Agent].
func (f *Fake) Name() string { return f.AgentName }

// SessionName implements [Agent].
func (f *Fake) SessionName() string { return f.Session }

// SessionConfig implements [Agent].
func (f *Fake) SessionConfig() runtime.Config { return f.Config }

// IsRunning implements [Agent].
func (f *Fake) IsRunning(context.Context) (bool, error) {
	err := f.enter("IsRunning", "")
	defer f.mu.Unlock()
	return err == nil && f.running && !f.zombie, err
}

// Start implements [Agent].
func (f *Fake) Start(context.Context) error {
	err := f.enter("Start", "")
	defer f.mu.Unlock()
	if err == nil && f.running {
		err = runtime.ErrSessionExists
	}
	if err == nil {
		f.running = true
	}
	return err
}

// Stop implements [Agent].
func (f *Fake) Stop(context.Context) error {
	err := f.enter("Stop", "")
	defer f.mu.Unlock()
	if err == nil {
		f.running = false
	}
	return err
}

// Attach implements [Agent]; it returns at once.
func (f *Fake) Attach(context.Context, runtime.Terminal) error {
	err := f.enter("Attach", "")
	defer f.mu.Unlock()
	return f.missing(err)
}

// missing is err, or the error of an agent that does not run.
func (f *Fake) missing(err error) error {
	if err == nil && !f.running {
		return runtime.ErrSessionNotFound
	}
	return err
}

// Nudge implements [Agent].
func (f *Fake) Nudge(_ context.Context, content []runtime.ContentBlock) (runtime.Receipt, error) {
	err := f.enter("Nudge", runtime.FlattenText(content))
	defer f.mu.Unlock()
	if err = f.missing(err); err != nil {
		return runtime.Receipt{}, err
	}
	return f.receipt, nil
}

// Peek implements [Agent].
func (f *Fake) Peek(_ context.Context, lines int) (string, error) {
	err := f.enter("Peek", "")
	defer f.mu.Unlock()
	if err = f.missing(err); err != nil {
		return "", err
	}
	return runtime.LastLines(f.screen, lines), nil
}
