package controller

import (
	"context"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// leaver is a fake whose programs end by themselves when interrupted.
type leaver struct {
	*runtimefake.Fake
	leave func(name string)
}

func (f leaver) Interrupt(_ context.Context, name string) error {
	f.leave(name)
	return nil
}

// The exit of a stopped agent is the one its backend reports; unknown if it
// does not.
func TestExitOfAStoppedAgent(t *testing.T) {
	for name, c := range map[string]struct {
		deaf  bool // no events
		leave func(*runtimefake.Fake) func(string)
		want  runtime.Exit
	}{
		"it ended by itself": {
			leave: func(f *runtimefake.Fake) func(string) { return func(name string) { f.Exit(name, 3) } },
			want:  runtime.Exit{Code: 3},
		},
		"by the interrupt": {
			leave: func(f *runtimefake.Fake) func(string) {
				return func(name string) { f.ExitWith(name, runtime.Exit{Code: 130, Signal: "SIGINT", Time: time.Now()}) }
			},
			want: runtime.Exit{Code: 130, Signal: "SIGINT"},
		},
		"by the stop": {
			leave: func(*runtimefake.Fake) func(string) { return func(string) {} },
			want:  runtime.Exit{Code: 143, Signal: "SIGTERM"},
		},
		"no source reports it": {
			deaf:  true,
			leave: func(f *runtimefake.Fake) func(string) { return f.Vanish },
			want:  runtime.Exit{Code: -1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, oneAgent, func(r *rig) {
				if c.deaf {
					r.fake.Fail("Events", "", runtime.ErrUnsupported)
				}
				r.start(func(o *Options) { o.Provider = leaver{r.fake, c.leave(r.fake)} })
				r.wantState("a", api.StateRunning)
				if err := r.l.calls.StopAgents(context.Background(), []string{"a"}); err != nil {
					t.Fatal(err)
				}
				got := r.wantState("a", api.StateStopped).LastExit
				if got == nil || got.Code != c.want.Code || got.Signal != c.want.Signal || got.Reason != "stopped" {
					t.Errorf("%+v, want %+v", got, c.want)
				}
				r.end()
			})
		})
	}
}
