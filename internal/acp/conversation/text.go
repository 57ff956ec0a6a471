package conversation

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxLine is the longest text of one line: a title, a name, a step of a plan.
const maxLine = 4 << 10

// hidden marks a character that is not shown where every character matters.
const hidden = '\uFFFD'

// escape is a control sequence (ECMA-48): CSI, a string such as OSC, or a shorter one.
var escape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z\\^-~]`)
})

// prose returns a text for reading: without control sequences and characters that
// are not shown.
func prose(text string) string {
	if plain(text) {
		return text
	}
	if strings.IndexByte(text, '\x1b') >= 0 {
		text = escape().ReplaceAllString(text, "")
	}
	return clean(text, -1)
}

// source returns the text of a file: what is not shown is marked, but for the ends of
// lines.
func source(text string) string { return exact(strings.ReplaceAll(text, "\r\n", "\n")) }

// exact returns a text whose every character matters, such as a command: what is
// not shown is marked.
func exact(text string) string {
	if plain(text) {
		return text
	}
	return clean(text, hidden)
}

// name returns a path or the like: exact, and in one line.
func name(text string) string {
	return head(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return hidden
		}
		return r
	}, exact(text)), maxLine)
}

// line returns a text as one line.
func line(text string) string {
	if len(text) > 4*maxLine {
		text = head(text, 4*maxLine)
	}
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
	return head(strings.TrimSpace(exact(text)), maxLine)
}

// head returns the beginning of a text, at most max bytes.
func head(text string, max int) string {
	if len(text) <= max {
		return text
	}
	for max > 0 && !utf8.RuneStart(text[max]) {
		max--
	}
	return text[:max]
}

// limited is head, and says if something is missing. A command that is cut is no
// simple one, since that note is a line of its own.
func limited(text string, max int) string {
	if len(text) <= max {
		return text
	}
	return head(text, max) + textCut
}

// plain reports whether a text has only printable ASCII, newlines and tabs.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// clean replaces every character that is not shown, or removes it with instead < 0.
// Invalid UTF-8 becomes U+FFFD.
func clean(text string, instead rune) string {
	before := rune(unicode.MaxRune) // a chunk may begin anywhere
	return strings.Map(func(r rune) rune {
		joins := before > 0x2ff
		before = r
		switch {
		case r == '\n' || r == '\t':
			return r
		case (r == '\u2028' || r == '\u2029') && instead < 0:
			return '\n'
		case (r == '\u200c' || r == '\u200d') && joins:
			return r // within a word of some scripts, or an emoji
		case isHidden(r):
			return instead
		}
		return r
	}, text)
}

// isHidden reports whether a character has no form of its own: it could hide text, or
// show it in another order.
func isHidden(r rune) bool {
	switch r {
	case '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u2028', '\u2029', '\u3164', '\uffa0':
		return true // a joiner, fillers, vowels without a form, separators
	}
	return unicode.IsControl(r) || r >= 0xe0000 && r <= 0xe0fff ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}
