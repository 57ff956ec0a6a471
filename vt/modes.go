package vt

// modeSet is a set of modes.
type modeSet uint64

const (
	modeInsert modeSet = 1 << iota // IRM
	modeLNM                        // LNM
	modeAppCursor
	modeColumns // DECCOLM
	modeReverseVideo
	modeOrigin
	modeAutowrap
	modeMouseX10
	modeBlink
	modeVisible
	modeAllowColumns
	modeReverse
	modeNRCS
	modeAlt47
	modeAppKeypad
	modeBackarrow
	modeLRMM
	modeNoClear // DECNCSM
	modeMouse
	modeMouseDrag
	modeMouseAny
	modeFocus
	modeMouseUTF8
	modeMouseSGR
	modeAltScroll
	modeMouseURXVT
	modeMousePixels
	modeReverseExt
	modeAlt1047
	modeAlt1049
	modePaste
	modeSync
	modeGrapheme
	modeColorScheme
	modeInBandSize
	modeVisibility
	modeISOProtect // protection is that of SPA, not of DECSCA

	defaultModes = modeAutowrap | modeVisible | modeBlink | modeGrapheme | modeAltScroll

	mouseModes    = modeMouseX10 | modeMouse | modeMouseDrag | modeMouseAny
	mouseEncoding = modeMouseUTF8 | modeMouseSGR | modeMouseURXVT | modeMousePixels
	// Modes by which a program says what input it wants.
	inputModes = mouseModes | mouseEncoding | modeAppCursor | modeAppKeypad | modeBackarrow | modeFocus | modeAltScroll |
		modePaste | modeColorScheme | modeInBandSize | modeVisibility

	altModes = modeAlt47 | modeAlt1047 | modeAlt1049
)

// The mode tables are arrays indexed by number: maps would be filled at every
// process start.

// decModes are the DEC private modes a program may set and reset.
var decModes = [...]modeSet{
	1: modeAppCursor, 3: modeColumns, 5: modeReverseVideo, 6: modeOrigin, 7: modeAutowrap,
	9: modeMouseX10, 12: modeBlink, 25: modeVisible, 40: modeAllowColumns, 42: modeNRCS,
	45: modeReverse, 47: modeAlt47, 66: modeAppKeypad, 67: modeBackarrow, 69: modeLRMM,
	95: modeNoClear, 1000: modeMouse, 1002: modeMouseDrag, 1003: modeMouseAny, 1004: modeFocus,
	1005: modeMouseUTF8, 1006: modeMouseSGR, 1007: modeAltScroll, 1015: modeMouseURXVT,
	1016: modeMousePixels, 1045: modeReverseExt, 1047: modeAlt1047, 1049: modeAlt1049,
	2004: modePaste, 2026: modeSync, 2027: modeGrapheme, 2031: modeColorScheme, 2033: modeVisibility, 2048: modeInBandSize,
}

// ansiModes are the modes of ECMA-48 a program may set and reset.
var ansiModes = [...]modeSet{4: modeInsert, 20: modeLNM}

// DECRQM replies that never change: 3 is permanently set, 4 permanently reset.
var (
	decFixed = [...]uint8{
		2:  3,        // DECANM: never VT52
		4:  4,        // DECSCLM: always jump scrolling
		8:  3,        // DECARM: the keyboard repeats
		18: 4, 19: 4, // printing
		1001: 4,                   // highlight mouse tracking
		8452: 4,                   // a sixel image does not leave the cursor to its right
		1034: 4, 1036: 3, 1039: 3, // Meta sends ESC
		// Writing from the right, Hebrew and Greek, Tektronix, keyboards of other
		// countries, pages larger than the screen, lines and modems of the VT510: none.
		34: 4, 35: 4, 36: 4, 38: 4, 43: 4, 44: 4, 46: 4, 57: 4, 58: 4, 59: 4, 60: 4, 61: 4, 64: 4, 68: 4, 73: 4, 81: 4,
		16: 4, 108: 4, 109: 4, 110: 4, 111: 4, 112: 4, 113: 4, 114: 4, 115: 4, 116: 4, 117: 4,
		96: 4, 97: 4, 98: 4, 99: 4, 100: 4, 101: 4, 102: 4, 103: 4, 104: 4, 106: 4,
		// xterm's and rxvt's windows, keyboards, selections, bells, and cursors that
		// programs do not decide on; sixel.
		10: 4, 13: 4, 14: 3, 30: 4, 41: 4, 80: 4, 1010: 4, 1011: 4, 1035: 4, 1037: 4,
		1040: 4, 1041: 4, 1042: 4, 1043: 4, 1044: 4, 1046: 3, 1050: 4, 1051: 4, 1052: 4, 1053: 4,
		1060: 4, 1061: 4, 1070: 4, 2001: 4, 2002: 4, 2003: 4, 2005: 4, 2006: 4,
	}
	ansiFixed = [...]uint8{
		2: 4, 12: 3, // KAM: the keyboard is never locked; SRM: no local echo
		// ECMA-48 7.2 modes that no terminal implements.
		1: 4, 3: 4, 5: 4, 7: 4, 10: 4, 11: 4, 13: 4, 14: 4, 15: 4, 16: 4, 17: 4, 18: 4, 19: 4,
	}
)

// mode returns a table entry, 0 for a number outside the table.
func mode[T modeSet | uint8](table []T, n int) T {
	if n < 0 || n >= len(table) {
		return 0
	}
	return table[n]
}

// decMode returns the DEC private mode of a number, 0 for none.
func decMode(n int) modeSet { return mode(decModes[:], n) }

// setMode sets or resets a bit without side effects.
func (t *Terminal) setMode(m modeSet, on bool) {
	if on {
		t.modes |= m
	} else {
		t.modes &^= m
	}
}

// changeModes is SM, RM, DECSET and DECRST (ECMA-48 8.3.125, 8.3.106).
func (t *Terminal) changeModes(c *csi, on bool) {
	for i := range int(c.n) {
		t.changeMode(int(c.param[i]), c.prefix == '?', on)
	}
}

func (t *Terminal) changeMode(n int, dec, on bool) {
	t.changed, t.outside = true, true
	if !dec {
		t.setMode(mode(ansiModes[:], n), on)
		t.updateSlow()
		return
	}
	m := decMode(n)
	if m == 0 {
		if n == 1048 {
			if on {
				t.saveCursor()
			} else {
				t.restoreCursor()
			}
		}
		return
	}
	switch {
	case m&inputModes != 0 && t.onPipe():
		return
	case m&altModes != 0:
		t.switchScreen(m, on)
		return
	case m&mouseModes != 0: // the modes exclude each other (xterm)
		t.modes &^= mouseModes
	case m&mouseEncoding != 0 && on:
		t.modes &^= mouseEncoding
	}
	if m == modeSync {
		t.syncMode(on)
		return
	}
	if m == modeLRMM && t.level() < 4 { // the VT300 did not have it
		return
	}
	t.mixed = t.mixed || m == modeGrapheme && on != (t.modes&m != 0)
	t.setMode(m, on)
	t.modeEffect(m, on)
}

// onPipe reports whether the program's input is not a terminal.
func (t *Terminal) onPipe() bool { return t.opts != nil && t.opts.Pipe }

// modeEffect applies a mode's side effects.
func (t *Terminal) modeEffect(m modeSet, on bool) {
	switch m {
	case modeOrigin: // DECOM homes the cursor — DEC STD 070
		t.address(1, 1)
	case modeAutowrap:
		if !on {
			t.pending = false
		}
	case modeLRMM: // resetting DECLRMM removes the margins
		if !on {
			t.left, t.right = 0, t.cols-1
		}
	case modeColumns:
		t.columnMode()
	case modeInBandSize:
		if on {
			t.replySize()
		}
	case modeVisibility:
		if on {
			t.replyVisible()
		}
	}
}

// columnMode applies DECCOLM if mode 40 permits it: clears the screen, resets
// margins and cursor. It does not change the number of columns, which the owner
// sets.
func (t *Terminal) columnMode() {
	if t.modes&modeAllowColumns == 0 {
		t.modes &^= modeColumns
		return
	}
	t.fullMargins()
	t.modes &^= modeLRMM
	if t.modes&modeNoClear == 0 {
		t.clearScreen(0)
	}
	t.moveTo(0, 0)
}

// switchScreen is modes 47, 1047 and 1049 (xterm ctlseqs).
func (t *Terminal) switchScreen(m modeSet, on bool) {
	if on == (t.scr == &t.alt) {
		if !on && m == modeAlt1049 {
			t.restoreCursor()
		}
		return
	}
	if on {
		if m == modeAlt1049 {
			t.saveCursor()
		}
		t.scr = &t.alt
		if m == modeAlt1049 {
			t.clearScreen(t.penBlank())
			t.pending = false // as ED does
		}
		t.modes |= m
	} else {
		if m == modeAlt1047 {
			t.clearScreen(0)
		}
		t.scr = &t.main
		t.modes &^= altModes
		if m == modeAlt1049 {
			t.restoreCursor()
		}
	}
	t.scr.moved = t.nextRev
}

// reportMode answers DECRQM (DEC STD 070).
func (t *Terminal) reportMode(n int, dec bool) {
	if t.level() < 3 { // DECRQM came with the VT300
		return
	}
	m, state, prefix := mode(ansiModes[:], n), mode(ansiFixed[:], n), "\x1b["
	if dec {
		m, state, prefix = decMode(n), mode(decFixed[:], n), "\x1b[?"
	}
	if m != 0 {
		state = 2
		if t.modes&m != 0 || m&altModes != 0 && t.scr == &t.alt {
			state = 1
		}
	} else if dec && n == 1048 {
		state = 2
		if t.scr.saved != (saved{}) {
			state = 1
		}
	}
	b := appendInt(append(t.beginReply(), prefix...), n)
	b = appendInt(append(b, ';'), int(state))
	t.endReply(append(b, "$y"...))
}

// saveModes and restoreModes are XTSAVE and XTRESTORE (xterm ctlseqs).
func (t *Terminal) saveModes(c *csi) {
	e := t.more()
	if e.savedModes == nil {
		e.savedModes = make(map[uint32]bool)
	}
	for i := range int(c.n) {
		if m := decMode(int(c.param[i])); m != 0 {
			e.savedModes[uint32(c.param[i])] = t.modes&m != 0
		}
	}
}

func (t *Terminal) restoreModes(c *csi) {
	if t.extra == nil {
		return
	}
	for i := range int(c.n) {
		if on, ok := t.extra.savedModes[uint32(c.param[i])]; ok {
			t.changeMode(int(c.param[i]), true, on)
		}
	}
}

// softReset is DECSTR (DEC STD 070, VT510): resets modes, margins, rendition,
// character sets and the saved cursor; text and cursor stay.
func (t *Terminal) softReset() {
	t.modes &^= modeInsert | modeOrigin | modeAppCursor | modeAppKeypad | modeLRMM |
		modeReverse | modeReverseExt | modeNRCS | modeISOProtect
	t.modes |= modeVisible | modeAutowrap
	t.fullMargins()
	t.pen = pen{attr: t.pen.attr & cellLink}
	t.pen.stale = true
	t.chars = charsets{}
	t.scr.saved = saved{}
	t.scr.kitty = kittyStack{}
	t.pending = false
	if t.extra != nil {
		t.extra.sacExtent = 0
		t.extra.modKeys = [8]uint16{}
	}
	t.updateSlow()
	t.changed = true
}

// reset is RIS (ECMA-48 8.3.105): everything as new except the size, the
// history and pending replies and events.
func (t *Terminal) reset() {
	var width modeSet
	if t.option().Width == WidthGrapheme {
		width = modeGrapheme
	}
	t.mixed = t.mixed || t.modes&modeGrapheme != width
	t.endSync()
	t.main.drop()
	t.alt = screen{}
	t.main = screen{}
	t.scr = &t.main
	t.main.moved = t.nextRev
	t.modes = defaultModes&^modeGrapheme | width
	t.pen, t.chars, t.last = pen{}, charsets{}, lastText{}
	t.tabs = nil
	t.extra = nil
	t.title = ""
	t.x, t.y, t.pending, t.slow = 0, 0, false, false
	t.fullMargins()
	if t.hist != nil {
		t.closeLine()
	}
	t.event(Event{Kind: EventReset})
	t.changed = true
}
