package vt

import (
	"encoding/binary"
	"errors"
	"slices"
)

// Pages stores sealed pages of history for a Terminal; without one they stay in
// memory. A page is usually 64 KiB, at most a few hundred. Calls come from the
// Terminal's caller, one at a time.
type Pages interface {
	// Append stores a page, which is not changed afterwards, and returns its
	// number. On error the terminal keeps the page in memory.
	Append(page []byte) (number uint64, err error)
	// Read returns a page; the terminal does not change it. On error the page
	// counts as lost (HistoryLost).
	Read(number uint64) ([]byte, error)
}

// PageDropper is implemented by Pages that want to know when a page is no
// longer needed: the history has reached its limits or was cleared.
type PageDropper interface {
	Drop(number uint64)
}

// PageBuffers is implemented by Pages that recycle memory for pages.
type PageBuffers interface {
	// Buffer returns memory of length 0 for the next page, or nil.
	Buffer() []byte
}

// A page is a version, the renditions its lines use, an index, and the lines:
//
//	byte    1
//	uvarint number of renditions; each: fg, bg, underline colour, attributes,
//	        semantic (uvarints), link id, link URI (length and bytes)
//	uvarint width at which rows were counted, 0 for none
//	uvarint number of lines; each: bytes, columns, rows, flags (uvarints)
//	lines, each: uvarint length of the text, uvarint number of runs, the text
//	        in UTF-8, the runs: uvarint bytes, uvarint rendition from 1, 0 for
//	        the default
const pageVersion = 1

// pageSize is the size of its lines at which a page is sealed, in bytes.
const pageSize = 64 << 10

var errPage = errors.New("vt: not a page of history")

// rendition is a rendition in a page.
type rendition struct {
	style style
	link  link
	bits  cell // protected and semantic bits
}

// size is the size of a rendition in a page, in bytes.
func (l *rendition) size() int { return renditionBytes + l.link.size() }

// span is a run of text in one rendition; rendition is an index into the page's
// renditions plus one.
type span struct{ bytes, rendition int }

// line is a decoded line of history. Its slices belong to the page.
type line struct {
	text       []byte
	spans      []span
	renditions []rendition
	flags      lineFlags
	cols       int
}

// rendition returns the rendition of a span.
func (l *line) rendition(s span) rendition {
	if s.rendition == 0 || s.rendition > len(l.renditions) {
		return rendition{}
	}
	return l.renditions[s.rendition-1]
}

// appendRecord appends a line in the form of a page.
func appendRecord(dst, text []byte, spans []span) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	dst = binary.AppendUvarint(dst, uint64(len(spans)))
	dst = append(dst, text...)
	for _, s := range spans {
		dst = binary.AppendUvarint(dst, uint64(s.bytes))
		dst = binary.AppendUvarint(dst, uint64(s.rendition))
	}
	return dst
}

// reader reads values from the front of b; bad is set if they run out.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uint() int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > 1<<31 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) string() string { return string(r.bytes(r.uint())) }

// readRecord decodes a line, appending its spans to buf.
func readRecord(b []byte, buf []span) (line, bool) {
	r := reader{b: b}
	size, count := r.uint(), r.uint()
	l := line{text: r.bytes(size), spans: buf}
	for range min(count, len(r.b)) {
		l.spans = append(l.spans, span{r.uint(), r.uint()})
	}
	return l, !r.bad
}

// appendRenditions appends the head of a page.
func appendRenditions(dst []byte, renditions []rendition) []byte {
	dst = append(dst, pageVersion)
	dst = binary.AppendUvarint(dst, uint64(len(renditions)))
	for _, l := range renditions {
		s := l.style
		for _, v := range [...]uint64{uint64(s.fg), uint64(s.bg), uint64(s.ul), uint64(s.attrs), uint64(l.bits >> 56)} {
			dst = binary.AppendUvarint(dst, v)
		}
		for _, v := range [...]string{l.link.id, l.link.uri} {
			dst = append(binary.AppendUvarint(dst, uint64(len(v))), v...)
		}
	}
	return dst
}

// appendPage appends a page.
func appendPage(dst []byte, renditions []rendition, refs []lineRef, lines []byte, wide int) []byte {
	dst = slices.Grow(dst, len(lines)+6*len(refs)+64)
	dst = appendRenditions(dst, renditions)
	dst = binary.AppendUvarint(dst, uint64(wide))
	dst = binary.AppendUvarint(dst, uint64(len(refs)))
	for i, r := range refs {
		end := len(lines)
		if i+1 < len(refs) {
			end = refs[i+1].offset()
		}
		dst = binary.AppendUvarint(dst, uint64(end-r.offset()))
		dst = binary.AppendUvarint(dst, uint64(r.cols()))
		dst = binary.AppendUvarint(dst, uint64(r.rows()))
		dst = binary.AppendUvarint(dst, uint64(r.flags()))
	}
	if len(refs) == 0 {
		return dst
	}
	return append(dst, lines[refs[0].offset():]...)
}

// readPage decodes a page; its lines alias b.
func readPage(b []byte) (cachedPage, error) {
	var c cachedPage
	if len(b) == 0 || b[0] != pageVersion {
		return c, errPage
	}
	r := reader{b: b[1:]}
	for range min(r.uint(), len(r.b)) {
		var l rendition
		l.style = style{fg: color(r.uint()), bg: color(r.uint()), ul: color(r.uint()), attrs: attrs(r.uint())}
		l.bits = cell(r.uint()) << 56 & (cellProtected | cellSem)
		l.link = link{id: r.string(), uri: r.string()}
		c.renditions = append(c.renditions, l)
	}
	c.wide = r.uint()
	at := 0
	for range min(r.uint(), len(r.b)) {
		size := r.uint()
		ref := makeRef(at, r.uint(), 0)
		ref.setRows(r.uint())
		c.refs = append(c.refs, ref|lineRef(lineFlags(r.uint())))
		at += size
	}
	if r.bad || at != len(r.b) {
		return c, errPage
	}
	c.lines = r.b
	return c, nil
}

// cachedPage is a page read from Pages.
type cachedPage struct {
	number     uint64
	refs       []lineRef
	renditions []rendition
	lines      []byte
	wide       int // the width at which the rows of refs were counted
	valid      bool
}

// count counts the rows at a width unless that is done already.
func (c *cachedPage) count(cols int) {
	if c.wide != cols {
		countRefs(c.refs, c.lines, cols)
		c.wide = cols
	}
}
