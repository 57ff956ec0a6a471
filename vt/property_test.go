package vt_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity.dev/gc/vt"
)

// Properties of the terminal over drawn input: any mix of text, control
// functions with any parameters, strings, and meaningless bytes.

// inputParts put a terminal into an interesting state; the generator mixes them
// with drawn ones.
var inputParts = []string{
	"\r", "\n", "\b", "\t", "\r\n", "\a", "\x0e", "\x0f", "\x7f", "\x00", "\x18", "\x1a",
	"\x1bD", "\x1bE", "\x1bM", "\x1bH", "\x1b7", "\x1b8", "\x1b6", "\x1b9", "\x1bc", "\x1b=", "\x1b>", "\x1b#8",
	"\x1b(0", "\x1b(B", "\x1b)0", "\x1b(A", "\x1bN", "\x1bO", "\x1bn",
	"\x1b[?1049h", "\x1b[?1049l", "\x1b[?47h", "\x1b[?47l", "\x1b[?1047h", "\x1b[?1047l", "\x1b[?1048h", "\x1b[?1048l",
	"\x1b[?6h", "\x1b[?6l", "\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l", "\x1b[20h", "\x1b[20l",
	"\x1b[?69h", "\x1b[?69l", "\x1b[?45h", "\x1b[?5h", "\x1b[?12l", "\x1b[?12h", "\x1b[?25l", "\x1b[?25h", "\x1b[?1h", "\x1b[?66h",
	"\x1b[?1000h", "\x1b[?1002h", "\x1b[?1003h", "\x1b[?1006h", "\x1b[?1000l", "\x1b[?1004h", "\x1b[?2004h", "\x1b[?2004l",
	"\x1b[?2026h", "\x1b[?2026l", "\x1b[?2027h", "\x1b[?2027l", "\x1b[?2031h", "\x1b[?2048h",
	"\x1b[!p", "\x1b[3g", "\x1b[1\"q", "\x1b[0\"q", "\x1b[2 q", "\x1b[5 q", "\x1b[>1u", "\x1b[<u", "\x1b[=5u", "\x1b[>4;2m",
	"\x1b]2;title\a", "\x1b]0;two\x1b\\", "\x1b]8;;http://a/\a", "\x1b]8;id=1;http://b/\x1b\\", "\x1b]8;;\a",
	"\x1b]4;1;#ff0000\a", "\x1b]10;#010203\a", "\x1b]11;?\a", "\x1b]133;A\a", "\x1b]133;C\a", "\x1b]52;c;aGk=\a", "\x1b]7;file:///tmp\a",
	"\x1bP$qm\x1b\\", "\x1bPq#0~~\x1b\\", "\x1b_Gx\x1b\\", "\x1b[c", "\x1b[6n", "\x1b[?7$p", "\x1b[>q",
	"漢", "字漢", "e\u0301", "😀", "👨\u200d👩", "🇩🇪", "❤\ufe0f", "\u0301", "\u200d", "한", "\u1112\u1161\u11ab", "ｱ",
	"\xe2\x82", "\xff", "\xc2", "\xf0\x9f", "\u009b", "\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b[38:2", "\x1b[1;",
}

// drawInput draws what a program might write, valid or not.
func drawInput(t *rapid.T, limit int) []byte {
	var b bytes.Buffer
	for range rapid.IntRange(0, limit).Draw(t, "pieces") {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1, 2:
			b.WriteString(rapid.StringMatching(`[ -~]{1,20}`).Draw(t, "text"))
		case 3, 4:
			b.WriteString(rapid.SampledFrom(inputParts).Draw(t, "part"))
		case 5, 6:
			b.WriteString("\x1b[" + rapid.StringMatching(`[?>=]?([0-9]{0,2}[;:]){0,3}[0-9]{0,2}`).Draw(t, "params"))
			b.WriteString(rapid.SampledFrom(csiFinals).Draw(t, "final"))
		case 7:
			fmt.Fprintf(&b, "\x1b[%d;%dH", rapid.IntRange(0, 12).Draw(t, "row"), rapid.IntRange(0, 30).Draw(t, "col"))
		case 8:
			b.WriteString(rapid.StringMatching(`\x1b\[(0|1|3|4|4:3|7|9|31|44|38;5;99|48;2;1;2;3|58:5:7|53|0;1)m`).Draw(t, "sgr"))
		case 9:
			b.WriteString(rapid.StringOfN(rapid.Rune(), 1, 6, -1).Draw(t, "runes"))
		}
	}
	return b.Bytes()
}

var csiFinals = []string{"@", "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "P", "S", "T", "X", "Z", "`",
	"a", "b", "d", "e", "f", "g", "h", "l", "m", "n", "r", "s", "u", "'}", "'~", "$z", "$x", "${", "$v", "$r", "$t", "*x", "*y",
	"\"q", " q", "!p", "$p", "t", "^", " @", " A", "#{", "#}"}

// onePolicy removes changes of the width policy from input: a host terminal has
// its own, and painting does not change it.
func onePolicy(input []byte) []byte { return bytes.ReplaceAll(input, []byte("?2027"), []byte("?9")) }

func drawTerminal(t *rapid.T) vt.Options {
	return vt.Options{
		Cols:         rapid.IntRange(vt.MinCols, 30).Draw(t, "cols"),
		Rows:         rapid.IntRange(vt.MinRows, 10).Draw(t, "rows"),
		HistoryLines: rapid.SampledFrom([]int{0, -1, 3, 50}).Draw(t, "history"),
		Width:        rapid.SampledFrom([]vt.WidthPolicy{vt.WidthGrapheme, vt.WidthWcwidth}).Draw(t, "width"),
	}
}

func mustNew(t testing.TB, o vt.Options) *vt.Terminal {
	t.Helper()
	term, err := vt.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return term
}

// state is all that a reader can see of a terminal, except its revision.
type state struct {
	Screen  vt.Screen
	Text    string
	Joined  string
	History int
	Pending string
}

func stateOf(t *vt.Terminal) state {
	s := state{
		Screen: t.Screen(), Text: t.Text(vt.TextOptions{}), Joined: t.Text(vt.TextOptions{Join: true}),
		History: t.HistoryLen(), Pending: string(t.Pending()),
	}
	s.Screen.Revision = 0
	return s
}

func diffStates(want, got state) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

func TestSplitAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawTerminal(t)
		input := drawInput(t, 40)
		whole, split := mustNewRapid(t, o), mustNewRapid(t, o)
		whole.Write(input)
		rest := input
		for len(rest) > 0 {
			n := rapid.IntRange(1, min(len(rest), 9)).Draw(t, "write")
			split.Write(rest[:n])
			rest = rest[n:]
		}
		if d := diffStates(stateOf(whole), stateOf(split)); d != "" {
			t.Fatalf("%+v %q:\n%s", o, input, d)
		}
		if a, b := whole.TakeReplies(), split.TakeReplies(); !bytes.Equal(a, b) {
			t.Fatalf("%q: replies %q, split %q", input, a, b)
		}
		if a, b := fmt.Sprint(whole.TakeEvents()), fmt.Sprint(split.TakeEvents()); a != b {
			t.Fatalf("%q: events %s, split %s", input, a, b)
		}
	})
}

func mustNewRapid(t *rapid.T, o vt.Options) *vt.Terminal {
	term, err := vt.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return term
}

// TestDump: the output of ANSI puts a fresh terminal into the same state, and
// later output has the same effect on both.
func TestDump(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawTerminal(t)
		term := mustNewRapid(t, o)
		input := drawInput(t, 40)
		term.Write(input)
		if d := checkDump(term, o, otherAlt(drawInput(t, 6))); d != "" {
			t.Fatalf("%+v %q:\n%s", o, input, d)
		}
	})
}

// otherAlt enters the alternate screen by the mode that clears it: a dump omits
// the screen that is not in use.
func otherAlt(input []byte) []byte {
	for _, n := range []string{"1047", "47"} {
		input = bytes.ReplaceAll(input, []byte(n), []byte("1049"))
	}
	return input
}

func checkDump(term *vt.Terminal, o vt.Options, more []byte) string {
	o.Cols, o.Rows = term.Size()
	fresh, err := vt.New(o)
	if err != nil {
		return err.Error()
	}
	dump := term.ANSI()
	fresh.Write(dump)
	if d := diffStates(stateOf(term), stateOf(fresh)); d != "" {
		return fmt.Sprintf("dump %q:\n%s", dump, d)
	}
	term.Write(more)
	fresh.Write(more)
	if d := diffStates(stateOf(term), stateOf(fresh)); d != "" {
		return fmt.Sprintf("dump %q, then %q:\n%s", dump, more, d)
	}
	return ""
}

func TestSnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawTerminal(t)
		term := mustNewRapid(t, o)
		input, more := drawInput(t, 40), drawInput(t, 10)
		term.Write(input)
		if d := checkSnapshot(term, o, more); d != "" {
			t.Fatalf("%+v %q:\n%s", o, input, d)
		}
	})
}

// checkSnapshot restores a snapshot and writes more to both terminals.
func checkSnapshot(term *vt.Terminal, o vt.Options, more []byte) string {
	o.Cols, o.Rows = term.Size()
	small, err := vt.Restore(vt.DeflateSnapshot(term.Snapshot()), o)
	if err != nil {
		return "deflated: " + err.Error()
	}
	if d := diffStates(stateOf(term), stateOf(small)); d != "" {
		return "restored, deflated:\n" + d
	}
	back, err := vt.Restore(term.Snapshot(), o)
	if err != nil {
		return err.Error()
	}
	if d := diffStates(stateOf(term), stateOf(back)); d != "" {
		return "restored:\n" + d
	}
	term.Write(more)
	back.Write(more)
	if d := diffStates(stateOf(term), stateOf(back)); d != "" {
		return fmt.Sprintf("after %q:\n%s", more, d)
	}
	return ""
}

// TestResizeKeepsText: the text of the primary screen and the history is
// unchanged by any resizes, logical line for logical line.
func TestResizeKeepsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := vt.Options{Cols: rapid.IntRange(2, 30).Draw(t, "cols"), Rows: rapid.IntRange(1, 10).Draw(t, "rows")}
		term := mustNewRapid(t, o)
		var lines []string
		for range rapid.IntRange(0, 15).Draw(t, "lines") {
			lines = append(lines, strings.TrimRight(rapid.StringMatching(`([a-z漢é ]|e\x{301}){0,40}`).Draw(t, "line"), " "))
		}
		term.Write([]byte(strings.Join(lines, "\r\n")))
		before := term.Text(vt.TextOptions{Join: true})
		if want := strings.TrimRight(strings.Join(lines, "\n"), "\n"); strings.TrimRight(before, "\n") != want {
			t.Fatalf("written %q, read %q", want, before)
		}
		for range rapid.IntRange(1, 4).Draw(t, "resizes") {
			cols, rows := rapid.IntRange(2, 60).Draw(t, "cols"), rapid.IntRange(1, 12).Draw(t, "rows")
			if err := term.Resize(cols, rows); err != nil {
				t.Fatal(err)
			}
			if got := term.Text(vt.TextOptions{Join: true}); got != before {
				t.Fatalf("%q, at %dx%d %q", before, cols, rows, got)
			}
		}
		if err := term.Resize(o.Cols, o.Rows); err != nil {
			t.Fatal(err)
		}
		if got := term.Text(vt.TextOptions{Join: true}); got != before {
			t.Fatalf("%q, back again %q", before, got)
		}
	})
}

// TestResizeAny: any input and any size, then the invariants of a dump.
func TestResizeAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawTerminal(t)
		term := mustNewRapid(t, o)
		for range rapid.IntRange(1, 4).Draw(t, "resizes") {
			term.Write(drawInput(t, 15))
			if err := term.Resize(rapid.IntRange(2, 40).Draw(t, "cols"), rapid.IntRange(1, 12).Draw(t, "rows")); err != nil {
				t.Fatal(err)
			}
			checkShape(t, term)
		}
		if d := checkSnapshot(term, o, nil); d != "" {
			t.Fatal(d)
		}
	})
}

// checkShape checks what is true of every terminal at any time.
func checkShape(t interface{ Fatalf(string, ...any) }, term *vt.Terminal) {
	cols, rows := term.Size()
	c := term.Cursor()
	if c.Col < 0 || c.Col >= cols || c.Row < 0 || c.Row >= rows {
		t.Fatalf("cursor %+v outside %dx%d", c, cols, rows)
	}
	if c.PendingWrap && c.Col == 0 && cols > 1 {
		t.Fatalf("pending wrap in column 0: %+v", c)
	}
	text := strings.Split(term.ScreenText(), "\n")
	if len(text) > rows {
		t.Fatalf("%d rows of text on %d rows", len(text), rows)
	}
	for i, row := range text {
		if row != term.Line(i) || strings.HasSuffix(row, " ") {
			t.Fatalf("row %d: %q, Line %q", i, row, term.Line(i))
		}
	}
	if strings.ContainsFunc(term.Title(), func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }) {
		t.Fatalf("title with control characters: %q", term.Title())
	}
}

// TestPaint: the output of AppendPaint gives a fresh host terminal of the same
// size the same visible screen, cursor and modes.
func TestPaint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawTerminal(t)
		term := mustNewRapid(t, o)
		input := onePolicy(drawInput(t, 40))
		term.Write(input)
		host := mustNewRapid(t, vt.Options{Cols: o.Cols, Rows: o.Rows, Width: o.Width})
		paint := term.AppendPaint([]byte("kept"), vt.PaintOptions{})
		if !bytes.HasPrefix(paint, []byte("kept")) {
			t.Fatalf("AppendPaint does not append")
		}
		host.Write(paint[len("kept"):])
		if d := diffVisible(term, host); d != "" {
			t.Fatalf("%+v %q painted %q:\n%s", o, input, paint, d)
		}
		host.Write(vt.AppendReset(nil))
		fresh := mustNewRapid(t, vt.Options{Cols: o.Cols, Rows: o.Rows, Width: o.Width})
		if d := cmp.Diff(fresh.Modes(), host.Modes()); d != "" {
			t.Fatalf("%q: modes after AppendReset:\n%s", input, d)
		}
		if !host.Cursor().Visible {
			t.Fatalf("%q: cursor hidden after AppendReset", input)
		}
	})
}

// diffVisible compares what a person sees.
func diffVisible(term, host *vt.Terminal) string {
	if a, b := screenCells(term), screenCells(host); !reflect.DeepEqual(a, b) {
		for y := range a {
			for x := range a[y] {
				if a[y][x] != b[y][x] {
					return fmt.Sprintf("cell %d,%d %+v, painted %+v", y, x, a[y][x], b[y][x])
				}
			}
		}
	}
	a, b := term.Cursor(), host.Cursor()
	a.PendingWrap, b.PendingWrap = false, false
	if a != b {
		return fmt.Sprintf("cursor %+v, painted %+v", a, b)
	}
	if term.Title() != host.Title() {
		return fmt.Sprintf("title %q, painted %q", term.Title(), host.Title())
	}
	return ""
}

// TestPaintOtherViewport: a smaller or larger client gets a picture that fits.
func TestPaintOtherViewport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		term := mustNewRapid(t, drawTerminal(t))
		term.Write(onePolicy(drawInput(t, 30)))
		o := vt.Options{Cols: rapid.IntRange(2, 40).Draw(t, "cols"), Rows: rapid.IntRange(1, 12).Draw(t, "rows"), Width: term.Width()}
		host := mustNewRapid(t, o)
		host.Write(term.AppendPaint(nil, vt.PaintOptions{Cols: o.Cols, Rows: o.Rows}))
		checkShape(t, host)
		if n := host.HistoryLen(); n != 0 && !term.Modes().AltScreen {
			t.Fatalf("painting scrolled %d lines", n)
		}
	})
}

// TestRevision: it changes whenever anything visible changes, and an empty
// write leaves it.
func TestRevision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		term := mustNewRapid(t, drawTerminal(t))
		for range rapid.IntRange(1, 8).Draw(t, "writes") {
			before, rev := stateOf(term), term.Revision()
			term.Write(drawInput(t, 3))
			after := stateOf(term)
			before.Pending, after.Pending = "", ""
			if !reflect.DeepEqual(before, after) && term.Revision() == rev {
				t.Fatalf("changed and still revision %d:\n%s", rev, cmp.Diff(before, after))
			}
			rev = term.Revision()
			term.Write(nil)
			if term.Revision() != rev {
				t.Fatalf("a write of nothing is a revision")
			}
		}
	})
}

// TestFilter: the filter removes queries, whole or split, and what passes shows
// the same screen.
func TestFilter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := vt.Options{Cols: 20, Rows: 6}
		// REP repeats nothing after a control function, and the filter removes
		// some.
		input := bytes.ReplaceAll(onePolicy(drawInput(t, 30)), []byte("b"), []byte("B"))
		var whole, split vt.HostFilter
		want := whole.Filter(nil, input)
		var got []byte
		for rest := input; len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 9)).Draw(t, "write")
			got = split.Filter(got, rest[:n])
			rest = rest[n:]
		}
		if !bytes.Equal(want, got) {
			t.Fatalf("%q: filtered %q, split %q", input, want, got)
		}
		direct, filtered := mustNewRapid(t, o), mustNewRapid(t, o)
		direct.Write(input)
		filtered.Write(want)
		if whole.Stale() || direct.EightBit() {
			return // it is repainted
		}
		filtered.TakeReplies()
		if d := diffVisible(direct, filtered); d != "" && len(direct.Pending()) == 0 && len(filtered.Pending()) == 0 {
			t.Fatalf("%q filtered to %q shows another screen: %s", input, want, d)
		}
	})
}
