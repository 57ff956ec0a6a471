package controller

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// oneServer has a server behind its sessions; Events starts it, and its end
// closes every stream of events.
type oneServer struct {
	*runtimefake.Fake
	restarted atomic.Bool
	down      chan struct{}
}

func (s *oneServer) Events(ctx context.Context) (<-chan runtime.Event, error) {
	select {
	case <-s.down:
		s.restarted.Store(true)
		return make(chan runtime.Event), nil
	default:
	}
	in, err := s.Fake.Events(ctx)
	if err != nil {
		return nil, err
	}
	out := make(chan runtime.Event)
	go func() {
		defer close(out)
		for {
			select {
			case e, ok := <-in:
				if !ok {
					return
				}
				select {
				case out <- e:
				case <-s.down:
					return
				}
			case <-s.down:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func (s *oneServer) ConfigureServer(context.Context) error { return nil }

func (s *oneServer) TeardownServer(ctx context.Context) error {
	close(s.down)
	<-ctx.Done() // however long it takes: the loop continues meanwhile
	return nil
}

// A stop does not restart the server that it has just ended.
func TestStopLeavesTheServerDown(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		s := &oneServer{Fake: r.fake, down: make(chan struct{})}
		r.start(func(o *Options) { o.Provider = s })
		r.wantState("a", api.StateRunning)
		if err := r.l.do(context.Background(), r.l.shutdown.begin); err != nil {
			t.Fatal(err)
		}
		<-s.down
		synctest.Wait()
		if s.restarted.Load() {
			t.Error("the server was started again")
		}
		r.end()
	})
}
