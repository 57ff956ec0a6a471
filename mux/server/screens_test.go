package server

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// looker is a viewer, and the screens that its updates make.
type looker struct {
	t *testing.T
	screens.Viewer
	shown map[string]screens.Screen
	bytes int // of text that it got
}

func looks(t *testing.T, c *client.Client, all ...screens.Look) *looker {
	t.Helper()
	v, err := c.Screens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	if err := v.Look(all); err != nil {
		t.Fatal(err)
	}
	return &looker{t: t, Viewer: v, shown: map[string]screens.Screen{}}
}

// until reads updates until a screen is as wanted, and returns the last update.
func (l *looker) until(what string, ok func(map[string]screens.Screen) bool) (u screens.Update) {
	l.t.Helper()
	for !ok(l.shown) {
		var err error
		if u, err = l.Next(); err != nil {
			l.t.Fatalf("%s: %v; %+v", what, err, l.shown)
		}
		l.shown[u.ID] = l.shown[u.ID].Apply(u)
		for _, r := range u.Changed {
			for _, run := range r.Line.Runs {
				l.bytes += len(run.Text)
			}
		}
	}
	return u
}

func rowsOf(s screens.Screen) string {
	var b strings.Builder
	for _, l := range s.Lines {
		for _, r := range l.Runs {
			b.WriteString(r.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestScreens: a viewer sees a session begin, print, change its size and title, end, begin anew
// and vanish, each as an update with the rows that changed.
func TestScreens(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	l := looks(t, c, screens.Look{ID: "a"})
	is := func(state, text string) func(map[string]screens.Screen) bool {
		return func(all map[string]screens.Screen) bool {
			return all["a"].State == state && strings.Contains(rowsOf(all["a"]), text)
		}
	}
	l.until("no session", is(screens.Gone, ""))
	first := create(t, c, "a", "printf 'one\\ntwo\\n'; read x; printf 'three\\033]0;title\\007'; read x; exit 3")
	l.until("its output", is(screens.Running, "two"))
	if err := c.Keys(t.Context(), "a", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	u := l.until("more output", is(screens.Running, "three"))
	if u.Full || len(u.Changed) > 2 || u.Incarnation != first.ID {
		t.Errorf("after a row: %+v", u)
	}
	l.until("its title", func(all map[string]screens.Screen) bool { return all["a"].Title == "title" })
	if err := c.Resize(t.Context(), "a", 50, 10); err != nil {
		t.Fatal(err)
	}
	if u := l.until("its size", func(all map[string]screens.Screen) bool { return all["a"].Cols == 50 }); !u.Full || u.Rows != 10 || len(u.Changed) != 10 {
		t.Errorf("another size: %+v", u)
	}
	if err := c.Keys(t.Context(), "a", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	l.until("its end", is(screens.Exited, "three"))
	create(t, c, "a", "echo again; exec cat")
	l.until("another one of its name", is(screens.Running, "again"))
	if got := l.shown["a"]; got.Incarnation == first.ID || strings.Contains(rowsOf(got), "three") {
		t.Errorf("%+v", got)
	}
	if err := c.Rename(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	if err := l.Look([]screens.Look{{ID: "a"}, {ID: "b"}}); err != nil {
		t.Fatal(err)
	}
	l.until("its new name", func(all map[string]screens.Screen) bool { return all["b"].State == screens.Running })
	if err := c.Kill(t.Context(), "b", 0); err != nil {
		t.Fatal(err)
	}
	l.until("it was removed", func(all map[string]screens.Screen) bool { return all["b"].State == screens.Gone })
}

// TestScreensEqualPeek: what updates make of a session that plays a recording is what peek shows.
func TestScreensEqualPeek(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../vt/testdata/captures/*.raw")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	c := startServer(t)
	var all []screens.Look
	for i, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("s%d", i)
		all = append(all, screens.Look{ID: name, Rate: 60})
		create(t, c, name, "stty raw -echo; cat '"+path+"'; exec sleep 100000")
	}
	l := looks(t, c, all...)
	for i := range all {
		name := all[i].ID
		if _, err := c.Wait(t.Context(), name, api.WaitRequest{Conditions: []api.Condition{{Quiet: 300e6}}}); err != nil {
			t.Fatal(err)
		}
		p, err := c.Peek(t.Context(), api.PeekRequest{Name: name, Screen: true, Format: api.FormatJSON})
		if err != nil {
			t.Fatal(err)
		}
		l.until(name, func(all map[string]screens.Screen) bool { return all[name].Revision == p.Revision })
		got := l.shown[name]
		if got.Cols != p.Screen.Cols || got.Cursor != p.Screen.Cursor || got.Title != p.Screen.Title || got.Incarnation != p.ID {
			t.Errorf("%s: %+v, want %+v", files[i], got, p.Screen)
		}
		for y := range p.Screen.Lines {
			if !reflect.DeepEqual(got.Lines[y], p.Screen.Lines[y]) {
				t.Errorf("%s: row %d is %+v, want %+v", files[i], y, got.Lines[y], p.Screen.Lines[y])
			}
		}
	}
}

// TestScreensOfASlowViewer: a viewer that does not read while a session prints 8 MB slows nothing,
// and gets the newest screen, not what it slept through.
func TestScreensOfASlowViewer(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "flood", "read x; head -c 8000000 /dev/zero | tr '\\0' x | fold -w 99; echo; echo the very end; exec cat")
	l := looks(t, c, screens.Look{ID: "flood", Rate: 60})
	if err := c.Keys(t.Context(), "flood", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	await(t, c, "flood", "^the very end")
	l.until("the end", func(all map[string]screens.Screen) bool {
		return strings.Contains(rowsOf(all["flood"]), "the very end")
	})
	if l.bytes > 1<<20 {
		t.Errorf("it got %d bytes of text when it woke", l.bytes)
	}
}

// TestScreensEnd: a viewer learns that its server was killed; a crop is what it asked for; what is
// no WebSocket is refused, and a viewer that sends anything but looks is closed.
func TestScreensEnd(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "a", "seq 30; exec cat")
	await(t, c, "a", "^30")
	l := looks(t, c, screens.Look{ID: "a", Crop: screens.Crop{Cols: 1, Rows: 2}})
	u := l.until("a crop", func(all map[string]screens.Screen) bool { return all["a"].State != "" })
	if got := strings.TrimSpace(rowsOf(l.shown["a"])); u.Height != 2 || u.Width != 1 || got != "2\n3" {
		t.Errorf("%+v shows %q", u, got)
	}
	if err := l.Look(make([]screens.Look, screens.MaxLooks+1)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Next(); !errors.Is(err, api.ErrUnreachable) {
		t.Errorf("too many looks: %v", err)
	}
	if resp, err := c.Do(t.Context(), http.MethodGet, "/v1/screens", nil); !errors.Is(err, api.ErrRequest) {
		t.Errorf("without a WebSocket: %v, %v", resp, err)
	}
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l = looks(t, c, screens.Look{ID: "a"})
	l.until("its screen", func(all map[string]screens.Screen) bool { return all["a"].State == screens.Running })
	if err := unix.Kill(st.Server.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Next(); !errors.Is(err, api.ErrUnreachable) {
		t.Errorf("a killed server: %v", err)
	}
	awaitSuccessor(t, c, st.Server.PID)
	l = looks(t, c, screens.Look{ID: "a"})
	l.until("its screen again", func(all map[string]screens.Screen) bool { return strings.Contains(rowsOf(all["a"]), "30") })
}
