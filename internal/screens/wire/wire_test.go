package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/vt"
)

// emulated is a source with one session, an emulator that a test feeds.
type emulated struct {
	mu      sync.Mutex
	newest  *screens.Screen
	changed chan struct{}
}

// show publishes what the emulator shows.
func (e *emulated) show(t *vt.Terminal) *screens.Screen {
	now := t.Screen()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.newest = &screens.Screen{
		State: screens.Running, Incarnation: "i", Revision: now.Revision + 1, Cols: now.Cols, Rows: now.Rows,
		Title: now.Title, Cursor: now.Cursor, Reverse: now.Modes.ReverseVideo, Lines: now.Lines,
	}
	close(e.changed)
	e.changed = make(chan struct{})
	return e.newest
}

func (e *emulated) Next(ctx context.Context, _ string, after screens.Mark, _ float64) (*screens.Screen, error) {
	for {
		e.mu.Lock()
		s, changed := e.newest, e.changed
		e.mu.Unlock()
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

// pipes is a listener without a network, so that a test has its own clock.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	ended chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.ended) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// serve serves what hub shows, and returns a client.
func serve(t *testing.T, hub *screens.Hub) *http.Client {
	l := &pipes{conns: make(chan net.Conn), ended: make(chan struct{})}
	var handlers sync.WaitGroup
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		if r.URL.Path != "/screens" {
			http.Error(w, "an older server", http.StatusNotFound)
			return
		}
		Serve(r.Context(), w, r, hub.View())
	})}
	handlers.Go(func() { _ = srv.Serve(l) }) // until it is closed
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		l.conns <- far
		return near, nil
	}}
	t.Cleanup(func() {
		hub.Close()
		transport.CloseIdleConnections()
		srv.Close()
		handlers.Wait()
	})
	return &http.Client{Transport: transport}
}

func dial(t *testing.T, c *http.Client, look screens.Look) screens.Viewer {
	t.Helper()
	v, _, err := Dial(t.Context(), "http://x/screens", c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	if err := v.Look([]screens.Look{look}); err != nil {
		t.Fatal(err)
	}
	return v
}

// cells are the characters of a row with their renditions, one for each column; a wide one is
// followed by an empty one.
func cells(l vt.Line, cols int) []string {
	var out []string
	for _, r := range l.Runs {
		at := 0
		for _, c := range r.Text {
			width := byte('1')
			if at < len(r.Columns) {
				width = r.Columns[at]
			}
			at++
			if width == '0' {
				out[len(out)-1] += string(c)
				continue
			}
			out = append(out, fmt.Sprintf("%c %v %s", c, r.Style, r.Link))
			if width == '2' {
				out = append(out, "")
			}
		}
	}
	if len(out) > cols && out[cols] == "" { // a wide character would be cut
		return out[:cols-1]
	}
	return out[:min(len(out), cols)]
}

// sameShown compares the part of a screen that the last update described with the screen. A
// cropped viewer is not told of a change elsewhere.
func sameShown(t *testing.T, got screens.Screen, u screens.Update, want *screens.Screen, crop screens.Crop) {
	t.Helper()
	if crop == (screens.Crop{}) && got.Mark() != want.Mark() || got.Cols != want.Cols || got.Rows != want.Rows ||
		got.Title != want.Title || got.Cursor != want.Cursor || got.Reverse != want.Reverse {
		t.Fatalf("%+v\nwant %+v", u, want)
	}
	if crop.Rows == 0 && u.Height != want.Rows || crop.Rows > 0 && u.Height != min(crop.Rows, want.Rows) || crop.Cols > 0 && u.Width != min(crop.Cols, want.Cols) {
		t.Fatalf("the crop %+v of %d×%d is %+v", crop, want.Cols, want.Rows, u)
	}
	for y := u.Top; y < u.Top+u.Height; y++ {
		if a, b := cells(got.Lines[y], u.Width), cells(want.Lines[y], u.Width); !slices.Equal(a, b) || got.Lines[y].Wrapped != want.Lines[y].Wrapped {
			t.Fatalf("row %d is\n%q\nwant\n%q", y, a, b)
		}
	}
}

// TestRecordings: a viewer that applies the rows it gets has the screen that the emulator shows,
// for every recording, cut anywhere, over resizes, whole and cropped.
func TestRecordings(t *testing.T) {
	var files []string
	for _, pattern := range []string{"recordings", "captures"} {
		some, err := filepath.Glob("../../../vt/testdata/" + pattern + "/*.raw")
		if err != nil || len(some) < 5 {
			t.Fatalf("%d %s: %v", len(some), pattern, err)
		}
		files = append(files, some...)
	}
	seed := rand.Uint64()
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(seed, uint64(len(raw))))
			t.Logf("seed %d", seed)
			synctest.Test(t, func(t *testing.T) { replay(t, raw, r, screens.Crop{}) })
			synctest.Test(t, func(t *testing.T) {
				replay(t, raw, r, screens.Crop{Cols: 1 + r.IntN(100), Rows: 1 + r.IntN(30)})
			})
		})
	}
}

// replay feeds a recording in random pieces, and follows it.
func replay(t *testing.T, raw []byte, r *rand.Rand, crop screens.Crop) {
	term, err := vt.New(vt.Options{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	e := &emulated{changed: make(chan struct{})}
	e.show(term)
	v := dial(t, serve(t, screens.NewHub(e)), screens.Look{ID: "a", Rate: 60, Crop: crop})
	var got screens.Screen
	var last screens.Update
	var reader sync.WaitGroup
	defer reader.Wait()
	defer v.Close()
	reader.Go(func() {
		for {
			u, err := v.Next()
			if err != nil {
				return
			}
			got, last = got.Apply(u), u
		}
	})
	for {
		want := e.show(term)
		time.Sleep(time.Second) // of the test's clock: longer than the pause between updates
		synctest.Wait()
		sameShown(t, got, last, want, crop)
		if len(raw) == 0 {
			return
		}
		for range 1 + r.IntN(4) { // the viewer gets some of them
			n := min(1+r.IntN(2000), len(raw))
			_, _ = term.Write(raw[:n]) // never fails
			if raw = raw[n:]; r.IntN(10) == 0 {
				if err := term.Resize(20+r.IntN(100), 5+r.IntN(40)); err != nil {
					t.Fatal(err)
				}
			}
			e.show(term)
			time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond)
		}
	}
}

// TestSlowReader: what a viewer does not read is not kept for it. It gets the newest screen.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term, err := vt.New(vt.Options{Cols: 80, Rows: 24})
		if err != nil {
			t.Fatal(err)
		}
		e := &emulated{changed: make(chan struct{})}
		e.show(term)
		v := dial(t, serve(t, screens.NewHub(e)), screens.Look{ID: "a"})
		var want *screens.Screen
		for i := range 10_000 {
			_, _ = term.Write(fmt.Appendf(nil, "\r\nline %d", i)) // never fails
			want = e.show(term)
			if i%100 == 0 {
				synctest.Wait()
			}
		}
		var got screens.Screen
		updates := 0
		for ; got.Mark() != want.Mark(); updates++ {
			u, err := v.Next()
			if err != nil {
				t.Fatal(err)
			}
			got = got.Apply(u)
		}
		if updates > 3 { // one was being written, one was made
			t.Errorf("%d updates", updates)
		}
		if text := got.Lines[23].Runs[0].Text; text != "line 9999" {
			t.Errorf("the last row is %q", text)
		}
	})
}

// TestEnds: the end of a server, of a viewer, and an older server, as a client sees them.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term, err := vt.New(vt.Options{Cols: 80, Rows: 24})
		if err != nil {
			t.Fatal(err)
		}
		e := &emulated{changed: make(chan struct{})}
		e.show(term)
		hub := screens.NewHub(e)
		c := serve(t, hub)
		v := dial(t, c, screens.Look{ID: "a"})
		if _, err := v.Next(); err != nil {
			t.Fatal(err)
		}
		v.Close()
		if _, err := v.Next(); !errors.Is(err, screens.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		if err := v.Look(nil); !errors.Is(err, screens.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		_, refusal, err := Dial(t.Context(), "http://x/older", c)
		if err == nil || refusal == nil || refusal.StatusCode != http.StatusNotFound {
			t.Fatalf("%+v, %v", refusal, err)
		}
		if text, _ := io.ReadAll(refusal.Body); !strings.Contains(string(text), "older") {
			t.Errorf("the refusal says %q", text)
		}
		refusal.Body.Close()
		last := dial(t, c, screens.Look{ID: "a"})
		if _, err := last.Next(); err != nil {
			t.Fatal(err)
		}
		hub.Close()
		if _, err := last.Next(); err == nil || errors.Is(err, screens.ErrClosed) {
			t.Errorf("the server ended: %v", err)
		}
	})
}
