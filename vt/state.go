package vt

// CursorShape is the shape of the cursor (DECSCUSR).
type CursorShape uint8

// The cursor shapes.
const (
	CursorBlock CursorShape = iota
	CursorUnderline
	CursorBar
)

// String names the shape.
func (s CursorShape) String() string {
	switch s {
	case CursorUnderline:
		return "underline"
	case CursorBar:
		return "bar"
	}
	return "block"
}

// MarshalText writes the name of the shape.
func (s CursorShape) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote; an unknown name is CursorBlock.
func (s *CursorShape) UnmarshalText(b []byte) error {
	*s = CursorBlock
	for _, k := range [...]CursorShape{CursorUnderline, CursorBar} {
		if string(b) == k.String() {
			*s = k
		}
	}
	return nil
}

// Cursor is the cursor's state; Col and Row count from 0.
type Cursor struct {
	Col         int         `json:"col"`
	Row         int         `json:"row"`
	Visible     bool        `json:"visible"`
	Blink       bool        `json:"blink"`
	Shape       CursorShape `json:"shape"`
	PendingWrap bool        `json:"pendingWrap,omitempty"` // the next character wraps first
}

// Cursor returns the cursor.
func (t *Terminal) Cursor() Cursor {
	x, y, pending, modes := t.x, t.y, t.pending, t.modes
	if f := t.frozen; f != nil {
		x, y, pending, modes = f.x, f.y, f.pending, f.modes
	}
	c := Cursor{
		Col: x, Row: y, PendingWrap: pending,
		Visible: modes&modeVisible != 0, Blink: modes&modeBlink != 0,
	}
	c.Shape = CursorShape((t.cursorNumber() - 1) / 2)
	return c
}

// MouseMode is which mouse events a program wants.
type MouseMode uint16

// The mouse modes; the values are DEC private mode numbers.
const (
	MouseNone   MouseMode = 0
	MouseX10    MouseMode = 9    // presses
	MouseButton MouseMode = 1000 // presses and releases
	MouseDrag   MouseMode = 1002 // and movement with a button down
	MouseAny    MouseMode = 1003 // and all movement
)

// MouseEncoding is the encoding of mouse reports.
type MouseEncoding uint16

// The mouse encodings; the values are DEC private mode numbers.
const (
	MouseLegacy MouseEncoding = 0
	MouseUTF8   MouseEncoding = 1005
	MouseSGR    MouseEncoding = 1006
	MouseURXVT  MouseEncoding = 1015
	MousePixels MouseEncoding = 1016
)

// Modes are the current modes that matter outside the terminal.
type Modes struct {
	AltScreen        bool          `json:"altScreen,omitempty"`
	AppCursor        bool          `json:"appCursor,omitempty"`
	AppKeypad        bool          `json:"appKeypad,omitempty"`
	BackarrowSendsBS bool          `json:"backarrowSendsBS,omitempty"` // DECBKM
	BracketedPaste   bool          `json:"bracketedPaste,omitempty"`
	Mouse            MouseMode     `json:"mouse,omitempty"`
	MouseEncoding    MouseEncoding `json:"mouseEncoding,omitempty"`
	AltScroll        bool          `json:"altScroll,omitempty"` // 1007
	Focus            bool          `json:"focus,omitempty"`
	SyncUpdate       bool          `json:"syncUpdate,omitempty"` // a synchronized update is on; readers see the screen before it
	ColorScheme      bool          `json:"colorScheme,omitempty"`
	InBandSize       bool          `json:"inBandSize,omitempty"`
	ReverseVideo     bool          `json:"reverseVideo,omitempty"`
	Insert           bool          `json:"insert,omitempty"`
	Origin           bool          `json:"origin,omitempty"`
	Autowrap         bool          `json:"autowrap"`
	NewLine          bool          `json:"newLine,omitempty"` // LNM
	KittyFlags       int           `json:"kittyFlags,omitempty"`
	ModifyOtherKeys  int           `json:"modifyOtherKeys,omitempty"`
	Width            string        `json:"width"` // policy: grapheme or wcwidth
}

// Modes returns the current modes, even during a synchronized update.
func (t *Terminal) Modes() Modes {
	has := func(m modeSet) bool { return t.modes&m != 0 }
	m := Modes{
		AltScreen: t.scr == &t.alt, AppCursor: has(modeAppCursor), AppKeypad: has(modeAppKeypad),
		BackarrowSendsBS: has(modeBackarrow), BracketedPaste: has(modePaste), AltScroll: has(modeAltScroll),
		Focus: has(modeFocus), SyncUpdate: has(modeSync), ColorScheme: has(modeColorScheme),
		InBandSize: has(modeInBandSize), ReverseVideo: has(modeReverseVideo), Insert: has(modeInsert),
		Origin: has(modeOrigin), Autowrap: has(modeAutowrap), NewLine: has(modeLNM),
		KittyFlags: int(t.scr.kitty.flags), Width: t.Width().String(),
	}
	if t.extra != nil {
		m.ModifyOtherKeys = int(t.extra.modKeys[4])
	}
	switch {
	case has(modeMouseAny):
		m.Mouse = MouseAny
	case has(modeMouseDrag):
		m.Mouse = MouseDrag
	case has(modeMouse):
		m.Mouse = MouseButton
	case has(modeMouseX10):
		m.Mouse = MouseX10
	}
	switch {
	case has(modeMousePixels):
		m.MouseEncoding = MousePixels
	case has(modeMouseSGR):
		m.MouseEncoding = MouseSGR
	case has(modeMouseURXVT):
		m.MouseEncoding = MouseURXVT
	case has(modeMouseUTF8):
		m.MouseEncoding = MouseUTF8
	}
	return m
}
