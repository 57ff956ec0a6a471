package vt

import (
	"slices"
	"sort"
	"strconv"
)

// page is a page of history, sealed or being written. Only this header of a
// page stored by Pages is in memory; the rest is read on demand.
type page struct {
	first         uint64    // number of its first line
	skip          int       // lines dropped before that one
	count         int       // number of lines
	rows          int       // rows of these lines at the width history.wide
	widest        int       // columns of the longest line
	refs          []lineRef // of every line it was written with; nil when stored by Pages
	renditions    []rendition
	lines         []byte // nil when stored by Pages
	number        uint64 // its number in Pages
	size          int64
	renditionSize int // bytes of renditions
	sealed        bool
	lost          bool // Pages could not return it
}

// kept reports whether the page is stored by Pages.
func (p *page) kept() bool { return p.sealed && p.lines == nil }

// writing returns the page being written.
func (h *history) writing() *page {
	if n := len(h.pages); n > 0 && !h.pages[n-1].sealed {
		return h.pages[n-1]
	}
	p := &page{first: h.closed, lines: h.buf[:0], refs: h.refs[:0]}
	h.buf, h.refs = nil, nil
	h.pages = append(h.pages, p)
	h.forgetRenditions()
	return p
}

func (h *history) grow(p *page, n int64) {
	p.size += n
	h.bytes += n
}

// seal ends a page: it goes to Pages, or stays in memory at its exact size.
func (h *history) seal(p *page) {
	p.sealed = true
	lines := p.lines
	if h.store != nil {
		var b []byte
		if s, ok := h.store.(PageBuffers); ok {
			b = s.Buffer()
		}
		if number, err := h.store.Append(appendPage(b, p.renditions, p.refs, p.lines, h.wide)); err == nil {
			p.number, p.lines, p.renditions = number, nil, nil
		}
	}
	if cap(lines) <= 4*pageSize {
		h.buf = lines[:0]
	}
	h.refs = p.refs[:0]
	if p.kept() {
		p.refs = nil
	} else {
		p.lines = append(h.memory(len(lines)), lines...)
		p.refs = append(make([]lineRef, 0, len(p.refs)), p.refs...)
		p.renditions = slices.Clip(slices.Clone(p.renditions))
	}
	h.forgetRenditions()
}

// memory returns a buffer for a sealed page.
func (h *history) memory(n int) []byte {
	if b := h.spare; cap(b) >= n && cap(b) <= n+n/8 {
		h.spare = nil
		return b[:0]
	}
	return make([]byte, 0, n)
}

// pack frees the buffers kept for reuse.
func (h *history) pack() {
	h.buf, h.spare, h.refs, h.cache = nil, nil, nil, cachedPage{}
	if n := len(h.pages); n > 0 && !h.pages[n-1].sealed {
		p := h.pages[n-1]
		p.lines = append(make([]byte, 0, len(p.lines)), p.lines...)
		p.refs = append(make([]lineRef, 0, len(p.refs)), p.refs...)
	}
}

// trimHistory drops the oldest lines beyond the limits: by rows, to which the
// oldest line may add a few, and by bytes in whole pages.
func (t *Terminal) trimHistory() {
	h := t.hist
	if h.wide != t.cols {
		t.historyRows()
	}
	for h.rows > h.maxLines && h.count > 1 {
		n := h.refRows(h.pages[0], 0)
		if h.rows-n < h.maxLines {
			break
		}
		t.dropLine(n)
	}
	for h.bytes > h.maxBytes && len(h.pages) > 1 {
		p := h.pages[0]
		if h.wide != 0 {
			h.rows -= p.rows
		}
		h.count -= p.count
		h.dropPage()
		t.dropped()
	}
}

// dropLine drops the oldest line, of the given number of rows.
func (t *Terminal) dropLine(rows int) {
	h := t.hist
	p := h.pages[0]
	p.rows -= rows
	h.rows -= rows
	p.skip++
	p.count--
	p.first++
	h.count--
	if p.count == 0 && len(h.pages) > 1 {
		h.dropPage()
	}
	t.dropped()
}

// dropped removes dropped lines from what readers see during a synchronized
// update; the line that was open goes with the last one before it.
func (t *Terminal) dropped() {
	f := t.frozen
	if f == nil {
		return
	}
	t.outside = true
	if t.hist.base() > f.lines {
		f.open = f.open[:0]
	}
}

// uncount subtracts a dropped line's rows from the totals.
func (h *history) uncount(p *page, i int) {
	n := h.refRows(p, i)
	p.rows -= n
	h.rows -= n
}

// dropPage drops the oldest page.
func (h *history) dropPage() {
	p := h.pages[0]
	h.bytes -= p.size
	h.drop(p)
	if p.lines != nil && p.sealed {
		h.spare = p.lines
	}
	h.pages[0] = nil
	h.pages = h.pages[1:]
}

// drop tells Pages that a page is no longer needed.
func (h *history) drop(p *page) {
	if d, ok := h.store.(PageDropper); ok && p.kept() {
		d.Drop(p.number)
	}
}

// ClearHistory drops every line above the screen (ED 3).
func (t *Terminal) ClearHistory() {
	h := t.hist
	t.changed, t.outside = true, true
	if h != nil {
		for len(h.pages) > 0 {
			h.dropPage()
		}
		t.hist = newHistory(t.option())
		t.hist.closed = h.closed
		if f := t.frozen; f != nil {
			f.open = f.open[:0]
		}
	}
	if t.parser.src == nil { // called by the owner, not by ED 3
		t.commit()
	}
}

// pageOf returns the page of an existing line, and the line's index in it.
func (h *history) pageOf(number uint64) (*page, int) {
	i := sort.Search(len(h.pages), func(i int) bool { return h.pages[i].first > number }) - 1
	for i > 0 && int(number-h.pages[i].first) >= h.pages[i].count {
		i--
	}
	p := h.pages[i]
	return p, int(number - p.first)
}

// load reads a page from Pages; nil if it is lost.
func (h *history) load(p *page) *cachedPage {
	if p.lost {
		return nil
	}
	if h.cache.valid && h.cache.number == p.number {
		return &h.cache
	}
	if h.store == nil {
		h.markLost(p)
		return nil
	}
	b, err := h.store.Read(p.number)
	if err != nil {
		h.markLost(p)
		return nil
	}
	c, err := readPage(b)
	if err != nil || p.skip+p.count > len(c.refs) {
		h.markLost(p)
		return nil
	}
	c.number, c.valid = p.number, true
	h.cache = c
	return &h.cache
}

// markLost marks a page as unreadable: one row in place of its last line says so,
// and its other lines take no row.
func (h *history) markLost(p *page) {
	p.lost = true
	if h.wide != 0 {
		h.rows += 1 - p.rows
	}
	p.rows = 1
}

// line decodes a line; its spans are appended to buf.
func (h *history) line(p *page, i int, buf []span) line {
	c := &cachedPage{refs: p.refs, renditions: p.renditions, lines: p.lines}
	if p.kept() {
		if c = h.load(p); c == nil {
			return p.lostLine(i)
		}
	}
	ref := c.refs[p.skip+i]
	var l line
	if ref.offset() < len(c.lines) {
		l, _ = readRecord(c.lines[ref.offset():], buf)
	}
	l.renditions, l.flags, l.cols = c.renditions, ref.flags(), ref.cols()
	return l
}

// lostLine stands in for a line of a lost page.
func (p *page) lostLine(i int) line {
	if i < p.count-1 {
		return line{flags: lineGone}
	}
	text := "[lost: " + strconv.Itoa(p.skip+p.count) + " lines of history]"
	return line{text: []byte(text), cols: len(text), flags: linePlain}
}

// HistoryLost returns the number of history lines that could not be read back
// from Pages. Readers see one line in place of each lost page.
func (t *Terminal) HistoryLost() int {
	n := 0
	if t.hist != nil {
		for _, p := range t.hist.pages {
			if p.lost {
				n += p.count
			}
		}
	}
	return n
}
