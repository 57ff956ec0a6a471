package vt

import "bytes"

// history writes the lines that have left the screen, starting at byte skip of
// line from. The open line comes last, without a line end.
func (p *painter) history(from uint64, skip int) {
	h := p.t.hist
	if h == nil {
		return
	}
	p.lines(from, h.closed, skip)
	if h.open.any {
		if h.closed > from {
			skip = 0
		}
		l := h.openLine()
		p.line(l, skip)
		p.prev = bytes.Clone(lastCluster(l.text, l.flags&lineWcwidth == 0))
	}
}

// lastCluster returns the last character of text.
func lastCluster(text []byte, grapheme bool) (last []byte) {
	if n := len(text); n > 0 && text[n-1] < 0x80 {
		return nil
	}
	for len(text) > 0 {
		n, _ := nextCluster(text, grapheme)
		last, text = inexact(text[:n]), text[n:]
	}
	return last
}

// lines writes the closed lines of [from, to), the first one from byte skip.
func (p *painter) lines(from, to uint64, skip int) {
	h := p.t.hist
	var buf [64]span
	for n := max(from, h.base(), p.kept); n < to; n++ {
		pg, i := h.pageOf(n)
		l := h.line(pg, i, buf[:0])
		if l.flags&lineGone != 0 {
			continue
		}
		k := 0
		if n == from {
			k = skip
		}
		p.line(l, k)
		if l.flags&lineContinued == 0 {
			p.rendition(rendition{})
			p.str("\r\n")
		}
	}
}

// line writes a line of history from byte skip on.
func (p *painter) line(l line, skip int) {
	if l.flags&linePrompt != 0 && !p.plain && skip == 0 {
		p.str("\x1b]133;A\x1b\\")
		p.bits = p.bits&^cellSem | semPrompt<<cellSemShift
	}
	p.policy(l.flags&lineWcwidth == 0)
	_, starts := wrapStarts(l.text, l.flags, p.t.cols)
	at := 0
	part := func(lk rendition, end int) {
		for at < end {
			for len(starts) > 1 && starts[1] <= at {
				starts = starts[1:]
			}
			stop := end
			if len(starts) > 1 {
				stop = min(end, starts[1])
			}
			if from := max(at, skip); from < stop {
				if at == starts[0] && at > 0 && lk.style.bg != 0 {
					_, width := nextCluster(l.text[at:], l.flags&lineWcwidth == 0)
					p.wrapPlain(width == 2)
				}
				p.rendition(lk)
				from += p.first(l, from)
				p.lineText(l.text[from:stop])
			}
			at = stop
		}
	}
	for _, s := range l.spans {
		part(l.rendition(s), min(at+s.bytes, len(l.text)))
	}
	part(rendition{}, len(l.text))
}

// lineText writes text of a history line under the line's width policy.
func (p *painter) lineText(text []byte) {
	for {
		i := bytes.IndexByte(text, exactMark)
		if i < 0 {
			break
		}
		char, width, n := readExact(text[i:])
		if n == 0 {
			break
		}
		p.b = append(p.b, text[:i]...)
		p.exact(char, width == 2, false)
		text = text[i+n:]
	}
	p.b = append(p.b, text...)
}

// first writes a line's first character if it is a combining mark without a
// base, and returns its length.
func (p *painter) first(l line, from int) int {
	if from > 0 || l.text[0] < 0x80 {
		return 0
	}
	grapheme := p.grapheme
	n, width := nextCluster(l.text, grapheme)
	if remakes(l.text[:n], width, grapheme) {
		return 0
	}
	p.glyph(nil, l.text[:n], width == 2)
	p.policy(grapheme)
	return n
}

// wrapPlain makes the cursor wrap in the default rendition: a row that scrolls
// in takes its background from the pen. If the next row begins with a wide
// character, a wide one is written, because it wraps wherever it does not fit.
func (p *painter) wrapPlain(wide bool) {
	p.rendition(rendition{bits: p.bits})
	if !wide {
		p.str(" \r\x1b[X")
		return
	}
	p.str("漢\r")
}

// wasOpen returns the line that was open when an update began, in the
// renditions of the line it became.
func (h *history) wasOpen(f *frozen) line {
	l := h.openLine()
	if f.lines < h.closed {
		p, i := h.pageOf(f.lines)
		l = h.line(p, i, nil)
	}
	l.text, l.flags = f.open, f.flags
	return l
}
