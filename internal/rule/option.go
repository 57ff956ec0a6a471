package rule

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Option is one choice of a menu.
type Option struct {
	Row    int    // index into the screen's lines
	Col    int    // column of the label, in runes
	Number int    // 1 for "1. Yes"; 0 if none
	Label  string // without marker, number, tick and frame
	Marked bool   // it is selected
	mark   rune   // the sign that marks the selection; 0: none
	frame  rune   // the frame to its left; 0: none
}

// markers are the signs that agents put before the selected option.
const markers = "❯›●>▶▸◉"

// bars are the left and right sides of a frame.
const bars = "│┃║|▌"

// frames are box characters, trimmed from both ends of a line.
const frames = "│┃║|╭╮╰╯┌┐└┘─━═╹╻▀▄"

// ticks precede or follow the current choice, hollows precede the others.
const (
	ticks   = "✔✓"
	hollows = "○◯◌◻☐"
)

// parseOption parses a line as an option. ok is false for a line without text.
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

// reader reads a line from left to right.
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

// sign consumes one of the signs and the blank after it; 0 if there is none.
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

// radio consumes "(•) " or "[ ] " and reports whether it is filled.
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

// number consumes "12. " or "3) "; 0 if there is none.
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
// equal except for a remark in brackets or a tick after it.
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

// PickLabel returns the index of the label meant: the equal one, or else the
// only one that satisfies [SameLabel].
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
