package vt

// color is 0 for the default, or a kind in the top byte and a value below.
type color uint32

const (
	colorIndexed color = 1 << 24 // value 0–255
	colorRGB     color = 2 << 24 // value 0xRRGGBB
	colorKind    color = 0xff << 24
)

// attrs are the attributes of a style; the underline style is in attrUnderline.
type attrs uint32

const (
	attrBold attrs = 1 << iota
	attrFaint
	attrItalic
	attrBlink
	attrInverse
	attrConceal
	attrStrike
	attrOverline

	attrUnderShift       = 8
	attrUnderline  attrs = 7 << attrUnderShift // 0 none, then UnderlineStyle
)

// style is what SGR sets. Styles are interned: cells hold their number.
type style struct {
	fg, bg, ul color
	attrs      attrs
}

func (s style) under() UnderlineStyle {
	return UnderlineStyle(s.attrs >> attrUnderShift & 7)
}

func (s *style) setUnder(u UnderlineStyle) {
	s.attrs = s.attrs&^attrUnderline | attrs(u)<<attrUnderShift
}

// UnderlineStyle is the style of an underline (SGR 4:x).
type UnderlineStyle uint8

// The underline styles; the values are those of SGR 4:x.
const (
	UnderlineNone UnderlineStyle = iota
	UnderlineSingle
	UnderlineDouble
	UnderlineCurly
	UnderlineDotted
	UnderlineDashed
)

var underlineNames = [...]string{"", "single", "double", "curly", "dotted", "dashed"}

// String returns the style's name, "" for none.
func (u UnderlineStyle) String() string {
	if int(u) < len(underlineNames) {
		return underlineNames[u]
	}
	return ""
}

// MarshalText writes the style's name.
func (u UnderlineStyle) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads what MarshalText wrote; an unknown name is UnderlineNone.
func (u *UnderlineStyle) UnmarshalText(b []byte) error {
	*u = UnderlineNone
	for i, name := range underlineNames {
		if name == string(b) {
			*u = UnderlineStyle(i)
		}
	}
	return nil
}

// Color is a colour for readers: "" is the default, "0" to "255" a palette
// index, "#rrggbb" a direct colour.
type Color string

// Style is the rendition of a run of text.
type Style struct {
	FG             Color          `json:"fg,omitempty"`
	BG             Color          `json:"bg,omitempty"`
	UnderlineColor Color          `json:"underlineColor,omitempty"`
	Underline      UnderlineStyle `json:"underline,omitempty"`
	Bold           bool           `json:"bold,omitempty"`
	Faint          bool           `json:"faint,omitempty"`
	Italic         bool           `json:"italic,omitempty"`
	Blink          bool           `json:"blink,omitempty"`
	Inverse        bool           `json:"inverse,omitempty"`
	Conceal        bool           `json:"conceal,omitempty"`
	Strike         bool           `json:"strike,omitempty"`
	Overline       bool           `json:"overline,omitempty"`
}

const hexDigits = "0123456789abcdef"

func (c color) public() Color {
	switch c & colorKind {
	case colorIndexed:
		return Color(appendInt(nil, int(c&0xff)))
	case colorRGB:
		b := [7]byte{0: '#'}
		for i := range 6 {
			b[1+i] = hexDigits[c>>(20-4*i)&15]
		}
		return Color(b[:])
	}
	return ""
}

func (s style) public() Style {
	return Style{
		FG: s.fg.public(), BG: s.bg.public(), UnderlineColor: s.ul.public(),
		Underline: s.under(),
		Bold:      s.attrs&attrBold != 0,
		Faint:     s.attrs&attrFaint != 0,
		Italic:    s.attrs&attrItalic != 0,
		Blink:     s.attrs&attrBlink != 0,
		Inverse:   s.attrs&attrInverse != 0,
		Conceal:   s.attrs&attrConceal != 0,
		Strike:    s.attrs&attrStrike != 0,
		Overline:  s.attrs&attrOverline != 0,
	}
}

// appendSGR appends the SGR parameters that set s after SGR 0, each preceded by
// a semicolon, in the order of DECRQSS replies.
func (s style) appendSGR(dst []byte) []byte {
	for i, n := range [...]byte{'1', '2', '3', '5', '7', '8', '9'} {
		if i == 3 && s.attrs&attrUnderline != 0 {
			dst = s.appendUnder(dst)
		}
		if s.attrs&sgrOrder[i] != 0 {
			dst = append(dst, ';', n)
		}
	}
	if s.attrs&attrOverline != 0 {
		dst = append(dst, ";53"...)
	}
	dst = s.fg.appendSGR(dst, 30)
	dst = s.bg.appendSGR(dst, 40)
	return s.ul.appendSGR(dst, 50)
}

var sgrOrder = [...]attrs{attrBold, attrFaint, attrItalic, attrBlink, attrInverse, attrConceal, attrStrike}

func (s style) appendUnder(dst []byte) []byte {
	switch u := s.under(); u {
	case UnderlineSingle:
		return append(dst, ";4"...)
	default:
		return append(dst, ';', '4', ':', '0'+byte(u))
	}
}

// appendSGR appends the parameters for a colour; base is 30, 40 or 50.
func (c color) appendSGR(dst []byte, base int) []byte {
	v := int(c & 0xffffff)
	switch {
	case c == 0:
		return dst
	case c&colorKind == colorIndexed && v < 8 && base < 50:
		return appendInt(append(dst, ';'), base+v)
	case c&colorKind == colorIndexed && v < 16 && base < 50:
		return appendInt(append(dst, ';'), base+60+v-8)
	}
	dst = appendInt(append(dst, ';'), base+8)
	if c&colorKind == colorIndexed {
		return appendInt(append(dst, ":5:"...), v)
	}
	dst = appendInt(append(dst, ":2::"...), v>>16)
	dst = appendInt(append(dst, ':'), v>>8&0xff)
	return appendInt(append(dst, ':'), v&0xff)
}

// appendInt writes a number that is not negative.
func appendInt(dst []byte, n int) []byte {
	if n >= 10 {
		dst = appendInt(dst, n/10)
	}
	return append(dst, '0'+byte(n%10))
}
