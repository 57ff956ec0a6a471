package vt

// cutHost ends a sequence or string that was cut off.
const cutHost = "\x18\x1b\\"

// resetHost resets everything that AppendPaint or later output may have set,
// and leaves the alternate screen. It moves the cursor but does not scroll.
const resetHost = "\x1b[<99u\x1b[=0u" + // keyboard flags of the alternate screen
	"\x1b[?1049l" +
	"\x1b[<99u\x1b[=0u" + // and of the primary one
	"\x1b[>4;0m" +
	"\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l" +
	"\x1b[?1004l\x1b[?2004l\x1b[?2033l\x1b[?2048l" +
	"\x1b[?1l\x1b[?66l\x1b>\x1b[?5l\x1b[?6l\x1b[?7h\x1b[?42l\x1b[?45l\x1b[?1045l\x1b[?67l\x1b[?1007h" +
	"\x1b[4l\x1b[20l\x1b[?69l\x1b[r\x1b[?5W\x1b[0*x" +
	"\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b[m\x1b]8;;\x1b\\\x1b[0\"q\x1b[?12l\x1b[0 q\x1b[?25h"

// AppendModes appends what gives a host terminal the modes that AppendPaint starts from,
// whatever it was set to. It leaves the alternate screen and moves the cursor.
func AppendModes(dst []byte) []byte { return append(dst, resetHost...) }

// AppendReset appends what resets everything that AppendPaint, later output or
// the attach client (mode 2031) may have set on a host terminal, and leaves the
// alternate screen. It is the last thing written on detach. The cursor ends up
// in column 1 of an empty line.
func AppendReset(dst []byte) []byte {
	return append(AppendResetModes(dst), "\x1b[999;1H\r\n"...)
}

// AppendResetModes is AppendReset without the new line: it scrolls nothing.
func AppendResetModes(dst []byte) []byte {
	return append(dst, cutHost+"\x1b[?2026l\x1b[?2031l"+resetHost...)
}

// content paints what readers see over an earlier paint with the same modes.
// Rendition, character sets and insert mode are reset, because raw output never
// follows on a terminal of another size.
func (p *painter) content(o PaintOptions) []byte {
	t := p.t
	s, x, y, title, kind := t.scr, t.x, t.y, t.title, 0
	if f := t.frozen; f != nil {
		s, x, y, title = &f.screen, f.x, f.y, f.title
	}
	if t.extra != nil {
		kind = int(t.extra.cursorKind)
	}
	p.str("\x1b[?2026h\x1b[?7h\x1b[4l\x1b(B\x0f\x1b[m\x1b]8;;\x1b\\")
	top := windowTop(y, o, t)
	wrapped := false
	for row := range o.Rows {
		if !wrapped {
			p.clearRow(row)
		}
		wrapped = false
		if row >= t.rows {
			continue
		}
		r := s.view(top + row)
		p.windowRow(r, row, o)
		if row+1 < min(o.Rows, t.rows) && p.continues(r, s.view(top+row+1), o) {
			p.clearRow(row + 1) // before the wrap, which clearing it would undo
			p.wrapOnHost(r, s.view(top+row+1), row)
			wrapped = true
		}
	}
	p.title(title)
	if t.modes&modeAutowrap == 0 {
		p.mode(7, false)
	}
	p.mode(25, t.Cursor().Visible)
	p.csi(" q", kind)
	p.blink()
	p.rendition(rendition{})
	p.csi("H", clampRow(y, y, o, t)+1, min(x, o.Cols-1)+1)
	p.str("\x1b[?2026l")
	return p.b
}

func (p *painter) clearRow(y int) {
	p.rendition(rendition{})
	p.csi("H", y+1, 1)
	p.str("\x1b[2K")
}
