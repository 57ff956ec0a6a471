package rule

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// DialogView is a screen as input for Find. Only Lines is required; the other fields
// improve the result.
type DialogView struct {
	Lines []string // top to bottom, no scrollback
	// Shade identifies backgrounds: two characters have the same one if it is
	// equal. row and col index Lines and its runes. nil: unknown.
	Shade  func(row, col int) string
	Cursor int    // the row of the visible cursor; -1: hidden or unknown
	Ready  string // the prefix of the agent's composer; "": unknown
}

// TextView is a screen with only its text.
func TextView(screen string) DialogView {
	return DialogView{Lines: withoutScrollbar(strings.Split(screen, "\n")), Cursor: -1}
}

// A scrollbar is a column at the right edge, with a rail and a thumb.
const (
	rail         = "│"
	thumb        = "█"
	scrollbarMin = 4 // rows
)

// withoutScrollbar removes the scrollbar that an agent paints beside its
// conversation: a run of rows that all end with its rail or thumb, and include
// both. Without a thumb it is the edge of a frame.
func withoutScrollbar(lines []string) []string {
	ends := func(i int, signs ...string) bool {
		return i < len(lines) && slices.ContainsFunc(signs, func(s string) bool { return strings.HasSuffix(lines[i], s) })
	}
	for from := 0; from < len(lines); from++ {
		to, thumbs := from, 0
		for ; ends(to, rail, thumb); to++ {
			if ends(to, thumb) {
				thumbs++
			}
		}
		if to-from < scrollbarMin || thumbs == 0 || thumbs == to-from {
			from = to
			continue
		}
		cut := slices.Clone(lines)
		for i := from; i < to; i++ {
			cut[i] = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(lines[i], rail), thumb), " ")
		}
		return cut
	}
	return lines
}

// row is a line of the screen, parsed as an option.
type row struct {
	Option
	text bool // it is not blank
	edge bool // of a frame, or a rule across the screen
	hint bool // it explains a menu's keys
}

func (s DialogView) rows() []row {
	out := make([]row, len(s.Lines))
	for i, l := range s.Lines {
		o, ok := parseOption(i, l)
		out[i] = row{Option: o, text: ok, edge: isEdge(l), hint: ok && hint().MatchString(l)}
		if out[i].edge {
			out[i].text, out[i].Marked = false, false
		}
	}
	return out
}

// dashes separate the parts of one question.
const dashes = "╌╍┄┅┈┉"

// isEdge reports whether a line is the edge of a frame, nested ones included,
// or a rule across the screen.
func isEdge(line string) bool {
	line = strings.Trim(line, "│┃║| \t\u00a0")
	return len([]rune(line)) >= 8 && strings.Trim(line, "╭╮╰╯┌┐└┘├┤┬┴─━═▀▄╹╻-"+dashes) == ""
}

// composerBelow reports whether the agent's composer is below a row: then
// anything above it is conversation, not an open dialog.
func (s DialogView) composerBelow(at int) bool {
	for i := at + 1; i < len(s.Lines) && s.Ready != ""; i++ {
		if o, _ := parseOption(i, s.Lines[i]); o.Number == 0 && IsPrompt(s.Lines[i], s.Ready) {
			return true
		}
	}
	return s.Cursor > at && s.Cursor < len(s.Lines) && emptyComposer().MatchString(s.Lines[s.Cursor])
}

var emptyComposer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[│┃║|\s]*[❯›>](\s|$)`)
})

// textBelow returns the next lines with text below a row, at most n.
func textBelow(rows []row, at, n int) []int {
	var out []int
	for i := at + 1; i < len(rows) && len(out) < n; i++ {
		if rows[i].text {
			out = append(out, i)
		}
	}
	return out
}

// textAbove returns the nearest line with text above a row, -1 if none.
func textAbove(rows []row, at int) int {
	for i := at - 1; i >= 0; i-- {
		if rows[i].text {
			return i
		}
	}
	return -1
}

// Draft returns the text in the agent's composer: from the lowest line with the
// ready prefix to the edge below it. ok is false if no composer is in sight.
func (s DialogView) Draft() (text string, ok bool) {
	at := s.Prompt()
	if at < 0 {
		return "", false
	}
	var lines []string
	for _, l := range s.Lines[at:] {
		if isEdge(l) {
			break
		}
		lines = append(lines, cleanLine(l))
	}
	lines[0] = strings.TrimPrefix(lines[0], strings.TrimSpace(s.Ready))
	return strings.TrimSpace(strings.Join(lines, "\n")), true
}

// Prompt returns the row of the composer's first line: the lowest with the ready prefix,
// -1 if none is near the bottom of the screen.
func (s DialogView) Prompt() int {
	rows := 0
	for i := len(s.Lines) - 1; i >= 0 && rows < tailRows && s.Ready != ""; i-- {
		if IsPrompt(s.Lines[i], s.Ready) {
			return i
		}
		if cleanLine(s.Lines[i]) != "" {
			rows++
		}
	}
	return -1
}

// Composer returns the row where the agent's composer begins, 0 if unknown: the
// edge above line at, which has the ready prefix (-1: none has), or else the
// upper of two rules at the bottom of the screen.
func (s DialogView) Composer(at int) int {
	if at >= 0 {
		for at > 0 && isEdge(s.Lines[at-1]) {
			at--
		}
		return at
	}
	edges, text := []int(nil), 0
	for i := len(s.Lines) - 1; i > 0 && text < tailRows; i-- {
		switch {
		case isRule(s.Lines[i]):
			if edges = append(edges, i); len(edges) == 2 {
				return i
			}
		case cleanLine(s.Lines[i]) != "":
			text++
		}
	}
	return 0
}
