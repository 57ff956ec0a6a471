package vt

import "encoding/binary"

// A snapshot's pages of history are:
//
//	uvarint number of the oldest line
//	uvarint width at which rows were counted, 0 for none
//	uvarint number of pages; each: what it is (uvarint), then uvarints
//	        pageKept: number (against the one before, zig-zag), lines that were
//	        dropped in front, lines, rows, columns of the longest, size
//	        pageHere, pageOpen: size, length, and the page (see pageVersion)
const (
	pageKept = 0 // by Pages
	pageHere = 1 // sealed, and in memory
	pageOpen = 2 // still written to
)

// maxPageLines exceeds the lines of any page: the shortest line takes two
// bytes.
const maxPageLines = 1 << 17

// appendPages writes the pages whose lines come before line upTo.
func (h *history) appendPages(b []byte, upTo uint64) []byte {
	wide := h.wide
	if upTo != h.closed {
		wide = 0
	}
	var pages []*page
	for _, p := range h.pages {
		if p.count > 0 && p.first < upTo {
			pages = append(pages, p)
		}
	}
	b = binary.AppendUvarint(b, min(h.base(), upTo))
	b = binary.AppendUvarint(b, uint64(wide))
	b = binary.AppendUvarint(b, uint64(len(pages)))
	number := uint64(0)
	for _, p := range pages {
		count := int(min(uint64(p.count), upTo-p.first))
		if p.kept() {
			b = append(b, pageKept)
			b = binary.AppendVarint(b, int64(p.number-number))
			number = p.number
			for _, v := range [...]int{p.skip, count, p.rows, p.widest, int(p.size)} {
				b = binary.AppendUvarint(b, uint64(v))
			}
			continue
		}
		kind := byte(pageHere)
		if !p.sealed {
			kind = pageOpen
		}
		refs, lines := p.refs[p.skip:][:count], p.lines
		if end := p.skip + count; end < len(p.refs) {
			lines = lines[:p.refs[end].offset()]
		}
		b = append(b, kind)
		b = binary.AppendUvarint(b, uint64(p.size))
		var at int
		b, at = beginLength(b)
		b = endLength(appendPage(b, p.renditions, refs, lines, wide), at)
	}
	return b
}

// readPages reverses appendPages.
func (h *history) readPages(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	r := reader{b: b}
	h.closed = r.long()
	h.wide = r.uint()
	number := uint64(0)
	for range min(r.uint(), len(r.b)) {
		p := &page{first: h.closed, sealed: true}
		switch r.uint() {
		case pageKept:
			number += uint64(r.signed())
			p.number = number
			p.skip, p.count, p.rows, p.widest = r.uint(), r.uint(), r.uint(), r.uint()
			p.size = int64(r.uint())
		case pageOpen:
			p.sealed = false
			fallthrough
		case pageHere:
			p.size = int64(r.uint())
			c, err := readPage(r.bytes(r.uint()))
			if err != nil {
				return ErrSnapshot
			}
			p.take(c)
		default:
			return ErrSnapshot
		}
		if r.bad || p.skip+p.count > maxPageLines {
			return ErrSnapshot
		}
		h.pages = append(h.pages, p)
		h.closed += uint64(p.count)
		h.count += p.count
		h.bytes += p.size
		h.rows += p.rows
	}
	if r.bad || len(r.b) > 0 {
		return ErrSnapshot
	}
	return nil
}

// take loads a decoded page into memory.
func (p *page) take(c cachedPage) {
	p.refs, p.renditions, p.count = c.refs, c.renditions, len(c.refs)
	for i := range p.renditions {
		p.renditionSize += p.renditions[i].size()
	}
	p.lines = append(make([]byte, 0, len(c.lines)), c.lines...)
	for _, r := range p.refs {
		p.widest = max(p.widest, r.cols())
		p.rows += r.rowsIn(p.lines, max(c.wide, 1))
	}
}

// long is uint for 64 bits.
func (r *reader) long() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// signed reads a zig-zag number.
func (r *reader) signed() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}
