package vt

import "gascity.dev/gc/vt/internal/char"

// csiPlain are the control functions without prefix and intermediate, by final
// byte minus 0x40.
var csiPlain = [64]func(*Terminal, *csi){
	'@' - 0x40: func(t *Terminal, c *csi) { t.insertChars(c.arg(0, 1)) },              // ICH — ECMA-48 8.3.64
	'A' - 0x40: func(t *Terminal, c *csi) { t.up(c.arg(0, 1)) },                       // CUU
	'B' - 0x40: func(t *Terminal, c *csi) { t.down(c.arg(0, 1)) },                     // CUD
	'C' - 0x40: func(t *Terminal, c *csi) { t.forward(c.arg(0, 1)) },                  // CUF
	'D' - 0x40: func(t *Terminal, c *csi) { t.back(c.arg(0, 1)) },                     // CUB
	'E' - 0x40: func(t *Terminal, c *csi) { t.down(c.arg(0, 1)); t.carriageReturn() }, // CNL — 8.3.12
	'F' - 0x40: func(t *Terminal, c *csi) { t.up(c.arg(0, 1)); t.carriageReturn() },   // CPL — 8.3.13
	'G' - 0x40: cha,                                                                   // CHA — 8.3.9
	'H' - 0x40: cup,                                                                   // CUP — 8.3.21
	'I' - 0x40: func(t *Terminal, c *csi) { t.tab(c.arg(0, 1)) },                      // CHT — 8.3.10
	'J' - 0x40: func(t *Terminal, c *csi) { t.eraseScreen(c.arg(0, 0), 0) },           // ED — 8.3.39
	'K' - 0x40: func(t *Terminal, c *csi) { t.eraseLine(c.arg(0, 0), 0) },             // EL — 8.3.41
	'L' - 0x40: func(t *Terminal, c *csi) { t.insertLines(c.arg(0, 1)) },              // IL — 8.3.67
	'M' - 0x40: func(t *Terminal, c *csi) { t.deleteLines(c.arg(0, 1)) },              // DL — 8.3.32
	'P' - 0x40: func(t *Terminal, c *csi) { t.deleteChars(c.arg(0, 1)) },              // DCH — 8.3.26
	'S' - 0x40: func(t *Terminal, c *csi) { t.scrollUp(t.top, t.bot, c.arg(0, 1)) },   // SU — 8.3.147
	'T' - 0x40: scrollDownOrMouse,                                                     // SD — 8.3.113
	'X' - 0x40: func(t *Terminal, c *csi) { t.eraseChars(c.arg(0, 1)) },               // ECH — 8.3.38
	'Z' - 0x40: func(t *Terminal, c *csi) { t.backTab(c.arg(0, 1)) },                  // CBT — 8.3.7
	'^' - 0x40: func(t *Terminal, c *csi) { t.scrollDown(t.top, t.bot, c.arg(0, 1)) }, // SD, as in the first printing of ECMA-48
	'`' - 0x40: cha,                                                                   // HPA — 8.3.57
	'a' - 0x40: func(t *Terminal, c *csi) { t.relative(c.arg(0, 1), 0) },              // HPR — 8.3.59
	'b' - 0x40: func(t *Terminal, c *csi) { t.repeat(c.arg(0, 1)) },                   // REP — 8.3.103
	'c' - 0x40: func(t *Terminal, c *csi) {
		if c.arg(0, 0) == 0 {
			t.replyDA1() // DA — 8.3.24
		}
	},
	'd' - 0x40: func(t *Terminal, c *csi) { x, _ := t.origin(); t.address(t.x-x+1, c.arg(0, 1)) }, // VPA — 8.3.158
	'e' - 0x40: func(t *Terminal, c *csi) { t.relative(0, c.arg(0, 1)) },                          // VPR — 8.3.160
	'f' - 0x40: cup,                                                                               // HVP — 8.3.63
	'g' - 0x40: tbc,                                                                               // TBC — 8.3.154
	'h' - 0x40: func(t *Terminal, c *csi) { t.changeModes(c, true) },                              // SM — 8.3.125
	'l' - 0x40: func(t *Terminal, c *csi) { t.changeModes(c, false) },                             // RM — 8.3.106
	'j' - 0x40: func(t *Terminal, c *csi) { t.relative(-c.arg(0, 1), 0) },                         // HPB — 8.3.58
	'k' - 0x40: func(t *Terminal, c *csi) { t.relative(0, -c.arg(0, 1)) },                         // VPB — 8.3.159
	'n' - 0x40: func(t *Terminal, c *csi) { t.replyStatus(c.arg(0, 0), false) },                   // DSR — 8.3.35
	'r' - 0x40: decstbm,
	's' - 0x40: decslrm,
	't' - 0x40: func(t *Terminal, c *csi) { t.window(c) },                    // XTWINOPS — xterm ctlseqs
	'u' - 0x40: func(t *Terminal, _ *csi) { t.restoreCursor() },              // SCORC — xterm ctlseqs
	'x' - 0x40: func(t *Terminal, c *csi) { t.replyParameters(c.arg(0, 0)) }, // DECREQTPARM
}

func cha(t *Terminal, c *csi) {
	_, y := t.origin()
	t.address(c.arg(0, 1), t.y-y+1)
}

func cup(t *Terminal, c *csi) { t.address(c.arg(1, 1), c.arg(0, 1)) }

// scrollDownOrMouse is SD; with five parameters it is xterm's highlight mouse
// tracking, which is not supported.
func scrollDownOrMouse(t *Terminal, c *csi) {
	if c.count() < 2 {
		t.scrollDown(t.top, t.bot, c.arg(0, 1))
	}
}

// relative is HPR, VPR, HPB and VPB: movement not limited by margins (DEC STD 070).
func (t *Terminal) relative(dx, dy int) {
	x, y := max(t.x+dx, 0), max(t.y+dy, 0)
	if t.modes&modeOrigin != 0 {
		x, y = min(max(x, t.left), t.right), min(max(y, t.top), t.bot)
	}
	t.moveTo(x, y)
}

// tbc clears tab stops: 0 at the cursor, 3 and 5 all. 1, 2 and 4 are about line tab
// stops, which no terminal has (ECMA-48 8.3.154).
func tbc(t *Terminal, c *csi) {
	switch c.arg(0, 0) {
	case 0:
		t.setTab(t.x, false)
	case 3, 5:
		t.ownTabs()
		*t.tabs = tabStops{}
	}
}

// decstbm sets the top and bottom margins (DEC STD 070) and homes the cursor.
func decstbm(t *Terminal, c *csi) {
	top, bot := c.arg(0, 1), min(c.arg(1, t.rows), t.rows)
	if top >= bot && !(t.rows == 1 && top == 1) {
		return
	}
	t.top, t.bot = top-1, bot-1
	t.address(1, 1)
}

// decslrm sets the left and right margins if DECLRMM permits; otherwise CSI s
// saves the cursor (SCOSC).
func decslrm(t *Terminal, c *csi) {
	if t.modes&modeLRMM == 0 {
		if c.count() == 0 {
			t.saveCursor()
		}
		return
	}
	left, right := c.arg(0, 1), min(c.arg(1, t.cols), t.cols)
	if left >= right {
		return
	}
	t.left, t.right = left-1, right-1
	t.address(1, 1)
}

// repeat is REP: prints the last character n more times if only SGR came since
// (ECMA-48 leaves the rest undefined). n is capped at a full screen: more looks
// the same.
func (t *Terminal) repeat(n int) {
	c := t.last.cell
	if c == 0 || !t.last.rep {
		return
	}
	width := 1
	if c.isWide() {
		width = 2
	}
	t.mixed = t.mixed || !agreed(c) // the copies stand side by side and do not join
	for range min(n, t.cols*t.rows) {
		t.put(c&cellContent, width)
	}
	t.last.gr = char.Marks
}

// csiPrivate carries out control functions with a prefix.
func (t *Terminal) csiPrivate(c *csi, final byte) {
	switch uint16(c.prefix)<<8 | uint16(final) {
	case '?'<<8 | 'h':
		t.changeModes(c, true)
	case '?'<<8 | 'l':
		t.changeModes(c, false)
	case '?'<<8 | 's':
		t.saveModes(c)
	case '?'<<8 | 'r':
		t.restoreModes(c)
	case '?'<<8 | 'J': // DECSED — DEC STD 070
		if c.arg(0, 0) < 3 {
			t.eraseScreen(c.arg(0, 0), cellProtected)
		}
	case '?'<<8 | 'K': // DECSEL
		t.eraseLine(c.arg(0, 0), cellProtected)
	case '?'<<8 | 'n':
		t.replyStatus(c.arg(0, 0), true)
	case '?'<<8 | 'W': // DECST8C — DEC STD 070 (VT510)
		if c.arg(0, 0) == 5 {
			t.tabs = nil
		}
	case '?'<<8 | 'm':
		t.replyModKeys(c.arg(0, 0))
	case '>'<<8 | 'm':
		t.setModKeys(c)
	case '>'<<8 | 'n': // XTMODKEYS, disabled
		if t.extra != nil {
			t.extra.modKeys[c.arg(0, 2)&7] = 0
		}
	case '>'<<8 | 'c':
		if c.arg(0, 0) == 0 {
			t.replyDA2()
		}
	case '='<<8 | 'c':
		if c.arg(0, 0) == 0 {
			t.reply("\x1bP!|00000000\x1b\\") // DA3: no unit number
		}
	case '>'<<8 | 'q':
		if c.arg(0, 0) == 0 {
			t.replyVersion()
		}
	case '?'<<8 | 'u', '>'<<8 | 'u', '<'<<8 | 'u', '='<<8 | 'u':
		t.kitty(c)
	}
}

// csiInter carries out control functions with an intermediate.
func (t *Terminal) csiInter(c *csi, inter, final byte, more bool) {
	if more {
		return
	}
	switch uint16(inter)<<8 | uint16(final) {
	case '!'<<8 | 'p':
		t.softReset()
	case ' '<<8 | 'q':
		t.cursorStyle(c.arg(0, 0))
	case '"'<<8 | 'q': // DECSCA — DEC STD 070
		if n := c.arg(0, 0); n <= 2 {
			t.protect(n == 1)
			t.modes &^= modeISOProtect
		}
	case '"'<<8 | 'p': // DECSCL — DEC STD 070
		t.conformance(c)
	case '$'<<8 | 'p':
		t.reportMode(c.arg(0, 0), false)
	case '\''<<8 | '}': // DECIC — DEC STD 070 (VT420)
		if t.inRegion() {
			t.insertColumns(t.x, c.arg(0, 1))
		}
	case '\''<<8 | '~': // DECDC
		if t.inRegion() {
			t.deleteColumns(t.x, c.arg(0, 1))
		}
	case ' '<<8 | '@': // SL — ECMA-48 8.3.121; outside the margins nothing, as in xterm
		if t.inRegion() {
			t.deleteColumns(t.left, c.arg(0, 1))
		}
	case ' '<<8 | 'A': // SR — ECMA-48 8.3.135
		if t.inRegion() {
			t.insertColumns(t.left, c.arg(0, 1))
		}
	case '+'<<8 | 'T': // kitty
		t.unscroll(c.arg(0, 1))
	case '#'<<8 | '{', '#'<<8 | 'p':
		t.pushSGR()
	case '#'<<8 | '}', '#'<<8 | 'q':
		t.popSGR()
	case '#'<<8 | '|': // XTREPORTSGR — xterm ctlseqs
		t.reportSGR(c)
	default:
		t.rectangle(c, inter, final)
	}
}

// cursorStyle is DECSCUSR (DEC STD 070, bar from xterm); unknown styles are
// ignored.
func (t *Terminal) cursorStyle(n int) {
	if n > 6 {
		return
	}
	t.more().cursorKind = uint8(n)
	t.setMode(modeBlink, n == 0 || n&1 == 1)
	t.changed = true
}

// conformance is DECSCL: keeps the level for reports, selects 8-bit controls,
// and soft-resets the terminal.
func (t *Terminal) conformance(c *csi) {
	level := c.arg(0, 0)
	if level < 61 || level > 65 {
		return
	}
	t.softReset()
	t.more().conformity = uint8(min(level, 64) - 60)
	t.eightBitControls(level > 61 && c.count() > 1 && c.arg(1, 0) != 1)
}

// level is the conformance level in force, 1 to 4.
func (t *Terminal) level() int {
	if t.extra == nil || t.extra.conformity == 0 {
		return 4
	}
	return int(t.extra.conformity)
}
