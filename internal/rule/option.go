package rule

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Option is one thing that a menu offers.
type Option struct {
	Row    int    // index into the screen's lines
	Col    int    // column of the label, in runes
	Number int    // 1 for "1. Yes"; 0 without one
	Label  string // without marker, number, tick and frame
	Marked bool   // the selection stands on it
	mark   rune   // the sign that says so; 0: another way
	frame  rune   // what stands left of it; 0: nothing
}

// markers are the signs agents put before the selected option.
const markers = "❯›●>▶▸◉"

// bars are what a frame has left and right.
const bars = "│┃║|▌"

// frames are the characters of boxes, cut at both ends of a line.
const frames = "│┃║|╭╮╰╯┌┐└┘─━═╹╻▀▄"

// ticks stand before or behind what is in force now, hollows before what can be
// chosen.
const (
	ticks   = "✔✓"
	hollows = "○◯◌◻☐"
)

// parseOption reads a line as an option. ok is false for a line without text.
func parseOption(row int, line string) (o Option, ok bool) {
	o = Option{Row: row}
	r := reader{rest: []rune(strings.TrimRightFunc(line, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(frames, r)
	}))}
	r.blanks()
	if f := r.peek(); f != 0 && strings.ContainsRune(bars, f) {
		o.frame = f
		r.at++
		r.blanks()
	}
	if o.mark = r.sign(markers); o.mark != 0 {
		o.Marked = true
	}
	ticked := r.sign(ticks) != 0 && !o.Marked
	if r.sign(hollows) == 0 && !o.Marked {
		o.Marked = r.radio()
	}
	o.Number = r.number()
	o.Col = r.at
	o.Label = strings.TrimSpace(string(r.rest[r.at:]))
	if cut := strings.TrimRight(o.Label, ticks); cut != o.Label && strings.HasSuffix(cut, " ") {
		o.Label = strings.TrimSpace(cut)
	}
	if ticked {
		o.mark = '✔'
	}
	return o, o.Label != ""
}

// reader reads a line from the left.
type reader struct {
	rest []rune
	at   int
}

func (r *reader) peek() rune {
	if r.at < len(r.rest) {
		return r.rest[r.at]
	}
	return 0
}

func (r *reader) blanks() {
	for r.at < len(r.rest) && unicode.IsSpace(r.rest[r.at]) {
		r.at++
	}
}

// sign takes one of the signs with the blank behind it; 0: there is none.
func (r *reader) sign(signs string) rune {
	sign := r.peek()
	if sign == 0 || !strings.ContainsRune(signs, sign) {
		return 0
	}
	next := r.at + 1
	for next < len(r.rest) && (r.rest[next] == '\ufe0e' || r.rest[next] == '\ufe0f') {
		next++
	}
	if next >= len(r.rest) || !unicode.IsSpace(r.rest[next]) {
		return 0
	}
	r.at = next
	r.blanks()
	return sign
}

// radio takes "(•) " or "[ ] " and reports whether it is filled.
func (r *reader) radio() (filled bool) {
	if r.at+3 >= len(r.rest) || !unicode.IsSpace(r.rest[r.at+3]) {
		return false
	}
	switch string(r.rest[r.at : r.at+3]) {
	case "(•)", "(*)", "(x)", "(X)", "(●)", "[x]", "[X]", "[*]", "[•]":
		filled = true
	case "( )", "[ ]", "(○)":
	default:
		return false
	}
	r.at += 3
	r.blanks()
	return filled
}

// number takes "12. " or "3) "; 0 without one.
func (r *reader) number() (n int) {
	j := r.at
	for j < len(r.rest) && j-r.at < 2 && r.rest[j] >= '0' && r.rest[j] <= '9' {
		n = n*10 + int(r.rest[j]-'0')
		j++
	}
	if j == r.at || j+1 >= len(r.rest) || r.rest[j] != '.' && r.rest[j] != ')' || !unicode.IsSpace(r.rest[j+1]) {
		return 0
	}
	r.at = j + 1
	r.blanks()
	return n
}

// SameLabel reports whether a label on the screen is the one meant: equal, or
// equal but for a bracketed remark or a tick behind it.
func SameLabel(onScreen, meant string) bool {
	if meant == "" {
		return false
	}
	rest, ok := strings.CutPrefix(onScreen, meant)
	if !ok {
		return false
	}
	if rest == "" {
		return true
	}
	rest, ok = strings.CutPrefix(rest, " ")
	rest = strings.TrimSpace(rest)
	if !ok {
		return false
	}
	if strings.HasPrefix(rest, "(") && strings.HasSuffix(rest, ")") {
		return true
	}
	r, size := utf8.DecodeRuneInString(rest)
	return size == len(rest) && strings.ContainsRune(ticks, r)
}

// PickLabel is the index of the one label that is meant: the equal one, else the only
// one that [SameLabel] takes for it.
func PickLabel(labels []string, meant string) (int, error) {
	at, exact := -1, slices.Contains(labels, meant)
	for i, label := range labels {
		if label != meant && (exact || !SameLabel(label, meant)) {
			continue
		}
		if at >= 0 {
			return -1, fmt.Errorf("more than one option is %q", meant)
		}
		at = i
	}
	if at < 0 {
		return -1, fmt.Errorf("no option is %q; there are: %s", meant, strings.Join(labels, " | "))
	}
	return at, nil
}
