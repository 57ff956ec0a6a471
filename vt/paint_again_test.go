package vt_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity.dev/gc/vt"
)

// TestPaintAgain: painting over an earlier state, after any raw output cut
// anywhere, gives the same result as painting a fresh terminal.
func TestPaintAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawTerminal(t)
		term := mustNewRapid(t, o)
		term.Write(onePolicy(drawInput(t, 20)))
		view := vt.PaintOptions{Cols: o.Cols, Rows: o.Rows}
		if rapid.Bool().Draw(t, "other size") {
			view.Cols, view.Rows = rapid.IntRange(2, 40).Draw(t, "cols"), rapid.IntRange(1, 12).Draw(t, "rows")
		}
		hostOptions := vt.Options{Cols: view.Cols, Rows: view.Rows, Width: o.Width}
		again, fresh := mustNewRapid(t, hostOptions), mustNewRapid(t, hostOptions)
		again.Write(term.AppendPaint(nil, view))
		more := onePolicy(drawInput(t, 20))
		term.Write(more)
		if cut := rapid.IntRange(0, len(more)).Draw(t, "cut"); view.Cols == o.Cols && view.Rows == o.Rows {
			var filter vt.HostFilter // raw output reaches a host terminal through it
			again.Write(filter.Filter(nil, more[:cut]))
		}
		fresh.Write(term.AppendPaint(nil, view))
		view.Again = true
		paint := term.AppendPaint(nil, view)
		again.Write(paint)
		checkPainted(t, paint, fresh, again)
	})
}

// TestPaintContent: so does painting only the content, if the modes are the
// same.
func TestPaintContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawTerminal(t)
		term := mustNewRapid(t, o)
		term.Write(onePolicy(drawInput(t, 20)))
		view := vt.PaintOptions{Cols: rapid.IntRange(2, 40).Draw(t, "cols"), Rows: rapid.IntRange(1, 12).Draw(t, "rows")}
		hostOptions := vt.Options{Cols: view.Cols, Rows: view.Rows, Width: o.Width}
		tooLong, fresh := mustNewRapid(t, hostOptions), mustNewRapid(t, hostOptions)
		tooLong.Write(term.AppendPaint(nil, view))
		modes := term.Modes()
		term.Write(onePolicy(drawInput(t, 20)))
		if view.Cols == o.Cols && view.Rows == o.Rows || modes.SyncUpdate || term.Modes() != modes {
			return
		}
		fresh.Write(term.AppendPaint(nil, view))
		view.Content = true
		paint := term.AppendPaint(nil, view)
		tooLong.Write(paint)
		checkPainted(t, paint, fresh, tooLong)
	})
}

// TestPaintKeepsSoftWraps: a line that wraps on the session's screen wraps on a host
// terminal of the same width, after each kind of paint.
func TestPaintKeepsSoftWraps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := vt.Options{Cols: rapid.IntRange(2, 20).Draw(t, "cols"), Rows: rapid.IntRange(2, 8).Draw(t, "rows")}
		term := mustNewRapid(t, o)
		line := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b c", "https://x.example/", "漢字", "é", "\x1b[31m", "\x1b[44m", "\x1b[m", "\r\n", " ", "\x1b[K"}), 0, 30)
		term.Write([]byte(strings.Join(line.Draw(t, "text"), "")))
		rows := o.Rows + rapid.IntRange(0, 2).Draw(t, "more rows")
		host := mustNewRapid(t, vt.Options{Cols: o.Cols, Rows: rows})
		for _, view := range []vt.PaintOptions{{}, {Again: true}, {Content: true}} {
			view.Cols, view.Rows = o.Cols, rows
			paint := term.AppendPaint(nil, view)
			host.Write(paint)
			text := vt.TextOptions{Join: true, ScreenOnly: true}
			if want, got := strings.TrimRight(term.Text(text), "\n "), strings.TrimRight(host.Text(text), "\n "); got != want {
				t.Fatalf("%+v: painted %q:\n%q, the session has\n%q", view, paint, got, want)
			}
			term.Write([]byte(strings.Join(line.Draw(t, "text"), "")))
		}
	})
}

// checkPainted compares the screens and modes of two host terminals.
func checkPainted(t *rapid.T, paint []byte, want, got *vt.Terminal) {
	if want.Modes().SyncUpdate { // the host is in the middle of the update then
		want.Write([]byte("\x1b[?2026l"))
		got.Write([]byte("\x1b[?2026l"))
	}
	if want.Title() == "" { // the title of a person's terminal is kept
		want.Write([]byte("\x1b]2;" + got.Title() + "\a"))
	}
	if d := diffVisible(want, got); d != "" {
		t.Fatalf("painted %q:\n%s", paint, d)
	}
	a, b := want.Modes(), got.Modes()
	a.Insert, b.Insert = false, false // affects output only
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("painted %q: modes\n%s", paint, cmp.Diff(a, b))
	}
}
