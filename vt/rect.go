package vt

import "gascity.dev/gc/vt/internal/char"

// area is a rectangle of cells: [x0, x1) × [y0, y1).
type area struct{ x0, y0, x1, y1 int }

// area reads top;left;bottom;right, 1-based, from parameter i on, relative to
// and clipped by the margins in origin mode (DEC STD 070, VT420). ok is false
// if it is empty.
func (t *Terminal) area(c *csi, i int) (a area, ok bool) {
	ox, oy := t.origin()
	w, h := t.cols, t.rows
	if t.modes&modeOrigin != 0 {
		w, h = t.right-t.left+1, t.bot-t.top+1
	}
	a.y0 = c.arg(i, 1) - 1 + oy
	a.x0 = c.arg(i+1, 1) - 1 + ox
	a.y1 = min(c.arg(i+2, h), h) + oy
	a.x1 = min(c.arg(i+3, w), w) + ox
	return a, a.x0 < a.x1 && a.y0 < a.y1
}

// rectangle carries out the rectangle functions (DEC STD 070, VT420).
func (t *Terminal) rectangle(c *csi, inter, final byte) {
	switch uint16(inter)<<8 | uint16(final) {
	case '$'<<8 | 'v':
		t.copyArea(c)
	case '$'<<8 | 'x':
		t.fillArea(c)
	case '$'<<8 | 'z':
		t.eraseArea(c, 0) // protected characters, too
	case '$'<<8 | '{':
		t.eraseArea(c, cellProtected)
	case '$'<<8 | 'r':
		t.changeArea(c, false)
	case '$'<<8 | 't':
		t.changeArea(c, true)
	case '*'<<8 | 'x': // DECSACE
		if n := c.arg(0, 0); n <= 2 {
			t.more().sacExtent = uint8(n)
		}
	case '*'<<8 | 'y':
		t.replyChecksum(c)
	case '$'<<8 | 'w':
		t.replyPresentation(c.arg(0, 0))
	}
}

// copyArea is DECCRA. There is one page only.
func (t *Terminal) copyArea(c *csi) {
	a, ok := t.area(c, 0)
	if !ok {
		return
	}
	ox, oy := t.origin()
	y, x := c.arg(5, 1)-1+oy, c.arg(6, 1)-1+ox
	right, bottom := t.cols, t.rows
	if t.modes&modeOrigin != 0 {
		right, bottom = t.right+1, t.bot+1
	}
	w, h := min(a.x1-a.x0, right-x), min(a.y1-a.y0, bottom-y)
	if w <= 0 || h <= 0 {
		return
	}
	rows := make([]cell, w*h)
	for i := range h {
		r := t.scr.view(a.y0 + i)
		if n := min(int(r.used), a.x0+w); n > a.x0 {
			copy(rows[i*w:(i+1)*w], r.cells[a.x0:n])
		}
	}
	for i := range h {
		src := rows[i*w : (i+1)*w]
		healEdges(src)
		r := t.touch(y + i)
		r.splitAt(x)
		r.splitAt(x + w)
		copy(r.cells[x:], src)
		r.used = max(r.used, int32(x+w))
		r.flags |= rowWide | rowCluster
		if r.trim(); int(r.used) < t.cols {
			r.flags &^= rowWrapped
		}
	}
}

// healEdges blanks the halves of wide cells cut at either end of s.
func healEdges(s []cell) {
	if s[0].isTail() {
		s[0] = s[0].blanked()
	}
	switch n := len(s) - 1; {
	case s[n].isWide():
		s[n] = s[n].blanked()
	case s[n].kind() == cellSpacer:
		s[n] = s[n].blanked() | ' '
	}
}

// fillArea is DECFRA: a character of GL or GR, in the pen's rendition.
func (t *Terminal) fillArea(c *csi) {
	ch := c.arg(0, 0)
	a, ok := t.area(c, 1)
	if !ok || ch < 0x20 || ch > 0x7e && ch < 0xa0 || ch > 0x10ffff || ch >= 0xd800 && ch < 0xe000 {
		return
	}
	r := rune(ch)
	if ch < 0x7f && t.chars.single == 0 {
		r = t.chars.left(byte(ch))
	}
	if char.Of(r).Width() != 1 {
		return
	}
	glyph := t.penAttr() | cell(r)
	for y := a.y0; y < a.y1; y++ {
		row := t.touch(y)
		row.splitAt(a.x0)
		row.splitAt(a.x1)
		row.fill(a.x0, a.x1, glyph)
	}
}

// eraseArea is DECERA and DECSERA.
func (t *Terminal) eraseArea(c *csi, keep cell) {
	a, ok := t.area(c, 0)
	if !ok {
		return
	}
	t.changed = true
	for y := a.y0; y < a.y1; y++ {
		t.eraseAll(y, a.x0, a.x1, keep)
	}
}

// changeArea is DECCARA, which sets renditions, and DECRARA, which reverses
// them. DECSACE selects whether the corners bound a rectangle or a stream.
func (t *Terminal) changeArea(c *csi, reverse bool) {
	a, ok := t.area(c, 0)
	stream := t.extra == nil || t.extra.sacExtent != 2
	if !ok && !(stream && a.y0 < a.y1-1) {
		return
	}
	for y := a.y0; y < a.y1; y++ {
		x0, x1 := a.x0, a.x1
		if stream {
			ox, _ := t.origin()
			if y > a.y0 {
				x0 = ox
			}
			if y < a.y1-1 {
				x1 = t.cols
				if t.modes&modeOrigin != 0 {
					x1 = t.right + 1
				}
			}
		}
		t.changeCells(c, y, x0, x1, reverse)
	}
}

func (t *Terminal) changeCells(c *csi, y, x0, x1 int, reverse bool) {
	r := t.touch(y)
	for x := x0; x < x1; x++ {
		s := t.styles.get(r.cells[x].style())
		if reverse {
			s = c.reversed(s, 4)
		} else {
			s = c.areaRendition(s, 4)
		}
		c := r.cells[x]&^cellStyle | cell(t.styleID(s))<<cellStyleShift
		if kind := c.kind(); kind == cellSpacer && c != cellSpacer || c&cellGlyph == 0 && c != 0 {
			c = c&^cellKind | ' ' // blank cells become visible
		}
		r.cells[x] = c
	}
	r.used = max(r.used, int32(x1))
	r.trim()
}

// areaRendition applies SGR parameters; none means 0.
func (c *csi) areaRendition(s style, i int) style {
	if int(c.n) <= i {
		s.attrs = 0
		return s
	}
	keep := s
	s = c.rendition(s, i)
	for k := i; k < int(c.n); k++ {
		if c.param[k] == 0 && s.fg == 0 && s.bg == 0 { // 0 resets attributes, not colours
			s.fg, s.bg, s.ul = keep.fg, keep.bg, keep.ul
		}
	}
	return s
}

// reversed is DECRARA: toggles the attributes listed.
func (c *csi) reversed(s style, i int) style {
	if int(c.n) <= i {
		return reverseAttrs(s, attrBold|attrBlink|attrInverse, true)
	}
	for ; i < int(c.n); i++ {
		switch p := c.param[i]; {
		case p == 0:
			s = reverseAttrs(s, attrBold|attrBlink|attrInverse, true)
		case p == 4:
			s = reverseAttrs(s, 0, true)
		case p < 10:
			s = reverseAttrs(s, sgrAttrs[p], false)
		}
	}
	return s
}

func reverseAttrs(s style, a attrs, under bool) style {
	s.attrs ^= a
	if under {
		if s.under() == UnderlineNone {
			s.setUnder(UnderlineSingle)
		} else {
			s.setUnder(UnderlineNone)
		}
	}
	return s
}

// replyChecksum is DECRQCRA: the negated sum of the characters and of values
// for their renditions, in 16 bits; unwritten cells count as spaces (xterm
// since 279, XTCHECKSUM 0).
func (t *Terminal) replyChecksum(c *csi) {
	a, ok := t.area(c, 2)
	sum := 0
	if ok {
		for y := a.y0; y < a.y1; y++ {
			r := t.scr.view(y)
			for x := a.x0; x < a.x1; x++ {
				sum += t.checksum(r.at(x))
			}
		}
	}
	b := appendInt(append(t.beginReply(), "\x1bP"...), c.arg(0, 0))
	b = append(b, "!~"...)
	for shift := 12; shift >= 0; shift -= 4 {
		b = append(b, "0123456789ABCDEF"[-sum>>shift&15])
	}
	t.endReply(append(b, "\x1b\\"...))
}

func (t *Terminal) checksum(c cell) int {
	if c.isTail() {
		return 0
	}
	var buf [maxClusterBytes + 8]byte
	text := appendContent(buf[:0], t, c)
	if len(text) == 0 {
		text = append(text, ' ')
	}
	sum := 0
	for len(text) > 0 {
		r, n := decode(text)
		sum += int(r)
		text = text[n:]
	}
	s := t.styles.get(c.style())
	for _, v := range [...]struct {
		on  bool
		add int
	}{
		{s.under() != 0, 0x10},
		{s.attrs&attrInverse != 0, 0x20}, {s.attrs&attrBlink != 0, 0x40}, {s.attrs&attrBold != 0, 0x80},
	} {
		if v.on {
			sum += v.add
		}
	}
	return sum
}

// reportSGR is XTREPORTSGR: the renditions common to all cells of a rectangle.
func (t *Terminal) reportSGR(c *csi) {
	a, ok := t.area(c, 0)
	if !ok {
		return
	}
	common := t.styles.get(t.scr.view(a.y0).at(a.x0).style())
	for y := a.y0; y < a.y1; y++ {
		r := t.scr.view(y)
		for x := a.x0; x < a.x1; x++ {
			s := t.styles.get(r.at(x).style())
			common.attrs &= s.attrs
			if s.fg != common.fg {
				common.fg = 0
			}
			if s.bg != common.bg {
				common.bg = 0
			}
		}
	}
	b := common.appendSGR(append(t.beginReply(), "\x1b[0"...))
	t.endReply(append(b, 'm'))
}
