// Package menu is what an attachment shows over a session besides its history: a list to
// choose from, and a page of text. A [List] and a [Page] are pure: keys go in, a choice
// comes out, and Paint draws them.
//
// mux/attach shows them.
package menu

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/vt"
)

// Item is one thing to choose.
type Item struct {
	Name  string
	About string
}

// List is a list of items of which a person chooses one. What they type selects the items
// whose names contain it.
type List struct {
	title      string
	items      []Item
	filter     []byte
	at         int // of the shown items
	cols, rows int
}

// NewList returns a list on a terminal of a size.
func NewList(title string, items []Item, cols, rows int) *List {
	return &List{title: title, items: items, cols: cols, rows: rows}
}

// Resize gives the list the size of the terminal.
func (l *List) Resize(cols, rows int) { l.cols, l.rows = cols, rows }

// The keys of lists and pages.
var (
	up       = named("Up", "ctrl-p", "ctrl-k")
	down     = named("Down", "ctrl-n", "ctrl-j", "Tab")
	pageUp   = named("PageUp")
	pageDown = named("PageDown")
	leave    = named("Escape", "ctrl-c", "ctrl-g")
	enter    = named("Enter")
	erase    = named("Backspace", "ctrl-h")
	lineUp   = named("k", "Up", "ctrl-p")
	lineDown = named("j", "Down", "ctrl-n", "Enter")
	further  = named("PageDown", "Space", "ctrl-f")
)

func named(names ...string) (all []keys.Identity) {
	for _, n := range names {
		if k, err := keys.ParseKey(n); err == nil {
			all = append(all, k)
		}
	}
	return all
}

// is reports whether a press is one of the keys.
func is(pressed, among []keys.Identity) bool {
	return slices.ContainsFunc(pressed, func(k keys.Identity) bool { return slices.Contains(among, k) })
}

// shown returns the items that the filter selects.
func (l *List) shown() (items []Item) {
	for _, i := range l.items {
		if strings.Contains(strings.ToLower(i.Name), strings.ToLower(string(l.filter))) {
			items = append(items, i)
		}
	}
	return items
}

// Key carries out a key: the keys that one press may be. left reports that the person
// left; chosen is the name they chose, if any.
func (l *List) Key(pressed []keys.Identity) (left bool, chosen string) {
	items := l.shown()
	switch {
	case is(pressed, leave):
		return true, ""
	case is(pressed, enter) && len(items) > 0:
		return true, items[l.at].Name
	case is(pressed, up):
		l.at--
	case is(pressed, down):
		l.at++
	case is(pressed, pageUp):
		l.at -= l.room()
	case is(pressed, pageDown):
		l.at += l.room()
	case is(pressed, erase):
		_, n := utf8.DecodeLastRune(l.filter)
		l.filter = l.filter[:len(l.filter)-n]
	default:
		if k := pressed[len(pressed)-1]; k.Mods == 0 && k.Code > ' ' && k.Code < 0x100 && k.Code != 0x7f && len(l.filter) < 100 {
			l.filter, l.at = append(l.filter, byte(k.Code)), 0
		}
	}
	l.at = max(min(l.at, len(l.shown())-1), 0)
	return false, ""
}

// room is how many items fit.
func (l *List) room() int { return max(l.rows-1, 1) }

// Paint appends what draws the list on a terminal in its default modes.
func (l *List) Paint(dst []byte) []byte {
	dst = append(dst, "\x1b[?2026h\x1b[?25l\x1b[m\x1b[H\x1b[2J"...)
	head := l.title
	if len(l.filter) > 0 {
		head += " [" + string(l.filter) + "]"
	}
	row := 1
	if l.rows > 1 {
		dst, row = fmt.Appendf(dst, "\x1b[1;1H\x1b[1m%s\x1b[m", clip(head, l.cols)), 2
	}
	items := l.shown()
	first := max(0, min(l.at-l.room()/2, len(items)-l.room()))
	widest := 0
	for _, i := range items {
		widest = max(widest, min(len(i.Name), 40))
	}
	for n := first; n < len(items) && row <= l.rows; n++ {
		text := fmt.Sprintf("%-*s  %s", widest, items[n].Name, items[n].About)
		look := ""
		if n == l.at {
			look = "\x1b[7m"
		}
		dst = fmt.Appendf(dst, "\x1b[%d;1H%s%s\x1b[m", row, look, clip(text, l.cols))
		row++
	}
	if len(items) == 0 && row <= l.rows {
		dst = fmt.Appendf(dst, "\x1b[%d;1H%s", row, clip("none", l.cols))
	}
	return append(dst, "\x1b[?2026l"...)
}

// Page is text that a person reads. Any key but those that scroll leaves it.
type Page struct {
	lines      []string
	top        int
	cols, rows int
}

// NewPage returns a page on a terminal of a size.
func NewPage(lines []string, cols, rows int) *Page {
	return &Page{lines: lines, cols: cols, rows: rows}
}

// Resize gives the page the size of the terminal.
func (p *Page) Resize(cols, rows int) { p.cols, p.rows = cols, rows }

// Key scrolls, or reports that the person left.
func (p *Page) Key(pressed []keys.Identity) (left bool, chosen string) {
	most := max(len(p.lines)-p.rows, 0)
	switch {
	case most == 0: // nothing to scroll
		return true, ""
	case is(pressed, lineUp):
		p.top--
	case is(pressed, lineDown):
		p.top++
	case is(pressed, pageUp):
		p.top -= p.rows
	case is(pressed, further):
		p.top += p.rows
	default:
		return true, ""
	}
	p.top = max(min(p.top, most), 0)
	return false, ""
}

// Paint appends what draws the page on a terminal in its default modes.
func (p *Page) Paint(dst []byte) []byte {
	dst = append(dst, "\x1b[?2026h\x1b[?25l\x1b[m\x1b[H\x1b[2J"...)
	top := max(min(p.top, len(p.lines)-p.rows), 0)
	for i := top; i < len(p.lines) && i-top < p.rows; i++ {
		dst = fmt.Appendf(dst, "\x1b[%d;1H%s", i-top+1, clip(p.lines[i], p.cols))
	}
	return append(dst, "\x1b[?2026l"...)
}

// clip cuts a text to the width of a terminal. Controls become question marks.
func clip(text string, cols int) string {
	var b strings.Builder
	for rest := []byte(text); len(rest) > 0; {
		n, width := vt.Character(rest)
		part := string(rest[:n])
		if r, _ := utf8.DecodeRuneInString(part); width == 0 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			part, width = "?", 1
		}
		if cols -= width; cols < 0 {
			break
		}
		b.WriteString(part)
		rest = rest[n:]
	}
	return b.String()
}
