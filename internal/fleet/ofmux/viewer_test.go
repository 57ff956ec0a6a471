package ofmux

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/internal/screens/wire"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/vt"
)

// one is a source with one session, whose row counts.
type one struct {
	mu      sync.Mutex
	rev     uint64
	changed chan struct{}
}

func (o *one) show() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rev++
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *one) newest() (*screens.Screen, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return &screens.Screen{
		State: screens.Running, Incarnation: "i", Revision: o.rev, Cols: 10, Rows: 2,
		Lines: []vt.Line{{Runs: []vt.Run{{Text: strings.Repeat("x", int(o.rev))}}}, {Runs: []vt.Run{{Text: "same"}}}},
	}, o.changed
}

func (o *one) Next(ctx context.Context, _ string, after screens.Mark, _ float64) (*screens.Screen, error) {
	for {
		s, changed := o.newest()
		if s.Mark() != after {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// place is where servers run one after the other.
type place struct {
	mu    sync.Mutex
	conns chan net.Conn // of the server that is there; nil without one
}

func (p *place) dial(context.Context) (net.Conn, error) {
	p.mu.Lock()
	conns := p.conns
	p.mu.Unlock()
	if conns == nil {
		return nil, errors.New("nothing listens")
	}
	near, far := net.Pipe()
	conns <- far
	return near, nil
}

type listener chan net.Conn

func (l listener) Accept() (net.Conn, error) {
	if c, ok := <-l; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l listener) Close() error   { return nil }
func (l listener) Addr() net.Addr { return &net.UnixAddr{} }

// serve runs a server until kill is called.
func (p *place) serve(h http.Handler) (kill func()) {
	l := make(listener)
	srv := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = srv.Serve(l) }()
	p.mu.Lock()
	p.conns = l
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		p.conns = nil
		p.mu.Unlock()
		close(l)
		srv.Close()
		<-ended
	}
}

// newer serves live screens.
func newer(hub *screens.Hub) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /v1/screens", func(w http.ResponseWriter, r *http.Request) { wire.Serve(r.Context(), w, r, hub.View()) })
	return m
}

// older serves one screen after the other.
func older(o *one) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("POST /v1/sessions/a/wait", func(w http.ResponseWriter, r *http.Request) {
		var in api.WaitRequest
		_ = json.NewDecoder(r.Body).Decode(&in) // ours
		if s, changed := o.newest(); s.Revision == *in.Conditions[0].Changed {
			select {
			case <-changed:
			case <-r.Context().Done():
			}
		}
		_ = json.NewEncoder(w).Encode(api.WaitResult{})
	})
	m.HandleFunc("POST /v1/sessions/a/peek", func(w http.ResponseWriter, _ *http.Request) {
		s, _ := o.newest()
		_ = json.NewEncoder(w).Encode(api.PeekResult{ID: "i", State: api.StateRunning, Revision: s.Revision, Screen: &vt.Screen{Cols: 10, Rows: 2, Lines: s.Lines}})
	})
	return m
}

// fixture is a fleet, a viewer of its session, and the screen that the viewer has.
func fixture(t *testing.T) (p *place, o *one, until func(what string, ok func(screens.Screen) bool) screens.Update) {
	p, o = &place{}, &one{rev: 1, changed: make(chan struct{})}
	m := Open("", "", func(context.Context) (*client.Client, error) { return client.NewClient(p.dial), nil })
	v, err := m.Screens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close(); m.Close() })
	if err := v.Look([]screens.Look{{ID: "a"}}); err != nil {
		t.Fatal(err)
	}
	var now screens.Screen
	return p, o, func(what string, ok func(screens.Screen) bool) (u screens.Update) {
		t.Helper()
		for first := true; first || !ok(now); first = false {
			if u, err = v.Next(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			now = now.Apply(u)
		}
		return u
	}
}

func row(s screens.Screen, y int) string {
	if y >= len(s.Lines) || len(s.Lines[y].Runs) == 0 {
		return ""
	}
	return s.Lines[y].Runs[0].Text
}

// TestViewerOutlivesServers: what a killed server showed stays for a moment, is then unknown with
// its rows, and is sent anew by the next server, also by one that is too old to have live screens.
func TestViewerOutlivesServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, o, until := fixture(t)
		hub := screens.NewHub(o)
		kill := p.serve(newer(hub))
		until("first", func(s screens.Screen) bool { return row(s, 0) == "x" })
		o.show()
		if u := until("a change", func(s screens.Screen) bool { return row(s, 0) == "xx" }); u.Full || len(u.Changed) != 1 {
			t.Errorf("%+v", u)
		}
		kill()
		hub.Close()
		lost := time.Now()
		u := until("lost", func(s screens.Screen) bool { return s.State == screens.Unknown && row(s, 1) == "same" })
		if took := time.Since(lost); u.Why == "" || took < patience {
			t.Errorf("after %v: %+v", took, u)
		}
		o.show()
		hub = screens.NewHub(o)
		kill = p.serve(newer(hub))
		if u := until("back", func(s screens.Screen) bool { return s.State == screens.Running && row(s, 0) == "xxx" }); !u.Full {
			t.Errorf("%+v", u)
		}
		kill()
		hub.Close()
		o.show()
		hub = screens.NewHub(o)
		kill = p.serve(newer(hub)) // at once: nobody learns that it was away
		if u := until("replaced", func(s screens.Screen) bool { return row(s, 0) == "xxxx" || s.State != screens.Running }); u.State != screens.Running {
			t.Errorf("%+v", u)
		}
		kill()
		hub.Close()
		o.show()
		kill = p.serve(older(o))
		defer kill()
		until("an older server", func(s screens.Screen) bool { return s.State == screens.Running && row(s, 0) == "xxxxx" })
		o.show()
		until("a change there", func(s screens.Screen) bool { return row(s, 0) == "xxxxxx" })
	})
}
