package vt_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gascity.dev/gc/vt"
)

// TestAppendRows: rows have their renditions and links, but no mode, title or
// colour of the program.
func TestAppendRows(t *testing.T) {
	term := mustNew(t, vt.Options{Cols: 20, Rows: 3})
	term.Write([]byte("\x1b[31mred\x1b[m\r\ntwo\r\nthree\r\n\x1b[?1049h\x1b[?1002h\x1b[?2004h\x1b[?25l\x1b]2;title\a\x1b]11;#000000\a\x1b[>1u" +
		"\x1b[H\x1b[44mblue  \x1b[m\x1b]8;;http://a/\alink\x1b]8;;\a"))
	got := string(term.AppendRows(nil, true))
	want := "\x1b[0;31mred\x1b[m\n\x1b[0;44mblue  \x1b[m\x1b]8;;http://a/\x1b\\link\x1b]8;;\x1b\\\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAppendRowsShows: a terminal of the same size shows the same rows, and its
// other state is unchanged.
func TestAppendRowsShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawTerminal(t)
		term := mustNewRapid(t, o)
		term.Write(onePolicy(drawInput(t, 40)))
		rows := string(term.AppendRows(nil, false))
		host := mustNewRapid(t, vt.Options{Cols: o.Cols, Rows: o.Rows + 1, Width: o.Width})
		host.Write([]byte(strings.ReplaceAll(rows, "\n", "\r\n")))
		for y := range o.Rows {
			if a, b := strings.TrimRight(term.Line(y), " "), strings.TrimRight(host.Line(y), " "); a != b {
				t.Fatalf("row %d %q, shown %q by %q", y, a, b, rows)
			}
		}
		if fresh := mustNewRapid(t, o); fresh.Modes() != host.Modes() {
			t.Fatalf("%q leaves modes %+v", rows, host.Modes())
		}
	})
}
