package view

import (
	"slices"
	"strings"
	"unicode"
)

// maxDraft is the longest draft in bytes; input beyond it is dropped.
const maxDraft = 4 << 20

// composer is the line editor. Its text may have several lines: those of a paste.
type composer struct {
	text string // without control characters except newline and tab
	at   int    // the cursor, in bytes
}

// insert inserts typed or pasted text at the cursor.
func (c *composer) insert(text string) {
	text = typable(text)
	if len(c.text)+len(text) > maxDraft {
		return
	}
	c.text = c.text[:c.at] + text + c.text[c.at:]
	c.at += len(text)
}

// typable returns text without control characters except newline and tab; line ends
// become newlines. Marks stay: they may join the character before them.
func typable(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// take returns the text and clears the draft.
func (c *composer) take() string {
	text := c.text
	*c = composer{}
	return strings.TrimRightFunc(text, unicode.IsSpace)
}

// lineStart and lineEnd return the ends of the cursor's line.
func (c *composer) lineStart() int { return strings.LastIndexByte(c.text[:c.at], '\n') + 1 }

func (c *composer) lineEnd() int {
	if n := strings.IndexByte(c.text[c.at:], '\n'); n >= 0 {
		return c.at + n
	}
	return len(c.text)
}

// before returns where the character before the cursor begins.
func (c *composer) before() int {
	start := c.lineStart()
	if start == c.at {
		return max(c.at-1, 0) // the newline
	}
	last := start
	for at := start; at < c.at; {
		last = at
		at += step(c.text[at:])
	}
	return last
}

// after returns where the character at the cursor ends.
func (c *composer) after() int {
	if c.at == len(c.text) {
		return c.at
	}
	return min(c.at+step(c.text[c.at:]), len(c.text))
}

// step is the length of the first character of a draft.
func step(text string) int {
	if text[0] == '\n' || text[0] == '\t' {
		return 1
	}
	n, _ := character(text)
	return n
}

// wordStart returns where the word before the cursor begins.
func (c *composer) wordStart() int {
	text := strings.TrimRightFunc(c.text[:c.at], unicode.IsSpace)
	return strings.LastIndexFunc(text, unicode.IsSpace) + 1
}

// erase removes the text between a position and the cursor.
func (c *composer) erase(to int) {
	from, to := min(c.at, to), max(c.at, to)
	c.text, c.at = c.text[:from]+c.text[to:], from
}

// rows returns the rows of the draft and the cursor's position; sign is before the
// first. Of a long draft it is the limit rows around the cursor.
func (c *composer) rows(sign string, cols, limit int) (out []line, row, col int) {
	margin := width(sign)
	if margin+2 > cols { // a wide character must fit
		sign, margin = "", 0
	}
	start := 0
	for l := range strings.SplitSeq(c.text, "\n") {
		cursor := -1
		if c.at >= start && c.at <= start+len(l) {
			cursor = width(clean(l[:c.at-start]))
		}
		texts := wrap(clean(l), cols-margin)
		if cursor >= 0 && width(texts[len(texts)-1]) == cols-margin {
			texts = append(texts, "") // room for the cursor after a full row
		}
		for _, text := range texts {
			w := width(text)
			if cursor >= 0 && (cursor < w || cursor == w && w < cols-margin) {
				row, col, cursor = len(out), margin+cursor, -1
			}
			cursor = max(cursor-w, -1)
			out = append(out, line{text: sign + text})
			sign = strings.Repeat(" ", margin)
		}
		start += len(l) + 1
	}
	from := min(max(row-limit/2, 0), max(len(out)-limit, 0))
	return slices.Clone(out[from:min(from+limit, len(out))]), row - from, col
}
