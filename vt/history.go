package vt

import (
	"encoding/binary"
	"slices"

	"gascity.dev/gc/vt/internal/char"
)

// lineFlags are the properties of a history line.
type lineFlags uint8

const (
	lineWide      lineFlags = 1 << iota // has characters of two columns
	linePlain                           // one byte a column
	lineContinued                       // too long: continues in the next line
	linePrompt                          // a prompt begins here
	lineWcwidth                         // written under the wcwidth policy
	lineGone                            // its page could not be read: it takes no row
)

// maxOpenLine is the length at which a line is split, in bytes.
const maxOpenLine = 32 << 10

// lineRef locates a line in its page: offset (24 bits), columns (20), rows at
// the width history.wide if known (12), flags (8).
type lineRef uint64

// maxRefRows stands for any number of rows too large for a lineRef.
const maxRefRows = 1<<12 - 1

func makeRef(offset, cols int, flags lineFlags) lineRef {
	return lineRef(offset)<<40 | lineRef(cols&(1<<20-1))<<20 | lineRef(flags)
}

func (r lineRef) offset() int      { return int(r >> 40) }
func (r lineRef) cols() int        { return int(r >> 20 & (1<<20 - 1)) }
func (r lineRef) rows() int        { return int(r >> 8 & maxRefRows) }
func (r lineRef) flags() lineFlags { return lineFlags(r) }

// setRows stores a number of rows, at most maxRefRows.
func (r *lineRef) setRows(n int) {
	*r = *r&^(maxRefRows<<8) | lineRef(min(n, maxRefRows))<<8
}

// history holds what has left the top of the primary screen: logical lines,
// with numbers that never change, wrapped when read.
type history struct {
	pages       []*page // oldest first; the last one is being written
	open        openLine
	count       int    // lines in pages
	closed      uint64 // lines ever closed: the number of the next line
	bytes       int64
	rows        int // physical rows of the lines in pages at width wide
	wide        int // 0: rows is unknown
	store       Pages
	renditionOf map[cell]int       // rendition of cell attributes, in the page being written
	recent      [8]cachedRendition // recent lookups
	cache       cachedPage
	// Reusable memory: of the page being written, and of a dropped page.
	buf, spare []byte
	refs       []lineRef
	maxLines   int
	maxBytes   int64
	moved      int // how many of the newest rows a smaller size of the screen moved here
}

// cachedRendition is a cached lookup, of attributes other than 0.
type cachedRendition struct {
	attr cell
	n    int
}

// openLine is a line whose end has not left the screen yet.
type openLine struct {
	text  []byte
	spans []span
	cols  int
	rows  int // pushed so far; 0 = to be counted
	any   bool
	flags lineFlags
	// spacer: the last row left its last column to a wide character, which
	// should begin the next row.
	spacer bool
}

// next is the number of the next line.
func (h *history) next() uint64 { return h.closed }

// base is the number of the oldest line.
func (h *history) base() uint64 { return h.closed - uint64(h.count) }

// push adds a row that leaves the top of the primary screen.
func (t *Terminal) push(r *row) {
	h := t.hist
	if h == nil {
		o := t.option()
		if o.HistoryLines < 0 {
			return
		}
		h = newHistory(o)
		t.hist = h
	}
	if r.flags&rowText != 0 {
		if t.pushText(h, r) {
			return
		}
		r.toCells()
	}
	o := &h.open
	if o.any && len(o.text) > 0 && t.joinsOpen(o, r) {
		o.flags |= lineContinued
		t.closeLine()
	}
	if !o.any {
		o.any = true
		o.flags = t.newLine(r)
	}
	wrapped := r.flags&rowWrapped != 0
	t.addRow(h, r, wrapped)
	if !wrapped {
		t.closeLine()
	} else if h.tooLong() {
		o.flags |= lineContinued
		t.closeLine()
	}
}

// tooLong reports whether the open line must be split: its text and all its
// renditions are in memory.
func (h *history) tooLong() bool {
	if len(h.open.text) > maxOpenLine {
		return true
	}
	n := len(h.pages)
	return n > 0 && !h.pages[n-1].sealed && h.pages[n-1].renditionSize > maxOpenRenditions
}

// newLine returns the flags of a line that begins with r.
func (t *Terminal) newLine(r *row) lineFlags {
	flags := linePlain
	if r.flags&rowPrompt != 0 {
		flags |= linePrompt
	}
	if t.modes&modeGrapheme == 0 {
		flags |= lineWcwidth
	}
	return flags
}

func newHistory(o Options) *history {
	return &history{store: o.Pages, maxLines: o.HistoryLines, maxBytes: o.HistoryBytes}
}

// joinsOpen reports whether a row's first character, a mark without a base,
// would be read as part of the open line's last one.
func (t *Terminal) joinsOpen(o *openLine, r *row) bool {
	c := r.at(0)
	if c&cellContent < 0x300 || o.flags&lineWcwidth != 0 || t.mixed {
		return false
	}
	var buf [maxClusterBytes + 8]byte
	text := appendContent(buf[:0], t, c)
	if char.Of(firstRune(text)).Class() == char.Other {
		return false
	}
	from := max(len(o.text)-maxClusterBytes, 0)
	for from < len(o.text) && o.text[from]&0xc0 == 0x80 {
		from++
	}
	return joinsText(o.text[from:], text)
}

// addRow appends a row's text to the open line.
func (t *Terminal) addRow(h *history, r *row, wrapped bool) {
	o := &h.open
	n := r.length()
	if o.spacer && !r.at(0).isWide() { // it has been overwritten since
		o.text = append(o.text, ' ')
		o.cols++
		o.addSpan(1, 0)
	}
	o.spacer = false
	o.cols += n
	if o.rows++; r.flags&rowCluster != 0 || n == 0 && o.rows > 1 {
		o.rows = -1 << 30 // to be counted from its text
	}
	for x := 0; x < n; {
		attr := r.cells[x] & cellAttr
		from, start := x, len(o.text)
		if t.mixed {
			x = o.addExactCells(t, r.cells[:n], x, attr)
		} else if r.flags&(rowWide|rowCluster) == 0 {
			x = o.addPlain(r.cells[:n], x, attr)
		} else {
			x = o.addCells(t, r.cells[:n], x, attr)
		}
		if len(o.text)-start != x-from {
			o.flags &^= linePlain
		}
		rendition := 0
		if attr != 0 {
			rendition = t.renditionFor(h, attr)
		}
		o.addSpan(len(o.text)-start, rendition)
	}
	if wrapped && n < t.cols { // a row that continues is full
		k := t.cols - n
		for range k {
			o.text = append(o.text, ' ')
		}
		o.cols += k
		o.addSpan(k, 0)
	}
}

// addSpan adds bytes in one rendition.
func (o *openLine) addSpan(bytes, rendition int) {
	if k := len(o.spans); k > 0 && o.spans[k-1].rendition == rendition {
		o.spans[k-1].bytes += bytes
		return
	}
	o.spans = append(o.spans, span{bytes, rendition})
}

// addPlain appends cells of one rendition, none of them wide or a cluster, and
// returns where the next rendition begins.
func (o *openLine) addPlain(cells []cell, x int, attr cell) int {
	b := slices.Grow(o.text, len(cells)-x+8)
	for x < len(cells) {
		if s := cells[x:]; len(s) >= 8 {
			c0, c1, c2, c3 := s[0]^attr, s[1]^attr, s[2]^attr, s[3]^attr
			c4, c5, c6, c7 := s[4]^attr, s[5]^attr, s[6]^attr, s[7]^attr
			if c0|c1|c2|c3|c4|c5|c6|c7 < 0x80 {
				const high, low = 0x8080808080808080, 0x7f7f7f7f7f7f7f7f
				v := uint64(c0 | c1<<8 | c2<<16 | c3<<24 | c4<<32 | c5<<40 | c6<<48 | c7<<56)
				v |= (^(v + low) & high) >> 2 // 0, a blank cell, becomes a space
				n := len(b)
				binary.LittleEndian.PutUint64(b[n:n+8], v)
				b = b[:n+8]
				x += 8
				continue
			}
		}
		c := cells[x] ^ attr
		switch {
		case c < 0x80:
			b = append(b, shown(c))
		case c <= cellRune:
			b = appendRune(b, rune(c))
			b = slices.Grow(b, len(cells)-x+8)
		default:
			o.text = b
			return x
		}
		x++
	}
	o.text = b
	return x
}

// shown is the byte of an ASCII cell; a blank cell is a space.
func shown(c cell) byte { return byte(c | (c-1)>>58&0x20) }

// addCells is addPlain for cells of any kind.
func (o *openLine) addCells(t *Terminal, cells []cell, x int, attr cell) int {
	for x < len(cells) {
		b := slices.Grow(o.text, 3*(len(cells)-x))
		n, wide := len(b), false
		for b = b[:cap(b)]; x < len(cells); x++ {
			c := cells[x] ^ attr
			if c < 0x80 {
				b[n] = shown(c)
				n++
				continue
			}
			if c&^(cellRune|cellWide) != 0 || c&cellRune < 0x800 || c&cellRune > 0xffff {
				break
			}
			u := b[n : n+3]
			u[0], u[1], u[2] = 0xe0|byte(c>>12&0x0f), 0x80|byte(c>>6&0x3f), 0x80|byte(c&0x3f)
			n += 3
			if c&cellWide != 0 {
				wide = true
				if x+1 < len(cells) && cells[x+1] == attr|cellTail {
					x++
				}
			}
		}
		o.text = b[:n]
		if wide {
			o.flags = o.flags&^linePlain | lineWide
		}
		if x == len(cells) || cells[x]&cellAttr != attr {
			break
		}
		o.addCell(t, cells, x)
		x++
	}
	return x
}

// addCell appends one cell of any kind.
func (o *openLine) addCell(t *Terminal, cells []cell, x int) {
	c := cells[x]
	switch c & cellKind {
	case cellTail:
		return
	case cellSpacer:
		if x == len(cells)-1 {
			o.cols--
			o.spacer = true
			o.flags &^= linePlain
			return
		}
	case cellWide:
		o.flags = o.flags&^linePlain | lineWide
	}
	switch r := c & cellContent; {
	case r == 0:
		o.text = append(o.text, ' ')
	case r&cellCluster == 0:
		o.text = appendRune(o.text, rune(r))
	default:
		o.text = appendContent(o.text, t, c)
	}
}

// renditionFor returns the number of a rendition in the page being written.
func (t *Terminal) renditionFor(h *history, attr cell) int {
	recent := &h.recent[attr>>cellStyleShift&7]
	if attr == recent.attr {
		return recent.n
	}
	p := h.writing()
	n, ok := h.renditionOf[attr]
	if !ok {
		l := rendition{style: t.styles.get(attr.style()), bits: attr & (cellProtected | cellSem)}
		if id := attr.link(); id != 0 {
			l.link = t.links.get(uint32(id))
		}
		p.renditions = append(p.renditions, l)
		p.renditionSize += l.size()
		h.grow(p, int64(l.size()))
		n = len(p.renditions)
		if h.renditionOf == nil {
			h.renditionOf = make(map[cell]int)
		}
		h.renditionOf[attr] = n
	}
	*recent = cachedRendition{attr, n}
	return n
}

// forgetRenditions must be called when the numbers of styles or links change their
// meaning.
func (h *history) forgetRenditions() {
	clear(h.renditionOf)
	h.recent = [8]cachedRendition{}
}

// closeLine ends the open line and adds it to the page.
func (t *Terminal) closeLine() {
	h := t.hist
	o := &h.open
	if !o.any {
		return
	}
	if n := len(o.spans); n > 0 && o.spans[n-1].rendition == 0 {
		o.spans = o.spans[:n-1]
	}
	p := h.writing()
	before := len(p.lines)
	p.refs = append(p.refs, makeRef(before, o.cols, o.flags))
	p.lines = appendRecord(p.lines, o.text, o.spans)
	rows := o.rows
	if rows <= 0 && h.wide == t.cols {
		rows = textRows(o.text, o.cols, o.flags, h.wide)
	}
	*o = openLine{text: o.text[:0], spans: o.spans[:0]}
	t.lineAdded(p, rows)
}

// lineAdded counts the line just added to the page being written.
func (t *Terminal) lineAdded(p *page, rows int) {
	h := t.hist
	ref := &p.refs[len(p.refs)-1]
	p.count++
	p.widest = max(p.widest, ref.cols())
	h.closed++
	h.count++
	h.grow(p, int64(len(p.lines)-ref.offset())+8)
	if h.wide == t.cols {
		ref.setRows(rows)
		p.rows += rows
		h.rows += rows
	} else {
		h.wide = 0 // this line was not counted at that width
	}
	if len(p.lines) >= pageSize || p.renditionSize >= pageSize {
		h.seal(p)
	}
	t.trimHistory()
}
