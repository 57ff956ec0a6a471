package wrap

import (
	"context"
	"time"

	"gascity.dev/gc/runtime"
)

// Operation is the report of one call that changes a session.
type Operation struct {
	Method  string // "Start", "Stop", "Interrupt", "Nudge", "SendKeys", "Attach", "CopyTo", "RunLive"
	Session string
	Begin   time.Time
	Took    time.Duration
	Receipt *runtime.Receipt // of a nudge that was delivered or refused
	Err     error
}

// Observed returns p and calls report after every call that changes a session;
// queries are not reported. report must not block.
func Observed(p runtime.Provider, report func(Operation)) runtime.Provider {
	return &observed{Provider: p, report: report}
}

type observed struct {
	runtime.Provider
	report func(Operation)
}

// Unwrap gives the optional interfaces of the provider inside.
func (o *observed) Unwrap() runtime.Provider { return o.Provider }

func (o *observed) run(method, session string, f func() error) error {
	op := Operation{Method: method, Session: session, Begin: time.Now()}
	op.Err = f()
	op.Took = time.Since(op.Begin)
	o.report(op)
	return op.Err
}

func (o *observed) Start(ctx context.Context, name string, cfg runtime.Config) error {
	return o.run("Start", name, func() error { return o.Provider.Start(ctx, name, cfg) })
}

func (o *observed) Stop(ctx context.Context, name string) error {
	return o.run("Stop", name, func() error { return o.Provider.Stop(ctx, name) })
}

func (o *observed) Interrupt(ctx context.Context, name string) error {
	return o.run("Interrupt", name, func() error { return o.Provider.Interrupt(ctx, name) })
}

func (o *observed) Attach(ctx context.Context, name string, t runtime.Terminal) error {
	return o.run("Attach", name, func() error { return o.Provider.Attach(ctx, name, t) })
}

func (o *observed) Nudge(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	op := Operation{Method: "Nudge", Session: name, Begin: time.Now()}
	r, err := o.Provider.Nudge(ctx, name, content)
	op.Took, op.Err = time.Since(op.Begin), err
	if err == nil {
		op.Receipt = &r
	}
	o.report(op)
	return r, err
}

func (o *observed) SendKeys(ctx context.Context, name string, keys ...string) error {
	return o.run("SendKeys", name, func() error { return o.Provider.SendKeys(ctx, name, keys...) })
}

func (o *observed) CopyTo(ctx context.Context, name, src, relDst string) error {
	return o.run("CopyTo", name, func() error { return o.Provider.CopyTo(ctx, name, src, relDst) })
}

func (o *observed) RunLive(ctx context.Context, name string, cfg runtime.Config) error {
	return o.run("RunLive", name, func() error { return o.Provider.RunLive(ctx, name, cfg) })
}
