package router

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"gascity.dev/gc/runtime"
)

// ListRunning implements runtime.Provider. If a backend does not answer, the
// names of the others are returned with the error; whether any other name runs
// is unknown.
func (r *Router) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	backends := r.list()
	lists := make([][]string, len(backends))
	errs := make([]error, len(backends))
	var asked sync.WaitGroup
	for i, b := range backends {
		asked.Go(func() {
			if lists[i], errs[i] = b.ListRunning(ctx, prefix); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", b, errs[i])
			}
		})
	}
	asked.Wait()
	seen := map[string][]*backend{}
	var names []string
	for i, list := range lists {
		for _, name := range list {
			seen[name] = append(seen[name], backends[i])
			names = append(names, name)
		}
	}
	r.correct(seen)
	slices.Sort(names)
	return slices.Compact(names), errors.Join(errs...)
}

// correct records where running sessions are.
func (r *Router) correct(seen map[string][]*backend) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, at := range seen {
		if !slices.Contains(at, r.placed[name]) {
			r.placed[name] = at[0]
		}
	}
}

// byBackend groups sessions by the backend that hosts them. Sessions whose backend
// is unknown are in the error.
func (r *Router) byBackend(ctx context.Context, what string, names []string) (map[*backend][]string, error) {
	of := map[*backend][]string{}
	var errs []error
	for _, name := range names {
		b, err := r.find(ctx, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s of %s: %w", what, name, err))
			continue
		}
		of[b] = append(of[b], name)
	}
	return of, errors.Join(errs...)
}

// Activities implements runtime.ManyActivities for the sessions of the backends
// that have it; others are left out.
func (r *Router) Activities(ctx context.Context, names []string) (map[string]runtime.SessionActivity, error) {
	of, err := r.byBackend(ctx, "activity", names)
	errs := []error{err}
	out := make(map[string]runtime.SessionActivity, len(names))
	var mu sync.Mutex
	var asked sync.WaitGroup // at once: one that hangs delays the answer, but does not take it from the others
	for b, list := range of {
		if many, ok := runtime.As[runtime.ManyActivities](b); ok {
			asked.Go(func() {
				found, err := many.Activities(ctx, list)
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
				maps.Copy(out, found)
			})
		}
	}
	asked.Wait()
	return out, errors.Join(errs...)
}

// SeenAlive implements runtime.ManyProcesses for the sessions of the backends that
// have it.
func (r *Router) SeenAlive(ctx context.Context, names map[string][]string) ([]string, error) {
	of, err := r.byBackend(ctx, "processes", slices.Collect(maps.Keys(names)))
	errs := []error{err}
	var alive []string
	var mu sync.Mutex
	var asked sync.WaitGroup // at once, as in Activities
	for b, list := range of {
		if many, ok := runtime.As[runtime.ManyProcesses](b); ok {
			asked.Go(func() {
				some := make(map[string][]string, len(list))
				for _, name := range list {
					some[name] = names[name]
				}
				seen, err := many.SeenAlive(ctx, some)
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
				alive = append(alive, seen...)
			})
		}
	}
	asked.Wait()
	return alive, errors.Join(errs...)
}

// FindRuntimesBySessionID implements runtime.ProcessTableScanner: every process
// once, by the backend that tracks it if one does.
func (r *Router) FindRuntimesBySessionID(ctx context.Context, id string) ([]runtime.LiveRuntime, error) {
	var all []runtime.LiveRuntime
	var errs []error
	for _, b := range r.list() {
		x, ok := runtime.As[runtime.ProcessTableScanner](b)
		if !ok {
			continue
		}
		found, err := x.FindRuntimesBySessionID(ctx, id)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", b, err))
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

// TerminateRuntime implements runtime.ProcessTableScanner. Any backend that can
// end processes may end it: the process table is the same for all.
func (r *Router) TerminateRuntime(ctx context.Context, l runtime.LiveRuntime) error {
	var first runtime.ProcessTableScanner
	for _, b := range r.list() {
		x, ok := runtime.As[runtime.ProcessTableScanner](b)
		if ok && b.name == l.Provider {
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

// Recordings implements runtime.RecordingKeeper for the backends that have it.
func (r *Router) Recordings(ctx context.Context, key, value string) ([]runtime.Recording, error) {
	backends := r.list()
	lists := make([][]runtime.Recording, len(backends))
	errs := make([]error, len(backends))
	var asked sync.WaitGroup // at once, as in Activities
	for i, b := range backends {
		if x, ok := runtime.As[runtime.RecordingKeeper](b); ok {
			asked.Go(func() {
				if lists[i], errs[i] = x.Recordings(ctx, key, value); errs[i] != nil {
					errs[i] = fmt.Errorf("%s: %w", b, errs[i])
				}
			})
		}
	}
	asked.Wait()
	return slices.Concat(lists...), errors.Join(errs...)
}

// DropRecording implements runtime.RecordingKeeper. Ids are unique: a backend that does
// not know one has nothing to remove.
func (r *Router) DropRecording(ctx context.Context, rec runtime.Recording) error {
	var errs []error
	for _, b := range r.list() {
		if x, ok := runtime.As[runtime.RecordingKeeper](b); ok {
			errs = append(errs, x.DropRecording(ctx, rec))
		}
	}
	return errors.Join(errs...)
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
	for _, b := range r.list() {
		if x, ok := runtime.As[runtime.ServerLifecycleProvider](b); ok {
			if err := f(x); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", b, err))
			}
		}
	}
	return errors.Join(errs...)
}
