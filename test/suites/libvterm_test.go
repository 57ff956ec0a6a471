//go:build suites

package suites

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gascity.dev/gc/vt"
)

// TestLibvterm runs the assertions of libvterm's t/*.test that are about a terminal:
// the cursor, the screen, the pen, joined rows, and replies to output. What a library
// tells its embedder (glyphs, damage, parsed sequences, selections) and the encoding of
// keys and mice, which is not vt's part, are not judged.
func TestLibvterm(t *testing.T) {
	dir := fetched(t, "libvterm")
	files, err := filepath.Glob(filepath.Join(dir, "t", "*.test"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	r := &results{suite: "libvterm"}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		l := &libvterm{t: t, r: r, file: strings.TrimSuffix(filepath.Base(f), ".test")}
		for i, line := range strings.Split(string(src), "\n") {
			l.number = i + 1
			l.run(strings.TrimSpace(line))
		}
	}
	r.judge(t)
}

// libvterm is one file being run.
type libvterm struct {
	t       *testing.T
	r       *results
	file    string
	number  int
	term    *vt.Terminal
	utf8    bool // text is UTF-8, else Latin-1
	parser  bool // the file is about the parser alone
	pushed  bool // the last command was PUSH: what follows is a reply
	replies []byte
}

var (
	repLine = regexp.MustCompile(`^\$REP\s+(\d+):\s*(.*)$`)
	seqLine = regexp.MustCompile(`^\$SEQ\s+(\d+)\s+(\d+):\s*(.*)$`)
)

func (l *libvterm) run(line string) {
	if m := repLine.FindStringSubmatch(line); m != nil {
		for range number(m[1]) {
			l.run(m[2])
		}
		return
	}
	if m := seqLine.FindStringSubmatch(line); m != nil {
		for n := number(m[1]); n <= number(m[2]); n++ {
			l.run(strings.ReplaceAll(m[3], `\#`, strconv.Itoa(n)))
		}
		return
	}
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case line == "" || line[0] == '#' || line[0] == '!':
	case verb == "INIT":
		l.fresh(25, 80)
	case verb == "UTF8":
		l.utf8 = rest == "1"
		l.encoding()
	case verb == "RESET":
		rows, cols := 25, 80
		if l.term != nil {
			cols, rows = l.term.Size()
		}
		l.fresh(rows, cols)
	case verb == "RESIZE":
		l.resize(rest)
	case verb == "WANTPARSER" || verb == "WANTENCODING":
		l.parser = true
	case verb == "PUSH":
		l.term.Write(perlBytes(l.t, rest))
		l.replies, l.pushed = append([]byte(nil), l.term.TakeReplies()...), true
	case verb == "output":
		if l.pushed && !l.parser {
			l.reply(perlBytes(l.t, rest))
		}
	case line[0] == '?' && !l.parser:
		l.assert(line[1:])
	case verb[0] >= 'A' && verb[0] <= 'Z':
		l.pushed = false
	}
}

func (l *libvterm) fresh(rows, cols int) {
	l.term = newTerm(l.t, vt.Options{Cols: max(cols, vt.MinCols), Rows: rows, Version: "libvterm"})
	l.encoding()
}

// encoding selects UTF-8 or Latin-1, as UTF8 does.
func (l *libvterm) encoding() {
	if l.term != nil && !l.utf8 {
		l.term.Write([]byte("\x1b%@"))
	} else if l.term != nil {
		l.term.Write([]byte("\x1b%G"))
	}
}

func (l *libvterm) resize(rest string) {
	a, b, _ := strings.Cut(rest, ",")
	rows, cols := number(strings.TrimSpace(a)), number(strings.TrimSpace(b))
	if err := l.term.Resize(max(cols, vt.MinCols), rows); err != nil {
		l.t.Fatal(err)
	}
}

// reply takes one expected reply off the front of what the terminal said.
func (l *libvterm) reply(want []byte) {
	name := fmt.Sprintf("%s:%d", l.file, l.number)
	if rest, ok := bytes.CutPrefix(l.replies, want); ok {
		l.replies = rest
		l.r.check(name, "")
		return
	}
	l.r.check(name, fmt.Sprintf("reply %q, libvterm %q", l.replies, want))
}

func (l *libvterm) assert(line string) {
	head, want, ok := strings.Cut(line, "=")
	if !ok {
		l.t.Fatalf("%s:%d: %q", l.file, l.number, line)
	}
	what, arg, _ := strings.Cut(strings.TrimSpace(head), " ")
	arg, want = strings.TrimSpace(arg), strings.TrimSpace(want)
	var got string
	switch what {
	case "cursor":
		c := l.term.Cursor()
		got = fmt.Sprintf("%d,%d", c.Row, c.Col)
	case "screen_row":
		got, want = strings.TrimRight(l.rect(arg), " "), strings.TrimRight(string(runesOf(l.t, want)), " ")
	case "screen_chars":
		got = string([]rune(strings.TrimRight(l.rect(arg), " ")))
		want = string(runesOf(l.t, want))
	case "screen_text":
		got, want = l.rect(arg), string(textOf(l.t, want))
	case "screen_cell":
		got, want = l.cell(arg), strings.Join(strings.Fields(want), " ")
	case "screen_eol":
		row, col := pair(arg)
		got = "0"
		if strings.TrimSpace(textIn(grid(l.term)[row][col:])) == "" {
			got = "1"
		}
	case "lineinfo":
		got = l.lineInfo(number(arg))
	case "pen":
		got = l.pen(arg)
	default: // screen_attrs_extent is a query of the library
		return
	}
	name, text := fmt.Sprintf("%s:%d", l.file, l.number), ""
	if got != want {
		text = fmt.Sprintf("?%s: %q, libvterm %q", strings.TrimSpace(head), got, want)
	}
	l.r.check(name, text)
}

func (l *libvterm) lineInfo(row int) string {
	lines := l.term.Screen().Lines
	if row > 0 && row-1 < len(lines) && lines[row-1].Wrapped {
		return "cont"
	}
	return ""
}

// rect is the text of a rectangle or of one row; rows end at their last character.
func (l *libvterm) rect(arg string) string {
	n := strings.Split(arg, ",")
	cells := grid(l.term)
	if len(n) == 1 {
		return strings.TrimRight(textIn(cells[number(n[0])]), " ")
	}
	var rows []string
	for y := number(n[0]); y < number(n[2]); y++ {
		rows = append(rows, strings.TrimRight(textIn(cells[y][number(n[1]):number(n[3])]), " "))
	}
	return strings.Join(rows, "\n")
}

// cell spells a cell as libvterm does. Its default colours are (240,240,240) on black.
func (l *libvterm) cell(arg string) string {
	row, col := pair(arg)
	c := grid(l.term)[row][col]
	var chars []string
	for _, r := range strings.TrimSuffix(c.text, " ") {
		chars = append(chars, fmt.Sprintf("0x%x", r))
	}
	attrs := ""
	for _, a := range []struct {
		on   bool
		name string
	}{
		{c.style.Bold, "B"}, {c.style.Underline != 0, fmt.Sprintf("U%d", c.style.Underline)},
		{c.style.Italic, "I"}, {c.style.Blink, "K"}, {c.style.Inverse, "R"},
	} {
		if a.on {
			attrs += a.name
		}
	}
	return fmt.Sprintf("{%s} width=%d attrs={%s} fg=%s bg=%s", strings.Join(chars, ","), max(c.width, 1), attrs,
		rgb(c.style.FG, "rgb(240,240,240)"), rgb(c.style.BG, "rgb(0,0,0)"))
}

// rgb spells a colour with libvterm's palette.
func rgb(c vt.Color, def string) string {
	if c == "" {
		return def
	}
	if v, ok := vt.ParseColor(string(c)); ok {
		return fmt.Sprintf("rgb(%d,%d,%d)", v>>16, v>>8&255, v&255)
	}
	n := number(string(c))
	part := func(bit int) int {
		switch {
		case n&7>>bit&1 == 0 && n < 8:
			return 0
		case n < 8:
			return 224
		}
		return 255
	}
	return fmt.Sprintf("rgb(%d,%d,%d)", part(0), part(1), part(2))
}

// pen spells one attribute of the next character as libvterm does.
func (l *libvterm) pen(arg string) string {
	probe := clone(l.t, l.term)
	probe.Write([]byte("\r\x1b[7lX"))
	s := grid(probe)[probe.Cursor().Row][0].style
	onOff := map[bool]string{true: "on", false: "off"}
	switch arg {
	case "bold":
		return onOff[s.Bold]
	case "italic":
		return onOff[s.Italic]
	case "blink":
		return onOff[s.Blink]
	case "reverse":
		return onOff[s.Inverse]
	case "underline":
		return strconv.Itoa(int(s.Underline))
	case "foreground":
		return penColor(s.FG, "rgb(240,240,240,is_default_fg)")
	case "background":
		return penColor(s.BG, "rgb(0,0,0,is_default_bg)")
	}
	return "not a rendition here"
}

func penColor(c vt.Color, def string) string {
	if c == "" {
		return def
	}
	if v, ok := vt.ParseColor(string(c)); ok {
		return fmt.Sprintf("rgb(%d,%d,%d)", v>>16, v>>8&255, v&255)
	}
	return "idx(" + string(c) + ")"
}

func clone(t *testing.T, term *vt.Terminal) *vt.Terminal {
	t.Helper()
	c, err := vt.Restore(term.Snapshot(), vt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// textOf reads a string, or a list of bytes.
func textOf(t *testing.T, s string) []byte {
	if s == "" || strings.HasPrefix(s, `"`) || strings.HasPrefix(s, "'") {
		return perlBytes(t, s)
	}
	return []byte(string(slices.Collect(func(yield func(byte) bool) {
		for _, f := range strings.Split(s, ",") {
			n, err := strconv.ParseUint(strings.TrimSpace(f), 0, 8)
			if err != nil {
				t.Fatal(err)
			}
			if !yield(byte(n)) {
				return
			}
		}
	})))
}

// runesOf reads a string, or a list of code points.
func runesOf(t *testing.T, s string) (runes []rune) {
	if s == "" || strings.HasPrefix(s, `"`) {
		return []rune(string(perlBytes(t, s)))
	}
	for _, f := range strings.Split(s, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(f), 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		runes = append(runes, rune(n))
	}
	return runes
}

var perlPart = regexp.MustCompile(`^\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:x\s*(\d+))?\s*\.?\s*`)

// perlBytes evaluates a Perl expression: strings, repeated with x, joined by dots.
func perlBytes(t *testing.T, s string) (b []byte) {
	for s != "" {
		m := perlPart.FindStringSubmatch(s)
		if m == nil {
			t.Fatalf("not a string: %q", s)
		}
		count := 1
		if m[3] != "" {
			count = number(m[3])
		}
		b = append(b, bytes.Repeat(append(unescape(m[1]), m[2]...), count)...)
		s = s[len(m[0]):]
	}
	return b
}

var escape = regexp.MustCompile(`\\(x\{[0-9a-fA-F]+\}|x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)`)

func unescape(s string) []byte {
	return []byte(escape.ReplaceAllStringFunc(s, func(e string) string {
		e = e[1:]
		switch e[0] {
		case 'e':
			return "\x1b"
		case 'n':
			return "\n"
		case 'r':
			return "\r"
		case 't':
			return "\t"
		case 'b':
			return "\b"
		case 'a':
			return "\a"
		case 'f':
			return "\f"
		case 'x':
			n, _ := strconv.ParseUint(strings.Trim(e[1:], "{}"), 16, 8)
			return string([]byte{byte(n)})
		}
		if e[0] >= '0' && e[0] <= '7' {
			n, _ := strconv.ParseUint(e, 8, 8)
			return string([]byte{byte(n)})
		}
		return e
	}))
}
