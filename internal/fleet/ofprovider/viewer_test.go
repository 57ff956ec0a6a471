package ofprovider

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/fleet/fleetfake"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/internal/screens/wire"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
	"gascity.dev/gc/vt"
)

// routed has sessions on several backends. It cannot be told where one of them is.
type routed struct {
	*runtimefake.Fake
	mu   sync.Mutex
	at   map[string]runtime.Provider
	lost string
}

func (r *routed) BackendFor(ctx context.Context, name string) (runtime.Provider, error) {
	if name == r.lost {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at[name], nil
}

func (r *routed) Behind() []runtime.Provider    { return nil }
func (r *routed) SupportsTransport(string) bool { return false }
func (r *routed) Searches(string) bool          { return false }

// hosted is a backend with a multiplexer, whose sessions show its name.
type hosted struct {
	*runtimefake.Fake
	name   string
	client *client.Client
}

func (h *hosted) Client(context.Context) (*client.Client, error) { return h.client, nil }

func (h *hosted) Next(ctx context.Context, _ string, after screens.Mark, _ float64) (*screens.Screen, error) {
	if after.Revision == 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &screens.Screen{State: screens.Running, Revision: 1, Cols: 10, Rows: 1, Lines: []vt.Line{{Runs: []vt.Run{{Text: h.name}}}}}, nil
}

// pipes is a listener without a network.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

func host(t *testing.T, name string) *hosted {
	h, l := &hosted{Fake: runtimefake.New(), name: name}, make(pipes)
	hub := screens.NewHub(h)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { wire.Serve(r.Context(), w, r, hub.View()) })}
	go func() { _ = srv.Serve(l) }() // until it is closed
	h.client = client.NewClient(func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		l <- far
		return near, nil
	})
	t.Cleanup(func() { h.client.Close(); hub.Close(); close(l); srv.Close() })
	return h
}

// TestScreensOfSeveralBackends: one viewer shows the sessions of several multiplexers and those
// that are in none; a backend that hangs holds up none of them, and a session is followed to
// another one.
func TestScreensOfSeveralBackends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := host(t, "one"), host(t, "two")
		r := &routed{Fake: runtimefake.New(), lost: "lost"}
		r.at = map[string]runtime.Provider{"a": one, "b": two, "text": r.Fake}
		if err := r.Start(t.Context(), "text", runtime.Config{Command: "x"}); err != nil {
			t.Fatal(err)
		}
		r.SetPeek("text", "plain")
		s := Open(r, new(fleetfake.Fleet))
		defer s.Close()
		v, err := s.Screens(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		looks := []screens.Look{{ID: "a"}, {ID: "b"}, {ID: "text"}, {ID: "lost"}}
		if err := v.Look(make([]screens.Look, screens.MaxLooks+1)); err == nil {
			t.Error("a list without limit")
		}
		began := time.Now()
		if err := v.Look(looks); err != nil {
			t.Fatal(err)
		}
		shown := map[string]string{}
		next := func() {
			t.Helper()
			u, err := v.Next()
			if err != nil {
				t.Fatal(err)
			}
			shown[u.ID] = rowText(u.Changed[0])
		}
		for len(shown) < 3 {
			next()
		}
		if took := time.Since(began); took > time.Second || shown["a"] != "one" || shown["b"] != "two" || shown["text"] != "plain" {
			t.Errorf("after %v: %v", took, shown)
		}
		r.mu.Lock()
		r.at["a"] = two
		r.mu.Unlock()
		if err := v.Look(looks); err != nil {
			t.Fatal(err)
		}
		for shown["a"] != "two" {
			next()
		}
	})
}
