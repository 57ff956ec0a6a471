package vt

// Outer describes the host terminal, for programs that query it (OSC 10 and 11,
// XTWINOPS 14 to 16, mode 2048). It is not part of the state: snapshots and
// dumps leave it out. The zero value means that there is none.
type Outer struct {
	Foreground, Background *uint32 // 0xRRGGBB; nil = the emulator's own
	CellWidth, CellHeight  int     // pixels of a cell; 0 = 10 and 20
}

// SetOuter sets the host terminal. Colours set by the program (OSC 10 …) take
// precedence. A program that subscribed (modes 2031 and 2048) is notified of
// changes: see TakeReplies.
func (t *Terminal) SetOuter(o Outer) {
	light := t.light()
	w, h := t.cell()
	t.outer = &o
	if o == (Outer{}) {
		t.outer = nil
	}
	if t.modes&modeColorScheme != 0 && t.light() != light {
		t.replyScheme()
	}
	if nw, nh := t.cell(); t.modes&modeInBandSize != 0 && (nw != w || nh != h) {
		t.replySize()
	}
}

// light reports whether the background is light (luma, BT.601).
func (t *Terminal) light() bool {
	c := t.dynamicColor(1)
	return 299*(c>>16&0xff)+587*(c>>8&0xff)+114*(c&0xff) > 127500
}

// cell is the size of a cell in pixels.
func (t *Terminal) cell() (width, height int) {
	if t.outer == nil || t.outer.CellWidth <= 0 || t.outer.CellHeight <= 0 {
		return cellWidth, cellHeight
	}
	return t.outer.CellWidth, t.outer.CellHeight
}

// textColors returns the default text colours.
func (t *Terminal) textColors() (foreground, background uint32) {
	foreground, background = defaultForeground, defaultBackground
	if t.outer != nil && t.outer.Foreground != nil {
		foreground = *t.outer.Foreground
	}
	if t.outer != nil && t.outer.Background != nil {
		background = *t.outer.Background
	}
	return foreground, background
}

// ParseColor reads a colour in the form of OSC 10: rgb:RR/GG/BB with one to
// four digits each, or #RRGGBB. The value is 0xRRGGBB.
func ParseColor(s string) (uint32, bool) { return parseColor(s) }
