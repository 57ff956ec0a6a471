package vt

import (
	"maps"
	"strconv"
	"strings"
)

// The colours reported to programs until they set their own.
const (
	defaultForeground = 0xd8d8d8
	defaultBackground = 0x000000
	colorSet          = 1 << 24
)

// terminator is the terminator of the OSC being answered: a reply uses the same
// one (xterm).
func (t *Terminal) terminator() string {
	if t.parser.str.bel {
		return "\a"
	}
	return "\x1b\\"
}

// The special colours (bold, underline, blink, inverse, italic) follow the
// palette (xterm); OSC 5 counts from the first of them.
const (
	paletteSize   = 256
	specialColors = 5
)

// oscPalette is OSC 4 and OSC 5 ; number ; colour …: sets a colour, or reports
// it for "?".
func (t *Terminal) oscPalette(code int, text string) {
	first := firstColor(code)
	fields := strings.Split(text, ";")
	for i := 0; i+1 < len(fields); i += 2 {
		n, err := strconv.Atoi(fields[i])
		if err != nil || n < 0 || n >= paletteSize+specialColors-first {
			continue
		}
		if fields[i+1] == "?" {
			b := appendInt(append(t.beginReply(), "\x1b]"...), code)
			b = append(appendInt(append(b, ';'), n), ';')
			b = appendColor(b, t.paletteColor(first+n))
			t.endReply(append(b, t.terminator()...))
			continue
		}
		if v, ok := parseColor(fields[i+1]); ok {
			e := t.more()
			if e.palette == nil {
				e.palette = make(map[int]uint32)
			}
			e.palette[first+n] = v
			t.lasts(paletteKind(first + n))
		}
	}
}

// paletteKind is the kind of a palette colour.
func paletteKind(n int) lasting {
	if n >= paletteSize {
		return lastingSpecial
	}
	return lastingPalette
}

// firstColor is the palette index of an OSC's colour 0: 4 and 104 count all
// colours, 5 and 105 only the special ones.
func firstColor(code int) int {
	if code == 5 || code == 105 {
		return paletteSize
	}
	return 0
}

// oscPaletteReset is OSC 104 and OSC 105: resets the colours listed, or all.
func (t *Terminal) oscPaletteReset(code int, text string) {
	if t.extra == nil {
		return
	}
	first := firstColor(code)
	t.lasts(0)
	if text == "" {
		maps.DeleteFunc(t.extra.palette, func(n int, _ uint32) bool { return (n >= paletteSize) == (first > 0) })
		return
	}
	for _, f := range strings.Split(text, ";") {
		if n, err := strconv.Atoi(f); err == nil {
			delete(t.extra.palette, first+n)
		}
	}
}

// oscDynamic is OSC 10 to 19: foreground, background, cursor and others;
// further colours in the same command are for the numbers that follow.
func (t *Terminal) oscDynamic(n int, text string) {
	for _, f := range strings.Split(text, ";") {
		if n > 9 {
			return
		}
		if f == "?" {
			b := appendInt(append(t.beginReply(), "\x1b]"...), n+10)
			b = appendColor(append(b, ';'), t.dynamicColor(n))
			t.endReply(append(b, t.terminator()...))
		} else if v, ok := parseColor(f); ok {
			t.more().dynamic[n] = v | colorSet
			t.lasts(1 << n)
		}
		n++
	}
}

// dynamicColor returns colour 10+n as set, or its default: the text's for
// foregrounds, the background's for the rest.
func (t *Terminal) dynamicColor(n int) uint32 {
	if t.extra != nil && t.extra.dynamic[n] != 0 {
		return t.extra.dynamic[n] &^ colorSet
	}
	switch n {
	case 1, 4, 6, 9:
		if n != 1 {
			return t.dynamicColor(1)
		}
		_, b := t.textColors()
		return b
	case 0:
		f, _ := t.textColors()
		return f
	}
	return t.dynamicColor(0)
}

// paletteColor returns a palette colour: the one set, or xterm's default.
func (t *Terminal) paletteColor(n int) uint32 {
	if t.extra != nil {
		if v, ok := t.extra.palette[n]; ok {
			return v
		}
	}
	switch {
	case n >= paletteSize: // the text colour, until set
		return t.dynamicColor(0)
	case n < 16:
		return systemColors[n]
	case n < 232: // the 6×6×6 cube
		n -= 16
		level := func(v int) uint32 {
			if v == 0 {
				return 0
			}
			return uint32(55 + 40*v)
		}
		return level(n/36)<<16 | level(n/6%6)<<8 | level(n%6)
	}
	g := uint32(8 + 10*(n-232))
	return g<<16 | g<<8 | g
}

var systemColors = [16]uint32{
	0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
	0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
}

// appendColor writes rgb:rrrr/gggg/bbbb.
func appendColor(dst []byte, v uint32) []byte {
	dst = append(dst, "rgb:"...)
	for shift := 16; shift >= 0; shift -= 8 {
		hi, lo := hexDigits[v>>(shift+4)&15], hexDigits[v>>shift&15]
		dst = append(dst, hi, lo, hi, lo)
		if shift > 0 {
			dst = append(dst, '/')
		}
	}
	return dst
}

// parseColor reads rgb:r/g/b with one to four digits each, which are scaled; #rgb,
// #rrggbb and longer forms, whose digits are the upper ones; and common names
// (XParseColor(3)).
func parseColor(s string) (uint32, bool) {
	if v, ok := namedColor(strings.ToLower(s)); ok {
		return v, true
	}
	var parts []string
	if rest, ok := strings.CutPrefix(s, "rgb:"); ok {
		parts = strings.Split(rest, "/")
	} else if rest, ok := strings.CutPrefix(s, "#"); ok && len(rest)%3 == 0 && len(rest) > 0 && len(rest) <= 12 {
		n := len(rest) / 3
		parts = []string{rest[:n], rest[n : 2*n], rest[2*n:]}
		for i := range parts { // the digits are the upper ones of 16 bits
			parts[i] = (parts[i] + "0")[:2]
		}
	}
	if len(parts) != 3 {
		return 0, false
	}
	var v uint32
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 16, 16)
		if err != nil || len(p) > 4 {
			return 0, false
		}
		full := uint64(1)<<(4*len(p)) - 1
		v = v<<8 | uint32(n*255/full)
	}
	return v, true
}

// namedColor returns the colour of a name in common use.
func namedColor(name string) (c uint32, ok bool) {
	switch name {
	case "black":
		return 0x000000, true
	case "red":
		return 0xff0000, true
	case "green":
		return 0x00ff00, true
	case "yellow":
		return 0xffff00, true
	case "blue":
		return 0x0000ff, true
	case "magenta":
		return 0xff00ff, true
	case "cyan":
		return 0x00ffff, true
	case "white":
		return 0xffffff, true
	case "gray", "grey":
		return 0xbebebe, true
	case "orange":
		return 0xffa500, true
	case "purple":
		return 0xa020f0, true
	case "brown":
		return 0xa52a2a, true
	case "pink":
		return 0xffc0cb, true
	}
	return 0, false
}
