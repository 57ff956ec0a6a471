package rule

import (
	"slices"
	"strings"
)

// Found is a dialog on a screen.
type Found struct {
	Dialog     Dialog // zero for an unknown one
	Known      bool
	Question   string // the line that identified it, or the one above the options
	Options    []Option
	Horizontal bool // the options are side by side: Left and Right move
	Marked     int  // index of the selected option; -1 if unknown
	Wanted     int  // index of the wanted option; -1 if there is none
	at         int  // row of a known dialog's question
}

// Answerable reports whether keys may be sent: the dialog is known, meant to be
// answered, and shows the selection and the wanted label.
func (f Found) Answerable() bool {
	return f.Known && f.Dialog.When == Startup && f.Marked >= 0 && f.Wanted >= 0
}

// Labels returns the options' labels.
func (f Found) Labels() []string {
	out := make([]string, len(f.Options))
	for i, o := range f.Options {
		out[i] = o.Label
	}
	return out
}

// tailRows is how many rows with text may separate a menu from the bottom of
// the screen. Anything higher is history, not an open dialog.
const tailRows = 8

// Find returns the dialog on the live screen: the first row of the table that
// matches, or else an unknown menu. Pass the screen's text, never scrollback.
func Find(screen string, table []Dialog) (Found, bool) { return TextView(screen).Find(table) }

// Find returns the dialog in sight; see the function [Find].
func (s DialogView) Find(table []Dialog) (Found, bool) {
	f := flatten(s.Lines)
	found, ok := Found{}, false
	for _, d := range table {
		if found, ok = d.find(s, f); ok {
			break
		}
	}
	if !ok {
		found, ok = s.findUnknown()
	}
	if !ok || len(found.Options) == 0 {
		return found, ok
	}
	below := found.Options[len(found.Options)-1].Row
	if slices.ContainsFunc(table, func(d Dialog) bool {
		row, _, said := f.last(d.Verify)
		return said && row > below && d.answered(f)
	}) {
		return Found{}, false // it was answered, and is still on the screen
	}
	return found, true
}

// answered reports whether the screen shows that d was answered, although it may
// still be painted.
func (d Dialog) answered(f flat) bool {
	if _, _, ok := f.last(d.Verify); !ok {
		return false
	}
	_, _, ok := f.last(d.Detect)
	return ok
}

func (d Dialog) find(s DialogView, f flat) (Found, bool) {
	lines := s.Lines
	if _, _, ok := f.last(d.Detect); !ok {
		return Found{}, false
	}
	// "trust this folder" is also in an option: the question is elsewhere.
	question, end, ok := flatten(d.withoutOptions(lines)).last(d.Detect)
	if !ok {
		return Found{}, false
	}
	found := Found{Dialog: d, Known: true, Question: cleanLine(lines[question]), Marked: -1, Wanted: -1, at: question}
	if d.When == Report {
		menu, ok := s.findUnknown()
		if !ok || len(menu.Options) == 0 || menu.Options[0].Row < question {
			return Found{}, false
		}
		found.Options, found.Marked, found.Horizontal = menu.Options, menu.Marked, menu.Horizontal
		if question == menu.Options[0].Row { // an option identified it
			found.Question, found.at = questionAbove(lines, question), textAbove(s.rows(), question)
		}
		return found, true
	}
	found.Options = d.optionsBelow(lines, end)
	if len(found.Options) < min(2, len(d.Options)) || !nearBottom(lines, found.Options) || s.composerBelow(found.Options[len(found.Options)-1].Row) {
		return Found{}, false
	}
	if len(d.Options) == 1 && len(found.Options) == 1 {
		found.Options[0].Marked = true // nothing to choose: Enter selects it
	}
	marks := 0
	for i, o := range found.Options {
		if o.Marked {
			marks++
			found.Marked = i
		}
		if SameLabel(o.Label, d.Wanted) {
			if found.Wanted >= 0 {
				return Found{}, false
			}
			found.Wanted = i
		}
	}
	if marks != 1 {
		found.Marked = -1
	}
	return found, found.Wanted >= 0
}

func (d Dialog) withoutOptions(lines []string) []string {
	out := slices.Clone(lines)
	for i, l := range lines {
		if o, ok := parseOption(i, l); ok && d.offers(o.Label) {
			out[i] = ""
		}
	}
	return out
}

// offers reports whether a label is one of the known options.
func (d Dialog) offers(label string) bool {
	return slices.ContainsFunc(d.Options, func(l string) bool { return SameLabel(label, l) })
}

// optionsBelow returns the option lines below the row: those with a known
// label, and every numbered option aligned with them.
func (d Dialog) optionsBelow(lines []string, row int) []Option {
	var all, known []Option
	for i := row; i < len(lines); i++ {
		o, ok := parseOption(i, lines[i])
		if !ok {
			continue
		}
		all = append(all, o)
		if d.offers(o.Label) {
			known = append(known, o)
		}
	}
	if len(known) == 0 {
		return nil
	}
	var out []Option
	for _, o := range all {
		isKnown := slices.Contains(known, o)
		if isKnown || o.Col == known[0].Col && (o.Number > 0 && known[0].Number > 0 || o.Marked) {
			out = append(out, o)
		}
	}
	return out
}

// nearBottom reports whether at most a few lines follow the options.
func nearBottom(lines []string, options []Option) bool {
	below := 0
	for _, l := range lines[options[len(options)-1].Row+1:] {
		if cleanLine(l) != "" {
			below++
		}
	}
	return below <= tailRows
}

func questionAbove(lines []string, row int) string {
	for i := row - 1; i >= 0; i-- {
		if s := cleanLine(lines[i]); s != "" {
			return s
		}
	}
	return ""
}

// cleanLine trims frames and white space at both ends.
func cleanLine(l string) string {
	return strings.Trim(l, frames+" \t\r\u00a0")
}
