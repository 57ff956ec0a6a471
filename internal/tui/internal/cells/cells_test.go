package cells

import (
	"strings"
	"testing"

	"gascity.dev/gc/vt"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                      "plain",
		"a\tb":                       "a b",
		"\x1b[31mred\x07":            `\x1b[31mred\a`,
		"c1 \u009b1m":                `c1 \u009b1m`,
		"bidi \u202e\u2066\u200f":    `bidi \u202e\u2066\u200f`,
		"tag \U000e0041, soft\u00ad": `tag \U000e0041, soft\u00ad`,
		"broken \xff":                "broken \ufffd",
		"lines\r\n\u2028":            `lines\r\n\u2028`,
		"👩\u200d💻 日本 e\u0301":        "👩\u200d💻 日本 e\u0301",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		cols int
		want string
		used int
	}{
		{"plain", 5, "plain", 5}, {"plain", 4, "pla…", 4}, {"plain", 1, "…", 1}, {"plain", 0, "", 0}, {"", 3, "", 0},
		{"日本語", 6, "日本語", 6}, {"日本語", 5, "日本…", 5}, {"日本語", 4, "日…", 3}, {"e\u0301e\u0301e", 2, "e\u0301…", 2},
	} {
		if got, used := Cut(c.in, c.cols); got != c.want || used != c.used {
			t.Errorf("%q in %d: %q, %d; want %q, %d", c.in, c.cols, got, used, c.want, c.used)
		}
	}
}

func TestWrap(t *testing.T) {
	for in, want := range map[string]string{
		"one two three": "one two|three", "onetwothree": "onetwoth|ree", "a\n\nb\n": "a||b", "12345678 9": "12345678|9", "日本語日本": "日本語日|本", "": "",
	} {
		if got := strings.Join(Wrap(in, 8), "|"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Wrap("日本", 1); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// lineOf is the first row of a terminal after something was written.
func lineOf(t *testing.T, text string) vt.Line {
	t.Helper()
	term, err := vt.New(vt.Options{Cols: 40, Rows: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := term.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return term.Screen().Lines[0]
}

// shownAs is a row as our own emulator shows it.
func shownAs(t *testing.T, r *Row) *vt.Terminal {
	t.Helper()
	term, err := vt.New(vt.Options{Cols: 60, Rows: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := term.Write(r.Bytes()); err != nil {
		t.Fatal(err)
	}
	return term
}

func TestLine(t *testing.T) {
	c := NewColours("always", true, []string{"TERM=xterm-256color", "COLORTERM=truecolor"})
	for _, x := range []struct {
		name, wrote string
		span        Span
		want        string
		cols        int
	}{
		{"whole", "a日b e\u0301|", Span{Cols: 40}, "a日b e\u0301|", 7},
		{"cropped", "abcdef", Span{From: 2, Cols: 3}, "cde", 3},
		{"half a wide one at both edges", "日本語", Span{From: 1, Cols: 4}, " 本", 4},
		{"bidirectional controls", "a\u202eb", Span{Cols: 40}, "ab", 2},
		{"an emoji of several", "👩\u200d💻x", Span{Cols: 40}, "👩\u200d💻x", 3},
	} {
		x.span.Cursor = -1
		r := At(0)
		r.Line(c, lineOf(t, x.wrote), x.span)
		if got := strings.TrimRight(shownAs(t, &r).Line(0), " "); got != x.want || r.Cols() != x.cols {
			t.Errorf("%s: %q of %d columns, want %q of %d: %q", x.name, got, r.Cols(), x.want, x.cols, r.Bytes())
		}
	}
}

func TestLineLooks(t *testing.T) {
	c := NewColours("always", true, []string{"TERM=xterm-256color", "COLORTERM=truecolor"})
	wrote := "\x1b[1;31mred\x1b[0;38;2;1;2;3;48;5;200mtrue\x1b[0;7mback\x1b[0m"
	r := At(0)
	r.Line(c, lineOf(t, wrote), Span{Cols: 40, Cursor: -1})
	if got, want := shownAs(t, &r).Screen().Lines[0], lineOf(t, wrote); len(got.Runs) != len(want.Runs) || got.Runs[0] != want.Runs[0] || got.Runs[1] != want.Runs[1] || got.Runs[2] != want.Runs[2] {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	// The cursor is where it is, also behind the text, and on what is reversed already.
	r = At(0)
	r.Line(c, lineOf(t, "ab"), Span{Cols: 40, Cursor: 4})
	if runs := shownAs(t, &r).Screen().Lines[0].Runs; len(runs) != 2 || !runs[1].Style.Inverse || runs[0].Text != "ab  " {
		t.Errorf("%+v", runs)
	}
	r = At(0)
	r.Line(c, lineOf(t, "\x1b[7;38;5;7mab"), Span{Cols: 40, Cursor: 1})
	if runs := shownAs(t, &r).Screen().Lines[0].Runs; len(runs) != 2 || runs[1].Style.Inverse || runs[1].Style.FG != "7" {
		t.Errorf("%+v", runs)
	}
	r = At(0)
	r.Line(c, lineOf(t, "ab"), Span{Cols: 4, Cursor: -1, Reverse: true})
	if runs := shownAs(t, &r).Screen().Lines[0].Runs; len(runs) != 1 || runs[0].Text != "ab  " || !runs[0].Style.Inverse {
		t.Errorf("%+v", runs)
	}
}

func TestColours(t *testing.T) {
	s := vt.Style{FG: "#ff0000", BG: "4", Bold: true}
	for _, x := range []struct {
		mode string
		tty  bool
		env  string
		want Look
	}{
		{"auto", true, "TERM=xterm", "1;91;44"},
		{"auto", true, "TERM=xterm-256color", "1;38;5;196;44"},
		{"auto", true, "TERM=xterm-256color COLORTERM=truecolor", "1;38;2;255;0;0;44"},
		{"auto", true, "TERM=xterm-256color NO_COLOR=1", "1"},
		{"auto", false, "TERM=xterm-256color", "1"},
		{"never", true, "TERM=xterm-256color COLORTERM=truecolor", "1"},
		{"auto", true, "TERM=dumb", "1"},
	} {
		if got := NewColours(x.mode, x.tty, strings.Fields(x.env)).Look(s); got != x.want {
			t.Errorf("%s with %s: %q, want %q", x.mode, x.env, got, x.want)
		}
	}
}

// TestJoin: what is beside something begins at its column, also where the terminal measures
// the text before it differently.
func TestJoin(t *testing.T) {
	var left Row
	left.Put("", "日本", 10)
	right := At(12)
	right.Put("1", "right 語 x", 20)
	left.To(10)
	left.Join(12, &right)
	if got := strings.TrimRight(shownAs(t, &left).Line(0), " "); got != "日本        right 語 x" || left.Cols() != 22 {
		t.Errorf("%q, %d columns", got, left.Cols())
	}
	if s := left.String(); !strings.Contains(s, "\x1b[5G") || !strings.Contains(s, "\x1b[23G") || !left.Uneven() {
		t.Errorf("%q", s)
	}
}

func TestFind(t *testing.T) {
	got := Find(lineOf(t, "日 Ab\x1b[1mAB\x1b[0m x"), "ab", "7")
	if len(got) != 2 || got[0] != (Mark{3, 5, "7"}) || got[1] != (Mark{5, 7, "7"}) {
		t.Errorf("%+v", got)
	}
}
