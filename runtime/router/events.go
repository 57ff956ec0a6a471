package router

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gascity.dev/gc/runtime"
)

// retryEvents is how soon a backend that refused a subscription is asked again, and
// how long that may take.
const retryEvents = 5 * time.Second

// Events implements runtime.EventSource with the events of every backend that has
// any. A backend that refuses is tried again; when it accepts, the channel closes,
// as it does when a backend is lost or added: the subscriber lists and subscribes anew.
// It fails if no backend accepts.
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
	list, added := r.now()
	for _, b := range list {
		src, ok := runtime.As[runtime.EventSource](b)
		if !ok {
			continue
		}
		ch, err := src.Events(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("events of %s: %w", b, err))
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
	tasks.Go(func() {
		select {
		case <-added:
			stop()
		case <-ctx.Done():
		}
	})
	go func() { tasks.Wait(); stop(); close(out) }()
	return out, nil
}

// pass copies events until the backend or ctx ends.
func pass(ctx context.Context, from <-chan runtime.Event, to chan<- runtime.Event) {
	for e := range from {
		select {
		case to <- e:
		case <-ctx.Done():
			return
		}
	}
}

// returned waits until the backend accepts a subscription.
func returned(ctx context.Context, src runtime.EventSource) {
	t := time.NewTicker(retryEvents)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			try, stop := context.WithTimeout(ctx, retryEvents)
			_, err := src.Events(try)
			stop()
			if err == nil {
				return
			}
		}
	}
}
