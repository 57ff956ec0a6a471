package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/fleetfake"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/vt"
)

// serve serves a fake fleet at a socket until stop is called.
func serve(t *testing.T, path string, f fleet.Fleet) (stop func()) {
	t.Helper()
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	srv := &httptest.Server{Listener: ln, Config: &http.Server{Handler: Handler(ctx, f)}}
	srv.Start()
	return func() { cancel(); srv.CloseClientConnections(); srv.Close() }
}

func start(t *testing.T, f fleet.Fleet) *Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	t.Cleanup(serve(t, path, f))
	return dial(t, path)
}

func dial(t *testing.T, path string) *Client {
	c := New("city", "", func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", path) })
	t.Cleanup(func() { c.Close() })
	return c
}

// snapshot is a city of so many agents; those whose numbers are in changed do something
// else.
func snapshot(n int, changed ...int) fleet.Snapshot {
	s := fleet.Snapshot{Name: "demo", Time: time.Unix(1000, 0).UTC(), Agents: []fleet.Agent{}, Attention: []fleet.Attention{}, Messages: []fleet.Message{}}
	for i := range n {
		a := fleet.Agent{ID: fmt.Sprintf("rig/a%d", i), Status: "idle", Can: []fleet.Action{fleet.Stop}}
		if slices.Contains(changed, i) {
			a.Status = "working"
		}
		s.Agents = append(s.Agents, a)
	}
	return s
}

// TestWatch: the client sees each state of the fleet, through removed agents and while the
// server is away.
func TestWatch(t *testing.T) {
	f, path := new(fleetfake.Fleet), filepath.Join(t.TempDir(), "s")
	f.Set(snapshot(3))
	stop := serve(t, path, f)
	c := dial(t, path)
	got := make(chan fleet.Snapshot)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Watch(ctx, func(s fleet.Snapshot) {
			select {
			case got <- s:
			case <-ctx.Done():
			}
		})
	}()
	until := func(what string, ok func(fleet.Snapshot) bool) {
		t.Helper()
		for s := range got {
			if ok(s) {
				return
			}
		}
		t.Fatal(what)
	}
	same := func(want fleet.Snapshot) func(fleet.Snapshot) bool {
		return func(s fleet.Snapshot) bool { return reflect.DeepEqual(s, want) }
	}
	until("first", same(snapshot(3)))
	f.Set(snapshot(3, 1))
	until("a change", same(snapshot(3, 1)))
	asked := snapshot(2, 0)
	asked.Attention = []fleet.Attention{{ID: "1", Kind: "question", Agent: "rig/a0", Text: "rm?"}}
	asked.Messages = []fleet.Message{{ID: "m", State: "dead"}}
	f.Set(asked)
	until("a question, an agent less", same(asked))
	stop()
	until("lost", func(s fleet.Snapshot) bool {
		return s.Lost != "" && !s.LostSince.IsZero() && len(s.Agents) == 2 && len(s.Attention) == 1
	})
	f.Set(snapshot(0))
	defer serve(t, path, f)()
	until("back, empty", same(snapshot(0)))
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestPatches: only changed agents are sent.
func TestPatches(t *testing.T) {
	var d differ
	if p, err := d.next(snapshot(500)); err != nil || len(p.Changed) != 500 || len(p.Order) != 500 {
		t.Errorf("%d changed, %v", len(p.Changed), err)
	}
	p, err := d.next(snapshot(500, 7))
	if err != nil || len(p.Changed) != 1 || p.Changed[0].ID != "rig/a7" || p.Order != nil || p.Attention != nil || p.Messages != nil {
		t.Errorf("%+v, %v", p.Changed, err)
	}
}

// TestScreens: a viewer over the socket gets all rows and then changed ones.
func TestScreens(t *testing.T) {
	f := new(fleetfake.Fleet)
	c := start(t, f)
	show := func(rev uint64, rows ...string) {
		s := screens.Screen{State: screens.Running, Revision: rev, Cols: 8, Rows: len(rows)}
		for _, text := range rows {
			s.Lines = append(s.Lines, vt.Line{Runs: []vt.Run{{Text: text, Style: vt.Style{FG: "#ff0000"}}}})
		}
		f.Show("rig/a", s)
	}
	show(1, "漢", "b")
	v, err := c.Screens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Look([]screens.Look{{ID: "rig/a"}, {ID: "none"}}); err != nil {
		t.Fatal(err)
	}
	shown := map[string]screens.Screen{}
	for shown["rig/a"].Revision != 1 || shown["none"].State != screens.Gone {
		u, err := v.Next()
		if err != nil || !u.Full {
			t.Fatalf("%+v, %v", u, err)
		}
		shown[u.ID] = shown[u.ID].Apply(u)
	}
	show(2, "漢", "c")
	u, err := v.Next()
	if err != nil || u.Full || len(u.Changed) != 1 || u.Changed[0].Y != 1 || u.Changed[0].Line.Runs[0].Style.FG != "#ff0000" {
		t.Errorf("%+v, %v", u, err)
	}
	v.Close()
	if _, err := v.Next(); !errors.Is(err, screens.ErrClosed) {
		t.Error(err)
	}
}

// TestCalls: each method reaches the fleet with its arguments, and errors keep their kind.
func TestCalls(t *testing.T) {
	f := &fleetfake.Fleet{
		Receipt: fleet.Receipt{State: fleet.Submitted}, Rows: fleet.History{Cols: 3, Lines: []fleet.HistoryLine{{N: 7}}},
		Explained: fleet.Explanation{Facts: []fleet.Fact{{Name: "state", Text: "running"}}}, Cast: "cast",
		Background: []fleet.Command{{ID: "x"}}, Printed: fleet.Output{Total: 3},
	}
	c, ctx := start(t, f), t.Context()
	if r, err := c.Nudge(ctx, "rig/a b", "hello"); err != nil || r != f.Receipt {
		t.Errorf("%+v, %v", r, err)
	}
	if m, err := c.Queue(ctx, "a", "later"); err != nil || m.ID != "m1" {
		t.Errorf("%+v, %v", m, err)
	}
	err := errors.Join(c.Answer(ctx, "a", fleet.Answer{Request: "r", Option: "Yes"}), c.Do(ctx, "a", fleet.Restart), c.CancelMessage(ctx, "m/1"), c.RetryMessage(ctx, "m2"))
	if err != nil {
		t.Error(err)
	}
	want := []string{"nudge rig/a b: hello", "queue a: later", "answer a: Yes", "restart a", "cancel m/1", "retry m2"}
	if got := f.Done(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := c.Answer(ctx, "a", fleet.Answer{Option: "Yes"}); !errors.Is(err, fleet.ErrRefused) {
		t.Errorf("an answer to no question: %v", err)
	}
	f.AnswerErr, f.DoErr = fmt.Errorf("%w: it asks for more", fleet.ErrChanged), fleet.ErrUnsupported
	if err := c.Answer(ctx, "a", fleet.Answer{Request: "r"}); !errors.Is(err, fleet.ErrChanged) || !strings.Contains(err.Error(), "for more") {
		t.Error(err)
	}
	if err := c.Do(ctx, "a", fleet.Stop); !errors.Is(err, fleet.ErrUnsupported) {
		t.Error(err)
	}
	if e, err := c.Explain(ctx, "a"); err != nil || !reflect.DeepEqual(e, f.Explained) {
		t.Errorf("%+v, %v", e, err)
	}
	if h, err := c.History(ctx, "a", fleet.Page{Before: 3, Lines: 2, Search: "x"}); err != nil || !reflect.DeepEqual(h, f.Rows) {
		t.Errorf("%+v, %v", h, err)
	}
	if list, err := c.Commands(ctx); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if o, err := c.Output(ctx, "x", fleet.Page{}); err != nil || o.Total != 3 {
		t.Errorf("%+v, %v", o, err)
	}
	rec, err := c.Recording(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	if b, err := io.ReadAll(rec); err != nil || string(b) != "cast" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestEvents: events are followed, after one that was seen.
func TestEvents(t *testing.T) {
	f := new(fleetfake.Fleet)
	c := start(t, f)
	for _, kind := range []string{"one", "two"} {
		f.Happen(fleet.Event{Kind: kind})
	}
	enough := errors.New("enough")
	var got []string
	err := c.Events(t.Context(), "1", func(e fleet.Event) error {
		if got = append(got, e.Kind); len(got) == 1 {
			f.Happen(fleet.Event{Kind: "three"})
			return nil
		}
		return enough
	})
	if !errors.Is(err, enough) || !slices.Equal(got, []string{"two", "three"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestAttach: bytes and sizes pass both ways, and the end of the program is io.EOF.
func TestAttach(t *testing.T) {
	f := new(fleetfake.Fleet)
	f.Attached = func(_ string, o fleet.AttachOptions, conn io.ReadWriteCloser) {
		fmt.Fprintf(conn, "%dx%d %v\n", o.Cols, o.Rows, o.ReadOnly)
		buf := make([]byte, 5)
		_, _ = io.ReadFull(conn, buf)
		fmt.Fprintf(conn, "got %s", buf)
		conn.Close()
	}
	c := start(t, f)
	term, err := c.Attach(t.Context(), "rig/a", fleet.AttachOptions{Cols: 80, Rows: 24, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer term.Close()
	if err := term.Resize(100, 30); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(term); err != nil || string(b) != "80x24 true\ngot hello" {
		t.Errorf("%q, %v", b, err)
	}
	if got := f.Done(); !slices.Contains(got, "resize rig/a: 100x30") {
		t.Errorf("%q", got)
	}
	f.Attached = nil
	if _, err := c.Attach(t.Context(), "a", fleet.AttachOptions{}); !errors.Is(err, fleet.ErrUnsupported) {
		t.Error(err)
	}
}

// TestServed: a server without these paths is told from one that does not answer.
func TestServed(t *testing.T) {
	if ok, err := start(t, new(fleetfake.Fleet)).Served(t.Context()); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	old := httptest.NewServer(http.NotFoundHandler())
	defer old.Close()
	c := New("", "", func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", old.Listener.Addr().String())
	})
	defer c.Close()
	if ok, err := c.Served(t.Context()); ok || err != nil {
		t.Errorf("an old server: %v, %v", ok, err)
	}
	if _, err := dial(t, filepath.Join(t.TempDir(), "none")).Served(t.Context()); !errors.Is(err, fleet.ErrAway) {
		t.Errorf("no server: %v", err)
	}
}
