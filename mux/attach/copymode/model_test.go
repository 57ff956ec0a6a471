package copymode

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/vt"
)

// source is the history of a terminal.
type source struct {
	term        *vt.Terminal
	reads, find int
	fail        error
}

func (s *source) Lines(from uint64, count int) (out []vt.Line, at uint64, err error) {
	s.reads++
	at = max(from, s.term.HistoryFirst())
	for n := at; len(out) < count; n++ {
		l, ok := s.term.HistoryLine(n)
		if !ok {
			break
		}
		out = append(out, l)
	}
	return out, at, s.fail
}

func (s *source) Find(pattern string, fold bool, from uint64, back bool) (uint64, bool, error) {
	s.find++
	n, _, ok, _ := s.term.FindLine(pattern, fold, from, back, 1<<30)
	return n, ok, s.fail
}

// view opens copy mode over what output shows on a terminal.
func view(t *testing.T, cols, rows int, output string) (*Model, *source) {
	t.Helper()
	term, err := vt.New(vt.Options{Cols: cols, Rows: rows, HistoryLines: 200_000})
	if err != nil {
		t.Fatal(err)
	}
	term.Write([]byte(strings.ReplaceAll(output, "\n", "\r\n")))
	s := &source{term: term}
	m := Moment{First: term.HistoryFirst(), Closed: term.HistoryTotal(), Screen: term.Screen()}
	if l, ok := term.OpenLine(); ok {
		m.Open = &l
	}
	b, err := Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	return New(s, m, b, cols, rows), s
}

// press types keys as a terminal sends them.
func press(m *Model, input string) (done Done) {
	var scan keys.Scanner
	take := func(tok keys.Token) {
		if _, pressed := keys.Decode(tok); len(pressed) > 0 {
			done = m.Key(pressed)
		}
	}
	scan.Feed([]byte(input), take)
	scan.Flush(take)
	return done
}

// shows paints the view on a terminal and returns its screen.
func shows(t *testing.T, m *Model) *vt.Terminal {
	t.Helper()
	term, err := vt.New(vt.Options{Cols: max(m.cols, 2), Rows: m.rows})
	if err != nil {
		t.Fatal(err)
	}
	term.Write(m.Paint(nil))
	return term
}

// numbered returns n lines.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestTheViewBeginsAsTheScreen(t *testing.T) {
	for name, output := range map[string]string{
		"empty": "", "short": "one\ntwo\n$ ", "scrolled": numbered(100) + "$ ", "wrapped": strings.Repeat("wrap ", 100) + "\nend",
		"wide": strings.Repeat("漢字かな", 40) + "é e\u0301 👩‍👩‍👧 x\n", "colours": numbered(30) + "\x1b[31;1mred \x1b[48;2;1;2;3mback\x1b[m plain\n",
		"alternate": numbered(50) + "\x1b[?1049h\x1b[5;5Hfull screen",
	} {
		t.Run(name, func(t *testing.T) {
			m, s := view(t, 40, 10, output)
			m.message = ""
			got, want := shows(t, m).Screen(), s.term.Screen()
			for y := range want.Lines {
				if y == 0 { // the place is shown there
					continue
				}
				if fmt.Sprint(got.Lines[y].Runs) != fmt.Sprint(want.Lines[y].Runs) {
					t.Errorf("row %d: %v, want %v", y, got.Lines[y].Runs, want.Lines[y].Runs)
				}
			}
			if got.Cursor.Row != want.Cursor.Row {
				t.Errorf("the cursor is in row %d, want %d", got.Cursor.Row, want.Cursor.Row)
			}
		})
	}
}

func TestMoves(t *testing.T) {
	long := strings.Repeat("0123456789", 5) // 5 rows of 10
	for _, c := range []struct{ name, output, keys, under, text string }{
		{"up", numbered(30) + "end", "0kk", "l", "line 28"},
		{"arrows", numbered(30) + "end", "\x1b[A\x1b[A\x1b[B\x1b[C\x1b[D", "n", "line 29"},
		{"emacs", numbered(30) + "end", "\x10\x10\x0e\x01", "l", "line 29"},
		{"the oldest", numbered(30), "g", "l", "line 0"},
		{"the end", numbered(30) + "end", "gG", "e", "end"},
		{"pages", numbered(30) + "end", "0\x1b[5~\x1b[5~\x1b[6~", "l", "line 26"},
		{"words", "one two.three  four\n", "kk0www", "t", "one two.three  four"},
		{"words back", "one two.three  four\n", "k$bb", "t", "one two.three  four"},
		{"word ends", "one two.three  four\n", "kk0ee", "o", "one two.three  four"},
		{"line ends", "abc def\n", "k$", "f", "abc def"},
		{"first character", "   abc\n", "k^", "a", "   abc"},
		{"in a wrapped line", long + "\nend", "kk0", "0", long},
		{"screen rows", numbered(30) + "end", "0H", "l", "line 26"},
		{"wide characters", "漢字かな\nabcd", "kl", "か", "漢字かな"},
		{"over line ends", "ab\ncd", "0hh", "a", "ab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _ := view(t, 10, 5, c.output)
			press(m, c.keys)
			l := m.line(m.cursor.line)
			if text := l.text(0, len(l.glyphs)); text != c.text || l.text(m.cursor.at, m.cursor.at+1) != c.under {
				t.Errorf("on %q of %q, want %q of %q", l.text(m.cursor.at, m.cursor.at+1), text, c.under, c.text)
			}
			if at := m.spotOf(m.cursor); at.before(m.top) {
				t.Error("the cursor is above the view")
			} else if last, _ := m.down(m.top, m.rows-1); last.before(at) {
				t.Error("the cursor is below the view")
			}
		})
	}
}

func TestCopies(t *testing.T) {
	url := "https://example.org/" + strings.Repeat("0123456789", 4)
	for _, c := range []struct{ name, output, keys, want string }{
		{"characters", "one two three\n", "k0wvey", "two"},
		{"backwards", "one two three\n", "k$vby", "three"},
		{"lines", numbered(3), "gVjy", "line 0\nline 1\n"},
		{"over lines", numbered(30), "g vjj$\r", "line 0\nline 1\nline 2"},
		{"a soft wrap", "x " + url + "\nend", "gwvG0hy", url},
		{"a soft wrap, into the history", numbered(2) + url + "\n" + numbered(4), "gjjV\r", url + "\n"},
		{"a block", "abcd\nefgh\nijkl\n", "gl\x16jjly", "bc\nfg\njk"},
		{"the other end", "one two three\n", "k0wveo0y", "one two"},
		{"wide", "漢字かな!\n", "k0lvlly", "字かな"},
		{"combining", "e\u0301a\n", "k0vy", "e\u0301"},
		{"all of a long history", numbered(3000), "gVGky", numbered(3000)},
		{"nothing", "abc", "y", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _ := view(t, 12, 4, c.output)
			keys := strings.Replace(c.keys, " v", "", 1)
			if strings.Contains(c.keys, " v") {
				keys = strings.Replace(c.keys, " v", "v", 1)
			}
			done := press(m, keys)
			if done.Text != c.want || done.Copied != (c.want != "") || done.Left != done.Copied {
				t.Errorf("copied %q, %+v, want %q", done.Text, done.Left, c.want)
			}
		})
	}
}

func TestSearch(t *testing.T) {
	output := numbered(5000) + "a Needle on the screen\n漢字 needle\nend"
	m, s := view(t, 40, 6, output)
	at := func(step string, want string) {
		t.Helper()
		l := m.line(m.cursor.line)
		if got := l.text(m.cursor.at, len(l.glyphs)); got != want {
			t.Errorf("%s: on %q, want %q (%s)", step, got, want, m.message)
		}
	}
	press(m, "?needle\r")
	at("upwards", "needle")
	press(m, "n")
	at("next", "Needle on the screen")
	press(m, "/Needle\r")
	at("case, over the end", "Needle on the screen")
	press(m, "?LINE 7\x7f7\r")
	at("not found", "Needle on the screen")
	press(m, "?line 77\r")
	at("in the history", "line 779")
	press(m, "n")
	at("next in the history", "line 778")
	press(m, "N")
	at("back", "line 779")
	press(m, "g/e 499\r")
	at("downwards", "e 499")
	press(m, "/4999\x7f\x7f\x7f\x7f\x7f")
	if m.prompt != nil {
		t.Error("Backspace in an empty prompt does not end it")
	}
	if s.find > 8 || s.reads > 14 {
		t.Errorf("%d searches and %d pages were requested", s.find, s.reads)
	}
	screen := shows(t, m).Screen()
	found := false
	for _, l := range screen.Lines {
		for _, r := range l.Runs {
			found = found || r.Text == "e 499" && r.Style.BG == "3"
		}
	}
	if !found {
		t.Errorf("the match is not shown: %+v", screen.Lines)
	}
}

// TestSearchOfALongHistory reads what it shows only.
func TestSearchOfALongHistory(t *testing.T) {
	m, s := view(t, 80, 24, "the needle\n"+numbered(100_000))
	press(m, "?needle\r")
	if m.cursor.line != 0 || s.find != 1 || s.reads > 2 {
		t.Errorf("line %d after %d searches and %d pages", m.cursor.line, s.find, s.reads)
	}
}

// TestOutputMovesNothing: what comes after the view was opened is not in it.
func TestOutputMovesNothing(t *testing.T) {
	m, s := view(t, 20, 5, numbered(50)+"end")
	press(m, "kkk")
	before := shows(t, m).ScreenText()
	s.term.Write([]byte(strings.ReplaceAll(numbered(5000), "\n", "\r\n")))
	press(m, "jk")
	if after := shows(t, m).ScreenText(); after != before {
		t.Errorf("was\n%s\nis\n%s", before, after)
	}
	press(m, "G/line 40\r")
	if m.line(m.cursor.line).text(0, 9) != "line 40" || m.cursor.line != 40 {
		t.Errorf("found in line %d", m.cursor.line)
	}
}

// TestLinesThatAreGone: lines that the history dropped meanwhile are blank, and nothing fails.
func TestLinesThatAreGone(t *testing.T) {
	m, s := view(t, 20, 5, numbered(2000))
	s.term.ClearHistory()
	press(m, "g")
	press(m, "jjjVGy")
	shows(t, m)
}

func TestTwoColumns(t *testing.T) {
	m, _ := view(t, 2, 1, "漢a漢\n")
	for _, keys := range []string{"g", "l", "l", "$", "k", "v", "?a\r", "H", "\x1b[5~"} {
		press(m, keys)
		shows(t, m)
	}
	m.Resize(1, 1)
	shows(t, m)
}

func TestResizeKeepsThePlace(t *testing.T) {
	m, _ := view(t, 40, 10, strings.Repeat("some text that wraps, and more of it that wraps again\n", 100))
	press(m, "gjjjjjjjjjjjjjjjjjjjj")
	was := m.cursor
	for _, size := range [][2]int{{20, 5}, {7, 3}, {200, 50}, {2, 1}, {40, 10}} {
		m.Resize(size[0], size[1])
		shows(t, m)
		if m.cursor != was {
			t.Errorf("the cursor moved to %v from %v", m.cursor, was)
		}
	}
}

func TestAnErrorIsShown(t *testing.T) {
	m, s := view(t, 40, 5, numbered(100))
	s.fail = errors.New("no answer")
	press(m, "g")
	if !strings.Contains(shows(t, m).ScreenText(), "no answer") {
		t.Errorf("shown:\n%s", shows(t, m).ScreenText())
	}
	s.fail = nil
	press(m, "G")
	press(m, "g")
	if !strings.Contains(shows(t, m).ScreenText(), "line 0") {
		t.Errorf("shown:\n%s", shows(t, m).ScreenText())
	}
}

func TestBind(t *testing.T) {
	b, err := Bind(map[string][]string{"up": {"ctrl-q"}, "quit": {"k"}, "copy": nil})
	if err != nil {
		t.Fatal(err)
	}
	q, _ := keys.ParseKey("ctrl-q")
	k, _ := keys.ParseKey("k")
	y, _ := keys.ParseKey("y")
	if b.keys[q] != "up" || b.keys[k] != "quit" || b.keys[y] != "" {
		t.Errorf("bound %v", b.keys)
	}
	for name, changes := range map[string]map[string][]string{
		"unknown action": {"upp": {"k"}}, "unknown key": {"up": {"Upp"}}, "twice": {"up": {"z"}, "down": {"z"}},
	} {
		if _, err := Bind(changes); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if all, _ := Bind(nil); len(all.Help()) != len(commands()) {
		t.Errorf("help:\n%s", strings.Join(all.Help(), "\n"))
	}
}
