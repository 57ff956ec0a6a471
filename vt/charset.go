package vt

// charset is a 94-character set (ECMA-35), identified by its final byte; 0x80
// is added for sets designated with an intermediate. 0 is ASCII.
type charset uint8

// charsets is the state of ECMA-35: the designated and the invoked sets.
type charsets struct {
	g      [4]charset
	gl, gr uint8 // sets invoked for bytes 0x20–0x7F and, outside UTF-8, 0xA0–0xFF
	single uint8 // set for the next character plus one (SS2, SS3); 0 = none
}

const (
	setGraphics   charset = '0' // DEC special graphics, VT100
	setTechnical  charset = '>' // DEC technical, VT340
	setSupplement charset = '<' // DEC supplemental, VT200
)

// nrcs are the national replacement character sets (DEC STD 070, VT510 table
// 2-x): the replacements of # @ [ \ ] ^ _ ` { | } ~
var nrcs = [...]struct {
	set   charset
	runes [12]rune
}{
	{'A', [12]rune{'£', '@', '[', '\\', ']', '^', '_', '`', '{', '|', '}', '~'}},       // United Kingdom
	{'4', [12]rune{'£', '¾', 'ĳ', '½', '|', '^', '_', '`', '¨', 'f', '¼', '´'}},        // Dutch
	{'C', [12]rune{'#', '@', 'Ä', 'Ö', 'Å', 'Ü', '_', 'é', 'ä', 'ö', 'å', 'ü'}},        // Finnish
	{'R', [12]rune{'£', 'à', '°', 'ç', '§', '^', '_', '`', 'é', 'ù', 'è', '¨'}},        // French
	{'Q', [12]rune{'#', 'à', 'â', 'ç', 'ê', 'î', '_', 'ô', 'é', 'ù', 'è', 'û'}},        // French Canadian
	{'K', [12]rune{'#', '§', 'Ä', 'Ö', 'Ü', '^', '_', '`', 'ä', 'ö', 'ü', 'ß'}},        // German
	{'Y', [12]rune{'£', '§', '°', 'ç', 'é', '^', '_', 'ù', 'à', 'ò', 'è', 'ì'}},        // Italian
	{'E', [12]rune{'#', 'Ä', 'Æ', 'Ø', 'Å', 'Ü', '_', 'ä', 'æ', 'ø', 'å', 'ü'}},        // Norwegian, Danish
	{'%' | 0x80, [12]rune{'#', '@', 'Ã', 'Ç', 'Õ', '^', '_', '`', 'ã', 'ç', 'õ', '~'}}, // Portuguese (%6)
	{'Z', [12]rune{'£', '§', '¡', 'Ñ', '¿', '^', '_', '`', '°', 'ñ', 'ç', '~'}},        // Spanish
	{'H', [12]rune{'#', 'É', 'Ä', 'Ö', 'Å', 'Ü', '_', 'é', 'ä', 'ö', 'å', 'ü'}},        // Swedish
	{'=', [12]rune{'ù', 'à', 'é', 'ç', 'ê', 'î', 'è', 'ô', 'ä', 'ö', 'ü', 'û'}},        // Swiss
}

// nrcsOf returns the replacements of a set, nil if it is not a national one.
func nrcsOf(s charset) *[12]rune {
	for i := range nrcs {
		if nrcs[i].set == s {
			return &nrcs[i].runes
		}
	}
	return nil
}

// nrcsName maps the alternative final bytes of a set to the one in nrcs.
func nrcsName(s charset) charset {
	switch s {
	case '5':
		return 'C'
	case 'f':
		return 'R'
	case '9':
		return 'Q'
	case '6', '`':
		return 'E'
	case '7':
		return 'H'
	}
	return s
}

const nrcsPlaces = "#@[\\]^_`{|}~"

// graphics is DEC special graphics from 0x5F on (VT100 user guide, table 3-9).
var graphics = [...]rune{
	' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼',
	'⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

// technical is the DEC technical set from 0x21 on; 0 is undefined.
var technical = [...]rune{
	'⎷', '┌', '─', '⌠', '⌡', '│', '⎡', '⎣', '⎤', '⎦', '⎛', '⎝', '⎞', '⎠', '⎨', '⎬',
	0, 0, 0, 0, 0, 0, 0, '≤', '≠', '≥', '∫', '∴', '∝', '∞', '÷', 'Δ',
	'∇', 'Φ', 'Γ', '∼', '≃', 'Θ', '×', 'Λ', '⇔', '⇒', '≡', 'Π', 'Ψ', 0, 'Σ', 0,
	0, '√', 'Ω', 'Ξ', 'Υ', '⊂', '⊃', '∩', '∪', '∧', '∨', '¬', 'α', 'β', 'χ', 'δ',
	'ε', 'φ', 'γ', 'η', 'ι', 'θ', 'κ', 'λ', 0, 'ν', '∂', 'π', 'ψ', 'ρ', 'σ', 'τ',
	0, 'ƒ', 'ω', 'ξ', 'υ', 'ζ', '←', '↑', '→', '↓',
}

// plain reports whether ASCII bytes print as they are.
func (c *charsets) plain() bool { return c.g[c.gl] == 0 && c.single == 0 }

// left returns the character of a byte 0x20–0x7E.
func (c *charsets) left(b byte) rune {
	set := c.g[c.gl]
	if c.single != 0 {
		set = c.g[c.single-1]
		c.single = 0
	}
	return set.lookup(b)
}

// right returns the character of a byte 0xA0–0xFF outside UTF-8: Latin-1 unless
// the program designated another set.
func (c *charsets) right(b byte) rune {
	if set := c.g[c.gr&3]; c.gr != 0 && set != 0 && b > 0xa0 && b < 0xff {
		return set.lookup(b & 0x7f)
	}
	return rune(b)
}

func (s charset) lookup(b byte) rune {
	switch s {
	case 0:
		return rune(b)
	case setGraphics:
		if b >= 0x5f && b < 0x7f {
			return graphics[b-0x5f]
		}
		return rune(b)
	case setTechnical:
		if b > 0x20 && int(b-0x21) < len(technical) && technical[b-0x21] != 0 {
			return technical[b-0x21]
		}
		return rune(b)
	case setSupplement:
		if b > 0x20 {
			return rune(b) | 0x80
		}
		return rune(b)
	}
	if set := nrcsOf(nrcsName(s)); set != nil {
		for i := range nrcsPlaces {
			if nrcsPlaces[i] == b {
				return set[i]
			}
		}
	}
	return rune(b)
}

// knownCharset returns the set with this designator, ASCII if it is unknown.
func knownCharset(final byte, inter byte) charset {
	s := charset(final)
	if inter != 0 {
		switch {
		case inter == '%' && final == '6':
			return '%' | 0x80
		case inter == '%' && final == '5':
			return setSupplement
		}
		return 0
	}
	switch s {
	case setGraphics, setTechnical, setSupplement:
		return s
	case '2': // DEC alternate graphics
		return setGraphics
	}
	s = nrcsName(s)
	if nrcsOf(s) != nil {
		return s
	}
	return 0
}

// designate puts a set into G0–G3 (ECMA-35 14.3).
func (t *Terminal) designate(g int, final, inter byte) {
	t.chars.g[g] = knownCharset(final, inter)
	t.updateSlow()
}

// shift invokes G0–G3 into the left half (LS0–LS3).
func (t *Terminal) shift(g uint8) {
	t.chars.gl = g
	t.updateSlow()
}

// updateSlow decides whether ASCII can be copied straight into cells.
func (t *Terminal) updateSlow() {
	t.slow = !t.chars.plain() || t.modes&modeInsert != 0
}
