package screens

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/vt"
)

// fake is a source whose sessions a test paints.
type fake struct {
	mu      sync.Mutex
	shown   map[string]*Screen
	broken  error
	changed chan struct{}
	waiting int // calls of Next under way
	asked   int
}

func newFake() *fake { return &fake{shown: map[string]*Screen{}, changed: make(chan struct{})} }

func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	close(f.changed)
	f.changed = make(chan struct{})
}

// show paints a session of 10 columns.
func (f *fake) show(id string, rev uint64, rows ...string) {
	s := &Screen{State: Running, Incarnation: "i", Revision: rev, Cols: 10, Rows: len(rows)}
	for _, text := range rows {
		l := vt.Line{}
		if text != "" {
			l.Runs = []vt.Run{{Text: text}}
		}
		s.Lines = append(s.Lines, l)
	}
	f.set(func() { f.shown[id] = s })
}

func (f *fake) Next(ctx context.Context, id string, after Mark, _ float64) (*Screen, error) {
	f.mu.Lock()
	f.waiting++
	f.mu.Unlock()
	defer func() { f.mu.Lock(); f.waiting--; f.mu.Unlock() }()
	for {
		f.mu.Lock()
		s, err, changed := f.shown[id], f.broken, f.changed
		f.asked++
		f.mu.Unlock()
		if s == nil {
			s = &Screen{State: Gone}
		}
		if err != nil || s.Mark() != after {
			return s, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// next is the viewer's next update.
func next(t *testing.T, v Viewer) Update {
	t.Helper()
	u, err := v.Next()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// text is the changed rows as "Y:text ".
func text(u Update) (s string) {
	for _, r := range u.Changed {
		s += fmt.Sprintf("%d:", r.Y)
		for _, run := range r.Line.Runs {
			s += run.Text
		}
		s += " "
	}
	return s
}

func look(t *testing.T, v Viewer, looks ...Look) {
	t.Helper()
	if err := v.Look(looks); err != nil {
		t.Fatal(err)
	}
}

// TestChangedRows: a viewer gets all rows, then those that changed.
func TestChangedRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		h := NewHub(f)
		defer h.Close()
		f.show("a", 1, "one", "two", "three")
		v := h.View()
		look(t, v, Look{ID: "a"})
		if u := next(t, v); !u.Full || text(u) != "0:one 1:two 2:three " || u.Revision != 1 {
			t.Errorf("%+v", u)
		}
		f.show("a", 2, "one", "2", "three")
		if u := next(t, v); u.Full || text(u) != "1:2 " || u.Revision != 2 {
			t.Errorf("%+v", u)
		}
		f.show("a", 3, "one", "2")
		if u := next(t, v); !u.Full || u.Rows != 2 || text(u) != "0:one 1:2 " {
			t.Errorf("after a resize: %+v", u)
		}
		f.set(func() { s := *f.shown["a"]; s.State = Exited; f.shown["a"] = &s })
		if u := next(t, v); u.State != Exited || u.Full || len(u.Changed) != 0 {
			t.Errorf("after the end: %+v", u)
		}
		f.set(func() { delete(f.shown, "a") })
		if u := next(t, v); u.State != Gone {
			t.Errorf("after it was removed: %+v", u)
		}
	})
}

// TestApply: the rows of the updates make the source's screen.
func TestApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		h := NewHub(f)
		defer h.Close()
		v := h.View()
		look(t, v, Look{ID: "a"})
		var s Screen
		for i, rows := range [][]string{{"x", "y"}, {"x", "z"}, {"", "z", "more"}, {"", "", ""}, {"x"}} {
			f.show("a", uint64(i+1), rows...)
			for s.Revision != uint64(i+1) {
				s = s.Apply(next(t, v))
			}
			want := f.shown["a"]
			for y := range want.Lines {
				if !sameLine(&s.Lines[y], &want.Lines[y]) {
					t.Errorf("step %d: row %d is %v, want %v", i, y, s.Lines[y], want.Lines[y])
				}
			}
			if s.Mark() != want.Mark() || len(s.Lines) != len(want.Lines) {
				t.Errorf("step %d: %+v, want %+v", i, s, want)
			}
		}
	})
}

// TestSlowViewerGetsTheNewest: a viewer that does not read costs nobody anything, and
// reads one update.
func TestSlowViewerGetsTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		h := NewHub(f)
		defer h.Close()
		f.show("a", 1, "0", "same")
		slow, quick := h.View(), h.View()
		look(t, slow, Look{ID: "a"})
		look(t, quick, Look{ID: "a"})
		next(t, slow)
		next(t, quick)
		for i := range 100 {
			f.show("a", uint64(i+2), fmt.Sprint(i+1), "same")
			if u := next(t, quick); u.Revision != uint64(i+2) {
				t.Fatalf("the quick viewer got %d, want %d", u.Revision, i+2)
			}
		}
		if u := next(t, slow); u.Revision != 101 || text(u) != "0:100 " {
			t.Errorf("the slow viewer got %+v", u)
		}
		got := make(chan Update, 1)
		go func() {
			if u, err := slow.Next(); err == nil {
				got <- u
			}
		}()
		time.Sleep(time.Hour)
		if len(got) > 0 {
			t.Errorf("a backlog: %+v", <-got)
		}
		slow.Close()
	})
}

// TestRate: a session that prints all the time is shown as often as the fastest viewer
// asks, and each viewer gets its own rate.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		h := NewHub(f)
		defer h.Close()
		var flood sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		flood.Go(func() {
			for i := uint64(1); sleep(ctx, time.Millisecond); i++ {
				f.show("a", i, fmt.Sprint(i))
			}
		})
		counts := make([]int, 2)
		var viewers sync.WaitGroup
		for i, rate := range []float64{20, 2} {
			v := h.View()
			look(t, v, Look{ID: "a", Rate: rate})
			viewers.Go(func() {
				for {
					if _, err := v.Next(); err != nil {
						return
					}
					counts[i]++
				}
			})
			time.AfterFunc(10*time.Second, func() { v.Close() })
		}
		viewers.Wait()
		f.mu.Lock()
		asked := f.asked
		f.mu.Unlock()
		cancel()
		flood.Wait()
		if counts[0] < 190 || counts[0] > 202 || counts[1] < 19 || counts[1] > 22 {
			t.Errorf("%v updates in 10 s at 20/s and 2/s", counts)
		}
		if asked > 2*203 {
			t.Errorf("the source was asked %d times", asked)
		}
	})
}

// TestOneWatch: a session has one watch, however many viewers, and none without one.
func TestOneWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		h := NewHub(f)
		defer h.Close()
		var views []Viewer
		for range 50 {
			v := h.View()
			look(t, v, Look{ID: "a"}, Look{ID: "b"})
			views = append(views, v)
		}
		synctest.Wait()
		f.mu.Lock()
		waiting := f.waiting
		f.mu.Unlock()
		if h.Watched() != 2 || waiting > 2 {
			t.Errorf("%d watches, %d calls", h.Watched(), waiting)
		}
		for _, v := range views {
			look(t, v, Look{ID: "b"})
		}
		if h.Watched() != 1 {
			t.Errorf("%d watches of one session", h.Watched())
		}
		for _, v := range views {
			v.Close()
		}
		synctest.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		if h.Watched() != 0 || f.waiting != 0 {
			t.Errorf("%d watches and %d calls without viewers", h.Watched(), f.waiting)
		}
	})
}

// TestSourceAway: while the source fails, the last rows stay with the reason; when it is
// back, the screen is sent on.
func TestSourceAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		h := NewHub(f)
		defer h.Close()
		f.show("a", 1, "one")
		v := h.View()
		look(t, v, Look{ID: "a"})
		next(t, v)
		f.set(func() { f.broken = errors.New("killed") })
		f.show("a", 2, "two")
		u := next(t, v)
		if u.State != Unknown || u.Why != "killed" || u.Full || len(u.Changed) != 0 {
			t.Errorf("%+v", u)
		}
		f.set(func() { f.broken = nil })
		if u := next(t, v); u.State != Running || text(u) != "0:two " {
			t.Errorf("%+v", u)
		}
	})
}

// TestCrop: a crop has the last rows with text and the first columns; a wide character is
// never cut in two, and what changes elsewhere is not sent.
func TestCrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		h := NewHub(f)
		defer h.Close()
		f.show("a", 1, "0123456789", "one", "two", "three", "")
		v := h.View()
		look(t, v, Look{ID: "a", Crop: Crop{Rows: 2, Cols: 4}})
		if u := next(t, v); u.Top != 2 || u.Height != 2 || u.Width != 4 || text(u) != "2:two 3:thre " {
			t.Errorf("%+v", u)
		}
		f.show("a", 2, "changed", "one", "two", "threeX", "")
		f.show("a", 3, "changed", "one", "2", "threeX", "")
		if u := next(t, v); u.Revision != 3 || text(u) != "2:2 " {
			t.Errorf("%+v", u)
		}
		look(t, v, Look{ID: "a", Crop: Crop{Rows: 1}})
		if u := next(t, v); !u.Full || text(u) != "3:threeX " {
			t.Errorf("another crop: %+v", u)
		}
	})
	p := part{width: 4}
	for text, want := range map[[2]string]string{
		{"abc漢x", "11121"}:              "abc",
		{"漢字x", "221"}:                  "漢字",
		{"e\u0301bcde", "101111"}:       "e\u0301bcd",
		{"ab👩\u200d💻xy", "1120011"[:7]}: "ab👩\u200d💻",
	} {
		l := p.cut(vt.Line{Runs: []vt.Run{{Text: text[0], Columns: text[1]}, {Text: "more"}}}, 10)
		if len(l.Runs) != 1 || l.Runs[0].Text != want {
			t.Errorf("%q: %+v, want %q", text, l, want)
		}
	}
}

// TestClosed: a closed viewer and a closed hub end Next.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(newFake())
		a, b := h.View(), h.View()
		time.AfterFunc(time.Second, func() { a.Close() })
		if _, err := a.Next(); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if err := a.Look([]Look{{ID: "x"}}); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if err := b.Look(make([]Look, MaxLooks+1)); err == nil {
			t.Error("a list without limit")
		}
		time.AfterFunc(time.Second, h.Close)
		if _, err := b.Next(); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}
