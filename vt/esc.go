package vt

// escapeFinal carries out ESC and a final byte, C1 controls among them
// (ECMA-48 5.3, 5.4 and 8.3; Fp of DEC STD 070).
func (t *Terminal) escapeFinal(c byte) {
	switch c {
	case 'D': // IND
		t.lineFeed()
	case 'E': // NEL — ECMA-48 8.3.86
		t.lineFeed()
		t.carriageReturn()
	case 'H': // HTS — ECMA-48 8.3.62
		t.setTab(t.x, true)
	case 'M': // RI — ECMA-48 8.3.104
		t.reverseIndex()
	case 'N', 'O': // SS2, SS3 — ECMA-48 8.3.141
		t.chars.single = c - 'N' + 3
		t.updateSlow()
	case 'V', 'W': // SPA, EPA — ECMA-48 8.3.129: guarded from ED, EL and ECH, too
		t.protect(c == 'V')
		t.setMode(modeISOProtect, c == 'V' || t.modes&modeISOProtect != 0)
	case 'Z': // DECID
		t.replyDA1()
	case '[':
		t.beginCSI()
	case ']', 'P', '_', '^', 'X', 'k': // k is the title of screen(1)
		t.beginString(c)
	case '6': // DECBI — DEC STD 070 (VT420)
		t.backIndex()
	case '9': // DECFI
		t.forwardIndex()
	case '7': // DECSC
		t.saveCursor()
	case '8': // DECRC
		t.restoreCursor()
	case '=', '>': // DECKPAM, DECKPNM
		t.setMode(modeAppKeypad, c == '=' && !t.onPipe())
		t.changed, t.outside = true, true
	case 'c': // RIS
		t.reset()
	default:
		t.lockingShift(c)
	}
}

// lockingShift is LS2, LS3, LS1R, LS2R, LS3R (ECMA-35 7.3).
func (t *Terminal) lockingShift(c byte) {
	switch c {
	case 'n':
		t.shift(2)
	case 'o':
		t.shift(3)
	case '~':
		t.chars.gr = 1
	case '}':
		t.chars.gr = 2
	case '|':
		t.chars.gr = 3
	}
}

// escapeInter carries out ESC, intermediates and a final byte (ECMA-35 13.2).
func (t *Terminal) escapeInter(inter uint16, c byte) {
	second := byte(inter >> 8)
	switch first := byte(inter); {
	case first >= '(' && first <= '+': // G0 to G3, 94 characters
		t.designate(int(first-'('), c, second)
	case first >= '-' && first <= '/': // G1 to G3, 96 characters: Latin-1 and the like
		t.designate(int(first-'-')+1, 'B', 0)
	case second != 0:
	case first == '#' && c == '8':
		t.alignment()
	case first == ' ' && (c == 'F' || c == 'G'): // S7C1T, S8C1T — ECMA-35 15.2
		t.eightBitControls(c == 'G')
	case first == '%': // DOCS — ECMA-35 15.4
		if c == '@' {
			t.more().latin = true
		} else if c == 'G' && t.extra != nil {
			t.extra.latin = false
		}
	}
}

func (t *Terminal) eightBitControls(on bool) {
	if on || t.extra != nil {
		t.more().protect8 = on
	}
}

// protect switches the protection of printed characters on or off (DECSCA).
func (t *Terminal) protect(on bool) {
	t.pen.attr &^= cellProtected
	if on {
		t.pen.attr |= cellProtected
	}
}

// backIndex is DECBI: one column left, or a blank column in at the left margin.
func (t *Terminal) backIndex() {
	switch {
	case t.x != t.left:
		t.moveTo(max(t.x-1, 0), t.y)
	case t.y >= t.top && t.y <= t.bot:
		t.insertColumns(t.left, 1)
	}
}

// forwardIndex is DECFI: one column right, or a column out at the right margin.
func (t *Terminal) forwardIndex() {
	switch {
	case t.x != t.right:
		t.moveTo(min(t.x+1, t.cols-1), t.y)
	case t.y >= t.top && t.y <= t.bot:
		t.deleteColumns(t.left, 1)
	}
}
