package rule

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxAcross is the maximum number of options side by side, maxAcrossWords the
// maximum number of words of each.
const (
	maxAcross      = 6
	maxAcrossWords = 6
)

var (
	// gap separates options side by side.
	gap = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s{2,}|\s/\s`) })
	// keyName begins the explanation of a key, which is not an option.
	keyName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^((ctrl|shift|alt|cmd|opt|esc|escape|enter|return|tab|space|f\d+)([+\- :].*)?|[⇆↑↓←→⏎↵⌃⇧⌥⌘⇥].*)$`)
	})
	// acrossHint explains the keys of options side by side.
	acrossHint = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(⇆|←|→|\btab\b|\barrow).*\b(select|switch|choose|toggle|move|navigate)|\benter (to )?(confirm|select|submit|accept)`)
	})
)

// horizontal finds a menu whose options are side by side, one of them with a
// sign, in brackets or on its own background. Its keys are explained, or its
// options are for and against, below a question.
func (s DialogView) horizontal(rows []row) (Found, bool) {
	for _, at := range s.tail(rows) {
		options := s.across(at)
		if len(options) < 2 || len(options) > maxAcross {
			continue
		}
		found, ok := s.open(options)
		if !ok || s.Shade != nil && found.Marked < 0 { // none is selected: it is text
			continue
		}
		found.Horizontal = true
		explained := slices.ContainsFunc(append(textBelow(rows, at, hintRows), at), func(i int) bool { return acrossHint().MatchString(s.Lines[i]) })
		decides := forAndAgainst(found.Labels())
		if explained && (decides || found.Marked >= 0) || decides && found.Marked >= 0 && s.asked(rows, at) {
			return found, true
		}
	}
	return Found{}, false
}

// across parses a line as options side by side, at most one of them marked.
func (s DialogView) across(at int) []Option {
	line := s.Lines[at]
	blank := strings.Map(func(r rune) rune {
		if strings.ContainsRune(frames+"▌", r) {
			return ' '
		}
		return r
	}, line)
	var options []Option
	marks, from := 0, 0
	take := func(from, to int) {
		text := strings.TrimSpace(blank[from:to])
		if text == "" || keyName().MatchString(text) {
			return
		}
		o, _ := parseOption(at, text)
		o.frame = 0
		o.Col = utf8.RuneCountInString(blank[:from]) + utf8.RuneCountInString(blank[from:to]) - utf8.RuneCountInString(strings.TrimLeft(blank[from:to], " "))
		if label, ok := bracketed(o.Label); ok {
			o.Label, o.Marked, o.mark = label, true, '['
		}
		if o.Marked {
			marks++
		}
		options = append(options, o)
	}
	for _, cut := range gap().FindAllStringIndex(blank, -1) {
		take(from, cut[0])
		from = cut[1]
	}
	take(from, len(blank))
	if slices.ContainsFunc(options, func(o Option) bool { return o.Label == "" || len(strings.Fields(o.Label)) > maxAcrossWords }) {
		return nil
	}
	if marks != 1 { // all or none have a sign
		for i := range options {
			options[i].Marked = false
		}
		if odd := s.oddShade(options); odd >= 0 {
			options[odd].Marked = true
		}
	}
	return options
}

// oddShade returns the option with its own background; of two, the one whose
// background is not the line's last.
func (s DialogView) oddShade(options []Option) int {
	if s.Shade == nil || len(options) < 2 {
		return -1
	}
	shade := func(o Option) string { return s.Shade(o.Row, o.Col) }
	if len(options) > 2 {
		return oddOne(options, shade)
	}
	if shade(options[0]) == shade(options[1]) {
		return -1
	}
	rest := s.Shade(options[0].Row, max(options[0].Col-3, 0))
	return slices.IndexFunc(options, func(o Option) bool { return shade(o) != rest })
}

// bracketed strips the brackets that mark a label.
func bracketed(label string) (string, bool) {
	for _, pair := range []string{"[]", "<>", "()"} {
		if len(label) > 2 && label[0] == pair[0] && label[len(label)-1] == pair[1] {
			return strings.TrimSpace(label[1 : len(label)-1]), true
		}
	}
	return label, false
}

// boxes finds a menu of stacked frames, each with a label and its description;
// the selected one ends with an arrow, and the keys are explained.
func (s DialogView) boxes(rows []row) (Found, bool) {
	var options []Option
	for i := 1; i < len(rows); i++ {
		top := strings.TrimSpace(s.Lines[i-1])
		if !rows[i-1].edge || !strings.HasPrefix(top, "╭") && !strings.HasPrefix(top, "┌") || !rows[i].text || rows[i].frame == 0 {
			continue
		}
		o := rows[i].Option
		if label, ok := strings.CutSuffix(o.Label, "→"); ok {
			o.Label, o.Marked = strings.TrimSpace(label), true
		}
		if len(options) > 0 && options[0].Col != o.Col {
			options = nil
		}
		options = append(options, o)
	}
	if len(options) < 2 || !hinted(rows, options[len(options)-1].Row) {
		return Found{}, false
	}
	return s.open(options)
}
