package suites

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gascity.dev/gc/vt"
)

// TestFacts runs the cases of testdata, one suite a file. They are facts about a
// terminal that a public suite tests, in our own words:
//
//	# comment
//	! name of a case
//	size 80x24          the terminal of this case, 80x24 without this line
//	> bytes             what the program writes, with \e, \n, \xHH and "\s" for a space
//	@ 3,4               the cursor: row and column from 1
//	+ 3,4 = text        the text that begins at a row and a column
//	= 3 text            a row of the screen, without blanks at its end
//	? bytes             the replies since the last of these lines
//	title text          the title
//	style 3,4 = bold    the rendition of a cell, "-" for none
func TestFacts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no facts: %v", err)
	}
	for _, f := range files {
		suite := strings.TrimSuffix(filepath.Base(f), ".txt")
		t.Run(suite, func(t *testing.T) {
			r := &results{suite: suite}
			for _, c := range loadFacts(t, f) {
				r.check(c.name, c.run(t))
			}
			r.judge(t)
		})
	}
}

// fact is a case: its lines after the name.
type fact struct {
	name       string
	cols, rows int
	lines      []string
}

func loadFacts(t *testing.T, path string) (all []fact) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(src), "\n") {
		name, isName := strings.CutPrefix(line, "! ")
		switch {
		case line == "" || line[0] == '#':
		case isName:
			all = append(all, fact{name: name, cols: 80, rows: 24})
		case len(all) == 0:
			t.Fatalf("%s:%d: a line before the first case", path, i+1)
		default:
			c := &all[len(all)-1]
			if size, ok := strings.CutPrefix(line, "size "); ok {
				if _, err := fmt.Sscanf(size, "%dx%d", &c.cols, &c.rows); err != nil {
					t.Fatalf("%s:%d: %v", path, i+1, err)
				}
				continue
			}
			c.lines = append(c.lines, line)
		}
	}
	return all
}

// run returns what differs, "" for nothing.
func (c fact) run(t *testing.T) string {
	t.Helper()
	term := newTerm(t, vt.Options{Cols: c.cols, Rows: c.rows})
	for _, line := range c.lines {
		verb, rest, _ := strings.Cut(line, " ")
		var got, want string
		switch verb {
		case ">":
			term.Write([]byte(unescaped(t, rest)))
			continue
		case "@":
			at := term.Cursor()
			got, want = fmt.Sprintf("%d,%d", at.Row+1, at.Col+1), rest
		case "=":
			n, text, _ := strings.Cut(rest, " ")
			got, want = strings.TrimRight(term.Line(number(n)-1), " "), unescaped(t, text)
		case "+":
			where, text, _ := strings.Cut(rest, " =")
			want = unescaped(t, strings.TrimPrefix(text, " "))
			got = textAt(term, where)
			if strings.HasPrefix(got, want) {
				continue
			}
		case "?":
			got, want = string(term.TakeReplies()), unescaped(t, rest)
		case "title":
			got, want = term.Title(), unescaped(t, rest)
		case "style":
			where, text, _ := strings.Cut(rest, " = ")
			row, col := pair(where)
			got, want = styleOf(grid(term)[row-1][col-1]), text
		default:
			t.Fatalf("%s: %q", c.name, line)
		}
		if got != want {
			return fmt.Sprintf("%s\ngot  %q\nwant %q", line, got, want)
		}
	}
	return ""
}

// textAt is the text from a cell to the end of its row.
func textAt(term *vt.Terminal, where string) string {
	row, col := pair(where)
	return textIn(grid(term)[row-1][col-1:])
}

func textIn(cells []cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.text)
	}
	return b.String()
}

// styleOf spells a rendition.
func styleOf(c cell) string {
	var words []string
	s := c.style
	for _, w := range []struct {
		on   bool
		name string
	}{
		{s.Bold, "bold"}, {s.Faint, "faint"}, {s.Italic, "italic"}, {s.Underline != 0, "underline=" + s.Underline.String()},
		{s.Blink, "blink"}, {s.Inverse, "inverse"}, {s.Conceal, "conceal"}, {s.Strike, "strike"}, {s.Overline, "overline"},
		{s.FG != "", "fg=" + string(s.FG)}, {s.BG != "", "bg=" + string(s.BG)}, {s.UnderlineColor != "", "ul=" + string(s.UnderlineColor)},
		{c.link != "", "link=" + c.link},
	} {
		if w.on {
			words = append(words, w.name)
		}
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, " ")
}

// unescaped reads the escapes of a line of facts.
func unescaped(t *testing.T, s string) string {
	t.Helper()
	s = strings.NewReplacer(`\\`, `\\`, `\e`, `\x1b`, `\s`, ` `, `"`, `\"`).Replace(s)
	text, err := strconv.Unquote(`"` + s + `"`)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return text
}

func pair(s string) (row, col int) {
	a, b, _ := strings.Cut(s, ",")
	return number(a), number(b)
}

func number(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		panic(err)
	}
	return n
}
