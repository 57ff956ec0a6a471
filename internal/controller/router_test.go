package controller

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/router"
	"gascity.dev/gc/runtime/runtimefake"
)

// halfLost is a router with a lost backend while lost is set: its list has only
// the names of the other, and its own sessions cannot be queried.
type halfLost struct {
	*runtimefake.Fake
	gone string // a session of the lost backend
	lost atomic.Bool
}

func (h *halfLost) Behind() []runtime.Provider { return []runtime.Provider{h.Fake, h.Fake} }

func (h *halfLost) SupportsTransport(string) bool { return false }

func (h *halfLost) Searches(string) bool { return false }

func (h *halfLost) BackendFor(context.Context, string) (runtime.Provider, error) { return h.Fake, nil }

func (h *halfLost) ListRunning(ctx context.Context, prefix string) ([]string, error) {
	list, err := h.Fake.ListRunning(ctx, prefix)
	if !h.lost.Load() || err != nil {
		return list, err
	}
	var known []string
	for _, name := range list {
		if name != h.gone {
			known = append(known, name)
		}
	}
	return known, runtime.ErrBackendUnreachable
}

func (h *halfLost) IsRunning(ctx context.Context, name string) (bool, error) {
	if h.lost.Load() && name == h.gone {
		return false, runtime.ErrBackendUnreachable
	}
	return h.Fake.IsRunning(ctx, name)
}

// Sessions of a router's lost backend are unknown, and so not dead; those of
// the others are still looked after.
func TestPartialListEndsNoSession(t *testing.T) {
	bubble(t, "[daemon]\npatrol_interval = \"1s\"\n"+oneAgent+strings.ReplaceAll(oneAgent, `"a"`, `"b"`), func(r *rig) {
		h := &halfLost{Fake: r.fake, gone: "gc-city-a"}
		r.start(func(o *Options) { o.Provider = h })
		r.wantState("a", api.StateRunning)
		h.lost.Store(true)
		r.fake.Vanish("gc-city-b")
		time.Sleep(1500 * time.Millisecond)
		r.wantState("b", api.StateRunning)
		if a := r.status("a"); a.State != api.StateRunning || a.Error == "" {
			t.Errorf("%+v", a)
		}
		if n, m := r.starts("gc-city-a"), r.starts("gc-city-b"); n != 1 || m != 2 {
			t.Errorf("%d starts of the unknown, %d of the dead; log:\n%s", n, m, r.log)
		}
		h.lost.Store(false)
		time.Sleep(time.Second)
		if a := r.wantState("a", api.StateRunning); a.Error != "" {
			t.Errorf("%+v", a)
		}
		r.end()
	})
}

// A provider that the controller does not have cannot be added by a reload.
func TestReloadWithAnotherProviderIsRefused(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.reload(oneAgent + "session = \"tmux\"\n")
		var st api.Status
		if err := r.l.do(context.Background(), func() { st = r.l.report.status() }); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(st.ConfigError, "agent a requires session provider tmux") {
			t.Errorf("%q", st.ConfigError)
		}
		r.wantState("a", api.StateRunning)
		r.end()
	})
}

// A router hosts the first agent elsewhere without a restart. From then on commands are
// told to look for agents where each is. The next controller, which knows both providers
// from the start, still has both sessions.
func TestFirstAgentElsewhere(t *testing.T) {
	two := oneAgent + strings.ReplaceAll(oneAgent, `"a"`, `"b"`)
	bubble(t, two, func(r *rig) {
		there := runtimefake.New()
		routed := func(name string, backends ...string) func(o *Options) {
			return func(o *Options) {
				p, err := router.New(router.Options{Backends: backends, Open: func(name string) (runtime.Provider, error) {
					if name == "native" {
						return r.fake, nil
					}
					return there, nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				o.Provider, o.ProviderName = p, name
			}
		}
		wantName := func(want string) {
			t.Helper()
			var st api.Status
			if err := r.l.do(context.Background(), func() { st = r.l.report.status() }); err != nil {
				t.Fatal(err)
			}
			if st.SessionProvider != want || !st.AnyProvider {
				t.Errorf("provider %q, any: %v", st.SessionProvider, st.AnyProvider)
			}
		}
		r.start(routed("native", "native"))
		wantName("native")
		moved := two + "session = \"tmux\"\n"
		r.reload(moved)
		wantName("auto")
		r.fake.Exit("gc-city-b", 1) // a running session is not moved by a change of the config
		r.wantState("a", api.StateRunning)
		r.wantState("b", api.StateRunning)
		if n := len(there.CallsOf("Start", "gc-city-b")); n != 1 {
			t.Errorf("%d starts elsewhere; log:\n%s", n, r.log)
		}
		there.Exit("gc-city-b", 1) // its events arrive
		r.status("b")
		if n := len(there.CallsOf("Start", "gc-city-b")); n != 2 {
			t.Errorf("%d starts elsewhere after a crash; log:\n%s", n, r.log)
		}
		r.end()

		r.start(routed("auto", "native", "tmux"))
		if strings.Contains(r.log.String(), "which is not searched") || r.starts("gc-city-a") != 1 {
			t.Errorf("log:\n%s", r.log)
		}
		r.wantState("a", api.StateRunning)
		r.wantState("b", api.StateRunning)
		r.end()

		r.write(two)
		r.start(routed("native", "native"))
		if n := strings.Count(r.log.String(), "it was started with tmux, which is not searched"); n != 1 {
			t.Errorf("log:\n%s", r.log)
		}
		r.wantState("b", api.StateRunning)
		if r.starts("gc-city-a") != 1 || r.starts("gc-city-b") != 2 {
			t.Errorf("log:\n%s", r.log)
		}
		r.end()
	})
}
