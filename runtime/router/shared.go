package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gascity.dev/gc/runtime"
)

// again is how soon a side whose events could not be had is asked again.
const again = 5 * time.Second

// Events implements runtime.EventSource with the events of every side that has
// any. A side that cannot be subscribed to is tried again; when it can, the
// channel closes, as it does when one is lost: the subscriber lists and
// subscribes anew. The error says that no side could be subscribed to.
func (r *Router) Events(ctx context.Context) (_ <-chan runtime.Event, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			stop()
		}
	}()
	var sources []<-chan runtime.Event
	var missing []runtime.EventSource
	var errs []error
	for _, s := range r.list() {
		src, ok := runtime.As[runtime.EventSource](s.Provider)
		if !ok {
			continue
		}
		ch, err := src.Events(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("events of provider %s: %w", s.name, err))
			missing = append(missing, src)
			continue
		}
		sources = append(sources, ch)
	}
	if len(sources) == 0 {
		if len(errs) == 0 {
			errs = append(errs, fmt.Errorf("events: %w", runtime.ErrUnsupported))
		}
		return nil, errors.Join(errs...)
	}
	out := make(chan runtime.Event)
	var tasks sync.WaitGroup
	for _, ch := range sources {
		tasks.Go(func() { defer stop(); pass(ctx, ch, out) })
	}
	for _, src := range missing {
		tasks.Go(func() { defer stop(); returned(ctx, src) })
	}
	go func() { tasks.Wait(); stop(); close(out) }()
	return out, nil
}

// pass copies events until the side or ctx ends.
func pass(ctx context.Context, from <-chan runtime.Event, to chan<- runtime.Event) {
	for e := range from {
		select {
		case to <- e:
		case <-ctx.Done():
			return
		}
	}
}

// returned waits until the side can be subscribed to.
func returned(ctx context.Context, src runtime.EventSource) {
	t := time.NewTicker(again)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			try, stop := context.WithTimeout(ctx, again)
			_, err := src.Events(try)
			stop()
			if err == nil {
				return
			}
		}
	}
}

// FindRuntimesBySessionID implements runtime.ProcessTableScanner: every process
// once, by the side that tracks it where one does.
func (r *Router) FindRuntimesBySessionID(ctx context.Context, id string) ([]runtime.LiveRuntime, error) {
	var all []runtime.LiveRuntime
	var errs []error
	for _, s := range r.list() {
		x, ok := runtime.As[runtime.ProcessTableScanner](s.Provider)
		if !ok {
			continue
		}
		found, err := x.FindRuntimesBySessionID(ctx, id)
		if err != nil {
			errs = append(errs, fmt.Errorf("provider %s: %w", s.name, err))
		}
		for _, f := range found {
			i := slices.IndexFunc(all, func(o runtime.LiveRuntime) bool { return o.PID == f.PID && o.Start == f.Start })
			switch {
			case i < 0:
				all = append(all, f)
			case f.Tracked:
				all[i] = f
			}
		}
	}
	return all, errors.Join(errs...)
}

// TerminateRuntime implements runtime.ProcessTableScanner. Any side that can
// end processes ends it: the process table is the same for all.
func (r *Router) TerminateRuntime(ctx context.Context, l runtime.LiveRuntime) error {
	var first runtime.ProcessTableScanner
	for _, s := range r.list() {
		x, ok := runtime.As[runtime.ProcessTableScanner](s.Provider)
		if ok && s.name == l.Provider {
			return x.TerminateRuntime(ctx, l)
		}
		if ok && first == nil {
			first = x
		}
	}
	if first == nil {
		return fmt.Errorf("end process %d: %w", l.PID, runtime.ErrUnsupported)
	}
	return first.TerminateRuntime(ctx, l)
}

// ConfigureServer implements runtime.ServerLifecycleProvider.
func (r *Router) ConfigureServer(ctx context.Context) error {
	return r.servers(func(x runtime.ServerLifecycleProvider) error { return x.ConfigureServer(ctx) })
}

// TeardownServer implements runtime.ServerLifecycleProvider.
func (r *Router) TeardownServer(ctx context.Context) error {
	return r.servers(func(x runtime.ServerLifecycleProvider) error { return x.TeardownServer(ctx) })
}

func (r *Router) servers(f func(runtime.ServerLifecycleProvider) error) error {
	var errs []error
	for _, s := range r.list() {
		if x, ok := runtime.As[runtime.ServerLifecycleProvider](s.Provider); ok {
			if err := f(x); err != nil {
				errs = append(errs, fmt.Errorf("provider %s: %w", s.name, err))
			}
		}
	}
	return errors.Join(errs...)
}
