package vt_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// styled is a character with its rendition, the unit of comparison with tmux:
// columns follow from the text, so a difference in a character's width is one
// difference, not a shifted row.
type styled struct {
	text rune
	attr string
}

// parseCapture reads the output of `tmux capture-pane -e -p`: rows of text with
// SGR, whose state carries over from row to row, and SO and SI around line
// drawing.
func parseCapture(t testing.TB, capture string) [][]styled {
	t.Helper()
	var (
		rows  [][]styled
		attr  sgrState
		lines bool
	)
	for _, line := range strings.Split(strings.TrimSuffix(capture, "\n"), "\n") {
		var row []styled
		for i, r := range line {
			switch {
			case attr.inside(i):
			case r == 0x1b:
				end := strings.IndexByte(line[i:], 'm')
				if end < 2 || line[i+1] != '[' {
					t.Fatalf("tmux wrote another sequence than SGR: %q", line[i:])
				}
				attr.apply(line[i+2 : i+end])
				attr.skip = i + end
			case r == 0x0e:
				lines = true
			case r == 0x0f:
				lines = false
			default:
				if lines {
					r = lineDrawing(r)
				}
				row = append(row, styled{r, attr.String()})
			}
		}
		attr.skip = -1
		rows = append(rows, row)
	}
	return rows
}

// lineDrawing maps DEC special graphics, as written by tmux.
func lineDrawing(r rune) rune {
	const from, to = "`afghijklmnopqrstuvwxyz{|}~", "◆▒°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"
	if i := strings.IndexRune(from, r); i >= 0 {
		return []rune(to)[i]
	}
	return r
}

// sgrState is a rendition, spelled as in ?attr. It is independent of the
// engine, which it checks.
type sgrState struct {
	bold, faint, italic, blink, inverse, conceal, strike, overline bool

	under, fg, bg, ul string
	skip              int // bytes of the row up to here belong to a sequence
}

func (s *sgrState) inside(i int) bool { return s.skip > 0 && i <= s.skip }

func (s *sgrState) apply(params string) {
	words := strings.Split(params, ";")
	for i := 0; i < len(words); i++ {
		if strings.Contains(words[i], ":") {
			s.colon(strings.Split(words[i], ":"))
			continue
		}
		n, _ := strconv.Atoi(words[i])
		if n == 38 || n == 48 || n == 58 {
			i += s.colour(n, words[i+1:])
			continue
		}
		s.number(n)
	}
}

func (s *sgrState) colon(sub []string) {
	if sub[0] == "4" {
		s.under = map[string]string{"0": "", "1": "underline", "2": "underline=double", "3": "underline=curly",
			"4": "underline=dotted", "5": "underline=dashed"}[sub[1]]
		return
	}
	if sub[0] == "5" && sub[1] == "3" { // tmux 3.3a means 53, and writes it like its underlines
		s.overline = true
		return
	}
	n, _ := strconv.Atoi(sub[0])
	if len(sub) > 5 && sub[1] == "2" { // with a colour space
		sub = append(sub[:2:2], sub[3:]...)
	}
	s.colour(n, sub[1:])
}

// colour sets a colour and returns how many words it consumed.
func (s *sgrState) colour(which int, words []string) int {
	value, took := "", 0
	switch {
	case len(words) >= 2 && words[0] == "5":
		value, took = words[1], 2
	case len(words) >= 4 && words[0] == "2":
		var rgb [3]int
		for i := range rgb {
			rgb[i], _ = strconv.Atoi(words[i+1])
		}
		value, took = fmt.Sprintf("#%02x%02x%02x", rgb[0], rgb[1], rgb[2]), 4
	}
	switch which {
	case 38:
		s.fg = value
	case 48:
		s.bg = value
	default:
		s.ul = value
	}
	return took
}

func (s *sgrState) number(n int) {
	on := map[int]*bool{1: &s.bold, 2: &s.faint, 3: &s.italic, 5: &s.blink, 7: &s.inverse, 8: &s.conceal, 9: &s.strike, 53: &s.overline}
	off := map[int]*bool{23: &s.italic, 25: &s.blink, 27: &s.inverse, 28: &s.conceal, 29: &s.strike, 55: &s.overline}
	switch {
	case n == 0:
		*s = sgrState{skip: s.skip}
	case on[n] != nil:
		*on[n] = true
	case off[n] != nil:
		*off[n] = false
	case n == 22:
		s.bold, s.faint = false, false
	case n == 4:
		s.under = "underline"
	case n == 24:
		s.under = ""
	case n >= 30 && n <= 37:
		s.fg = strconv.Itoa(n - 30)
	case n >= 90 && n <= 97:
		s.fg = strconv.Itoa(n - 90 + 8)
	case n >= 40 && n <= 47:
		s.bg = strconv.Itoa(n - 40)
	case n >= 100 && n <= 107:
		s.bg = strconv.Itoa(n - 100 + 8)
	case n == 39:
		s.fg = ""
	case n == 49:
		s.bg = ""
	case n == 59:
		s.ul = ""
	}
}

func (s *sgrState) String() string {
	var words []string
	add := func(on bool, word string) {
		if on {
			words = append(words, word)
		}
	}
	add(s.bold, "bold")
	add(s.faint, "faint")
	add(s.italic, "italic")
	add(s.under != "", s.under)
	add(s.blink, "blink")
	add(s.inverse, "inverse")
	add(s.conceal, "conceal")
	add(s.strike, "strike")
	add(s.overline, "overline")
	add(s.fg != "", "fg="+s.fg)
	add(s.bg != "", "bg="+s.bg)
	add(s.ul != "", "ul="+s.ul)
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, " ")
}
