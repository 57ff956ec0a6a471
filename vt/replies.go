package vt

import (
	"strings"

	"gascity.dev/gc/vt/internal/picture"
)

// maxReplies bounds replies not yet taken, in bytes: a program that asks and
// never reads gets no further replies.
const maxReplies = 64 << 10

// TakeReplies returns the terminal's replies (DA, DSR, …) since the last call,
// to be written to the program's input; nil if there are none. At most 64 KiB.
func (t *Terminal) TakeReplies() []byte {
	if len(t.replies) == 0 {
		return nil
	}
	b := t.replies
	t.replies = nil
	return b
}

// beginReply returns the buffer to append a reply to, for endReply.
func (t *Terminal) beginReply() []byte { return t.replies }

// endReply queues a reply if it fits as a whole. With 8-bit controls (S8C1T)
// its CSI, DCS, OSC and ST are C1 controls.
func (t *Terminal) endReply(b []byte) {
	n := len(t.replies)
	if len(b) > maxReplies {
		t.lost.Replies++
		return
	}
	if t.extra != nil && t.extra.protect8 {
		tail := strings.NewReplacer("\x1b[", "\x9b", "\x1bP", "\x90", "\x1b]", "\x9d", "\x1b\\", "\x9c").
			Replace(string(b[n:]))
		b = append(b[:n], tail...)
	}
	t.replies = b
}

func (t *Terminal) reply(s string) { t.endReply(append(t.beginReply(), s...)) }

// replyDA1 identifies as a VT420 with 132 columns (1), selective erase (6),
// national sets (9), horizontal scrolling (21), colour (22), rectangles (28)
// and a writable clipboard (52) — DEC STD 070, xterm ctlseqs. A host terminal that shows
// sixel images adds 4.
func (t *Terminal) replyDA1() {
	if t.hostShows(ImagesSixel) {
		t.reply("\x1b[?64;1;4;6;9;21;22;28;52c")
		return
	}
	t.reply("\x1b[?64;1;6;9;21;22;28;52c")
}

// replyKitty answers kitty's query for images if the host terminal shows them.
func (t *Terminal) replyKitty(body []byte) {
	q, ok := picture.KittyQuery(body)
	if !ok || !t.hostShows(ImagesKitty) {
		return
	}
	switch {
	case q.Direct && !q.NoOK:
		t.reply("\x1b_Gi=" + q.ID + ";OK\x1b\\")
	case !q.Direct && !q.NoError: // files and memory are perhaps another machine's
		t.reply("\x1b_Gi=" + q.ID + ";EINVAL:only t=d\x1b\\")
	}
}

// hostShows reports whether the host terminal shows these images.
func (t *Terminal) hostShows(kind Images) bool { return t.host != nil && t.host.Images&kind != 0 }

// replyDA2 replies to DA2. Programs read the second number as xterm's patch
// level and choose mouse encodings by it; 380 has all those supported here.
func (t *Terminal) replyDA2() { t.reply("\x1b[>41;380;0c") }

// replyVersion answers XTVERSION (xterm ctlseqs).
func (t *Terminal) replyVersion() {
	version := t.option().Version
	if version == "" {
		version = "dev"
	}
	t.reply("\x1bP>|gc(" + plainText(version) + ")\x1b\\")
}

// replyStatus answers DSR (ECMA-48 8.3.35, DEC STD 070).
func (t *Terminal) replyStatus(n int, dec bool) {
	switch {
	case n == 5 && !dec:
		t.reply("\x1b[0n")
	case n == 6:
		t.replyPosition(dec)
	case n == 63 && dec: // DECCKSR, the checksum of macros; there are none
		b := appendInt(append(t.beginReply(), "\x1bP"...), t.parser.csi.arg(1, 0))
		t.endReply(append(b, "!~0000\x1b\\"...))
	case n == 996 && dec: // colour scheme, contour
		t.replyScheme()
	case n == 998 && dec:
		t.replyVisible()
	case dec:
		if s := decStatus(n); s != "" {
			t.reply(s)
		}
	}
}

// decStatus is the fixed reply to a DSR, "" for any other: no printer, no
// user-defined keys locked, a North American keyboard, no locator, no macros,
// no data errors, no sessions.
func decStatus(n int) string {
	switch n {
	case 15:
		return "\x1b[?13n"
	case 25:
		return "\x1b[?21n"
	case 26:
		return "\x1b[?27;1;0;0n"
	case 53, 55:
		return "\x1b[?50n"
	case 56:
		return "\x1b[?57;0n"
	case 62:
		return "\x1b[0*{"
	case 75:
		return "\x1b[?70n"
	case 85:
		return "\x1b[?83n"
	}
	return ""
}

// replyPosition is CPR (ECMA-48 8.3.14), or DECXCPR, which includes the page.
func (t *Terminal) replyPosition(dec bool) {
	ox, oy := t.origin()
	b := append(t.beginReply(), "\x1b["...)
	if dec {
		b = append(b, '?')
	}
	b = appendInt(b, max(t.y-oy, 0)+1)
	b = appendInt(append(b, ';'), max(t.x-ox, 0)+1)
	if dec {
		b = append(b, ";1"...)
	}
	t.endReply(append(b, 'R'))
}

// replyParameters is DECREPTPARM (DEC STD 070, VT100): no parity, 8 bits, 38400.
func (t *Terminal) replyParameters(n int) {
	if n <= 1 {
		b := appendInt(append(t.beginReply(), "\x1b["...), n+2)
		t.endReply(append(b, ";1;1;128;128;1;0x"...))
	}
}

// Pixels of a cell, reported when there is no host terminal.
const cellWidth, cellHeight = 10, 20

// window is XTWINOPS (xterm ctlseqs): reports, and the stack of titles.
func (t *Terminal) window(c *csi) {
	three := func(kind, a, b int) {
		r := appendInt(append(t.beginReply(), "\x1b["...), kind)
		r = appendInt(append(r, ';'), a)
		r = appendInt(append(r, ';'), b)
		t.endReply(append(r, 't'))
	}
	w, h := t.cell()
	switch c.arg(0, 0) {
	case 11:
		t.reply("\x1b[1t")
	case 13:
		three(3, 0, 0)
	case 14:
		three(4, t.rows*h, t.cols*w)
	case 15:
		three(5, t.rows*h, t.cols*w)
	case 16:
		three(6, h, w)
	case 18:
		three(8, t.rows, t.cols)
	case 19:
		three(9, t.rows, t.cols)
	case 20: // not reported: it would let a program inject another's text as input
		t.reply("\x1b]L\x1b\\")
	case 21:
		t.reply("\x1b]l\x1b\\")
	case 22:
		t.pushTitle(c.arg(1, 0))
	case 23:
		t.popTitle(c.arg(1, 0))
	}
}

// savedTitle is an entry of the stack of titles: both, or one of them.
type savedTitle struct {
	title, icon       string
	hasTitle, hasIcon bool
}

// titleParts are the parts that XTWINOPS 22 and 23 are about.
func titleParts(n int) (title, icon bool) { return n == 0 || n == 2, n == 0 || n == 1 }

// pushTitle saves the title, the icon's, or both. What is not saved is as in the entry
// below, so that entries are taken back whole (xterm).
func (t *Terminal) pushTitle(which int) {
	title, icon := titleParts(which)
	if !title && !icon {
		return
	}
	e := t.more()
	var s savedTitle
	if n := len(e.titles); n > 0 {
		s = e.titles[n-1]
	}
	if title {
		s.title, s.hasTitle = t.title, true
	}
	if icon {
		if s.icon, s.hasIcon = e.icon, true; s.icon == "" {
			s.icon = t.title
		}
	}
	if len(e.titles) >= 10 {
		e.titles = append(e.titles[:0], e.titles[1:]...)
	}
	e.titles = append(e.titles, s)
}

func (t *Terminal) popTitle(which int) {
	title, icon := titleParts(which)
	if t.extra == nil || len(t.extra.titles) == 0 || !title && !icon {
		return
	}
	n := len(t.extra.titles) - 1
	s := t.extra.titles[n]
	t.extra.titles = t.extra.titles[:n]
	if title && s.hasTitle {
		t.setTitle(s.title)
	}
	if icon && s.hasIcon {
		t.setIcon(s.icon)
	}
}

// replyScheme is the report of mode 2031: dark (1) or light (2), by the
// background.
func (t *Terminal) replyScheme() {
	if t.light() {
		t.reply("\x1b[?997;2n")
	} else {
		t.reply("\x1b[?997;1n")
	}
}

// replyVisible is the report of mode 2033, visibility: always "potentially
// visible". The screen may be read without an attached client, and a program
// that pauses would show stale content.
func (t *Terminal) replyVisible() { t.reply("\x1b[?999;1n") }

// replySize is the report of mode 2048 (in-band resize): cells and pixels.
func (t *Terminal) replySize() {
	w, h := t.cell()
	b := append(t.beginReply(), "\x1b[48"...)
	for _, n := range [...]int{t.rows, t.cols, t.rows * h, t.cols * w} {
		b = appendInt(append(b, ';'), n)
	}
	t.endReply(append(b, 't'))
}

// replyPresentation is DECRQPSR: DECCIR for 1, DECTABSR for 2 (DEC STD 070).
func (t *Terminal) replyPresentation(n int) {
	switch n {
	case 1:
		t.replyCursorInfo()
	case 2:
		b := append(t.beginReply(), "\x1bP2$u"...)
		sep := false
		for x := range t.cols {
			if !t.isTab(x) {
				continue
			}
			if sep {
				b = append(b, '/')
			}
			b, sep = appendInt(b, x+1), true
		}
		t.endReply(append(b, "\x1b\\"...))
	}
}

func (t *Terminal) replyCursorInfo() {
	b := appendInt(append(t.beginReply(), "\x1bP1$u"...), t.y+1)
	b = appendInt(append(b, ';'), t.x+1)
	rend, prot, flags := byte('@'), byte('@'), byte('@')
	for i, a := range [...]attrs{attrBold, attrUnderline, attrBlink, attrInverse} {
		if t.pen.style.attrs&a != 0 {
			rend |= 1 << i
		}
	}
	if t.pen.attr&cellProtected != 0 {
		prot |= 1
	}
	if t.modes&modeOrigin != 0 {
		flags |= 1
	}
	if t.chars.single != 0 {
		flags |= 1 << (t.chars.single - 2)
	}
	if t.pending {
		flags |= 8
	}
	b = append(b, ";1;"...)
	b = append(b, rend, ';', prot, ';', flags, ';', '0'+t.chars.gl, ';', '0'+t.chars.gr, ';', '@', ';')
	for _, s := range t.chars.g {
		if s == 0 || s >= 0x80 {
			s = 'B'
		}
		b = append(b, byte(s))
	}
	t.endReply(append(b, "\x1b\\"...))
}
