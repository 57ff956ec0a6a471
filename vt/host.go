package vt

// HostTerminal describes the host terminal, for programs that query it (OSC 10 and 11,
// XTWINOPS 14 to 16, mode 2048). It is not part of the state: snapshots and
// dumps leave it out. The zero value means that there is none.
type HostTerminal struct {
	Foreground, Background *uint32 // 0xRRGGBB; nil = the emulator's own
	CellWidth, CellHeight  int     // pixels of a cell; 0 = 10 and 20
	Images                 Images  // that it shows; DA1 and kitty's query say so
}

// Images are protocols by which a terminal shows images.
type Images uint8

// The protocols.
const (
	ImagesKitty Images = 1 << iota // kitty's graphics protocol
	ImagesSixel
	ImagesITerm // iTerm2's inline images
)

// SetHostTerminal sets the host terminal. Colours set by the program (OSC 10 …) take
// precedence. A program that subscribed (modes 2031 and 2048) is notified of
// changes: see TakeReplies.
func (t *Terminal) SetHostTerminal(o HostTerminal) {
	light := t.light()
	w, h := t.cell()
	t.host = &o
	if o == (HostTerminal{}) {
		t.host = nil
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
	if t.host == nil || t.host.CellWidth <= 0 || t.host.CellHeight <= 0 {
		return cellWidth, cellHeight
	}
	return t.host.CellWidth, t.host.CellHeight
}

// textColors returns the default text colours.
func (t *Terminal) textColors() (foreground, background uint32) {
	foreground, background = defaultForeground, defaultBackground
	if t.host != nil && t.host.Foreground != nil {
		foreground = *t.host.Foreground
	}
	if t.host != nil && t.host.Background != nil {
		background = *t.host.Background
	}
	return foreground, background
}

// ParseColor reads a colour in the form of OSC 10: rgb:RR/GG/BB with one to
// four digits each, or #RRGGBB. The value is 0xRRGGBB.
func ParseColor(s string) (uint32, bool) { return parseColor(s) }
