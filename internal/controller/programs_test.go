package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime/runtimefake"
)

// programFake is a fake that reports programs that have ended.
type programFake struct {
	*runtimefake.Fake
	gone  chan error
	calls int
}

func (w *programFake) AwaitProgramGone(ctx context.Context, _ string, _ []string) error {
	w.calls++
	select {
	case err := <-w.gone:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestProgramThatExitsInItsSessionIsRestartedAtOnce(t *testing.T) {
	bubble(t, "[daemon]\npatrol_interval = \"1h\"\n"+oneAgent+"process_names = [\"agent\"]\n", func(r *rig) {
		w := &programFake{Fake: r.fake, gone: make(chan error)}
		r.start(func(o *Options) { o.Provider = w })
		for n := 1; n <= 2; n++ { // each incarnation is watched
			r.wantState("a", api.StateRunning)
			time.Sleep(time.Minute)
			begin := time.Now()
			r.fake.SetZombie("gc-city-a", true)
			w.gone <- nil
			if a := r.wantState("a", api.StateRunning); a.Restarts != n {
				t.Fatalf("after %v: %+v", time.Since(begin), a)
			}
		}
		r.end()
	})
}

// An event that an observation does not confirm does not start a loop.
func TestInvalidWatch(t *testing.T) {
	bubble(t, "[daemon]\npatrol_interval = \"30s\"\n"+oneAgent+"process_names = [\"agent\"]\n", func(r *rig) {
		w := &programFake{Fake: r.fake, gone: make(chan error)}
		close(w.gone)
		r.start(func(o *Options) { o.Provider = w })
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if a := r.wantState("a", api.StateRunning); a.Restarts != 0 || w.calls > 12 {
			t.Errorf("%d calls, %+v", w.calls, a)
		}
		r.end()
	})
}
