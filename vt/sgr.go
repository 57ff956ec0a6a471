package vt

// sgr is SGR (ECMA-48 8.3.117, ISO 8613-6, xterm ctlseqs): renditions, and
// colours in semicolon and colon form.
func (t *Terminal) sgr(c *csi) {
	t.pen.style = c.rendition(t.pen.style, 0)
	t.pen.stale, t.pen.blankOK = true, false
}

// rendition applies the parameters from number i on to s.
func (c *csi) rendition(s style, i int) style {
	for n := int(c.n); i < n; {
		end := i + 1 // of the sub-parameters
		if c.colons != 0 {
			for end < n && c.colons>>end&1 != 0 {
				end++
			}
		}
		p := c.param[i]
		switch {
		case p == 38 || p == 48 || p == 58:
			var col color
			var ok bool
			if end > i+1 {
				col, ok = colonColor(c.param[i+1 : end])
			} else {
				col, end, ok = c.semicolonColor(i + 1)
			}
			if ok {
				s.setColor(p, col)
			}
		case p == 4 && end > i+1:
			if u := c.param[i+1]; u <= int32(UnderlineDashed) {
				s.setUnder(UnderlineStyle(u))
			}
		case end > i+1: // unknown sub-parameters
		default:
			s.apply(p)
		}
		i = end
	}
	return s
}

func (s *style) setColor(p int32, col color) {
	switch p {
	case 38:
		s.fg = col
	case 48:
		s.bg = col
	case 58:
		s.ul = col
	}
}

// sgrAttrs are the attributes set by SGR 1 to 9.
var sgrAttrs = [10]attrs{
	1: attrBold, 2: attrFaint, 3: attrItalic, 5: attrBlink, 6: attrBlink,
	7: attrInverse, 8: attrConceal, 9: attrStrike,
}

// apply applies a parameter without sub-parameters.
func (s *style) apply(p int32) {
	switch {
	case p == 0:
		*s = style{}
	case p == 4:
		s.setUnder(UnderlineSingle)
	case p < 10:
		s.attrs |= sgrAttrs[p]
	case p == 21:
		s.setUnder(UnderlineDouble)
	case p == 22:
		s.attrs &^= attrBold | attrFaint
	case p == 24:
		s.setUnder(UnderlineNone)
	case p >= 23 && p < 30:
		s.attrs &^= sgrAttrs[p-20]
	case p >= 30 && p < 38:
		s.fg = colorIndexed | color(p-30)
	case p == 39:
		s.fg = 0
	case p >= 40 && p < 48:
		s.bg = colorIndexed | color(p-40)
	case p == 49:
		s.bg = 0
	case p == 53:
		s.attrs |= attrOverline
	case p == 55:
		s.attrs &^= attrOverline
	case p == 59:
		s.ul = 0
	case p >= 90 && p < 98:
		s.fg = colorIndexed | color(p-90+8)
	case p >= 100 && p < 108:
		s.bg = colorIndexed | color(p-100+8)
	}
}

// semicolonColor reads 5;n or 2;r;g;b from parameter i on and returns the end.
func (c *csi) semicolonColor(i int) (col color, end int, ok bool) {
	n := int(c.n)
	if i >= n {
		return 0, n, false
	}
	switch c.param[i] {
	case 5:
		if i+1 >= n {
			return 0, n, false
		}
		v := c.param[i+1]
		return colorIndexed | color(v), i + 2, v < 256
	case 2:
		if i+3 >= n {
			return 0, n, false
		}
		col, ok = rgb(c.param[i+1 : i+4])
		return col, i + 4, ok
	}
	return 0, i + 1, false
}

// colonColor reads the sub-parameters after 38: 5:n, 2:r:g:b, or 2:space:r:g:b
// with optional further ones.
func colonColor(p []int32) (color, bool) {
	switch {
	case p[0] == 5 && len(p) >= 2:
		return colorIndexed | color(p[1]&0xff), p[1] < 256
	case p[0] == 2 && len(p) == 4:
		return rgb(p[1:4])
	case p[0] == 2 && len(p) > 4:
		return rgb(p[2:5])
	}
	return 0, false
}

func rgb(p []int32) (color, bool) {
	if p[0] > 255 || p[1] > 255 || p[2] > 255 {
		return 0, false
	}
	return colorRGB | color(p[0])<<16 | color(p[1])<<8 | color(p[2]), true
}

// pushSGR and popSGR are XTPUSHSGR and XTPOPSGR (xterm ctlseqs), of the whole
// rendition; the stack holds ten.
func (t *Terminal) pushSGR() {
	e := t.more()
	if len(e.sgrStack) >= 10 {
		e.sgrStack = append(e.sgrStack[:0], e.sgrStack[1:]...)
	}
	e.sgrStack = append(e.sgrStack, t.pen.style)
}

func (t *Terminal) popSGR() {
	if t.extra == nil || len(t.extra.sgrStack) == 0 {
		return
	}
	n := len(t.extra.sgrStack) - 1
	t.pen.style = t.extra.sgrStack[n]
	t.extra.sgrStack = t.extra.sgrStack[:n]
	t.pen.stale, t.pen.blankOK = true, false
}
