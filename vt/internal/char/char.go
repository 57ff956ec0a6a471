// Package char knows how many columns a code point takes and which code points
// form one character (UAX 29). It is pure: tables and a state of 16 bits. It serves the
// terminal's printing, its history and its dumps.
package char

//go:generate go run gen_tables.go

// Property is a code point's byte in the tables.
type Property byte

// Layout of a Property.
const (
	propWidth      = 3      // columns: 0, 1 or 2
	propVS         = 4      // VS16 makes it wide
	propClass      = 15     // after a shift by propClassShift
	propClassShift = 3      //
	propSpacing    = 1 << 7 // occupies a column when it stands alone (category Mc)
)

// Wide is the Property of a code point that takes two columns and has no class.
const Wide Property = 2

// Class is the role of a code point at the boundaries of characters (UAX 29
// table 2, with Indic_Conjunct_Break).
type Class byte

// The classes.
const (
	Other Class = iota
	Control
	Extend
	classLinker     // Extend, Indic_Conjunct_Break=Linker
	classExtendOnly // Extend, Indic_Conjunct_Break=None
	classZWJ
	Spacing
	classPrepend
	classRegional
	classL
	classV
	classT
	classLV
	classLVT
	classPictograph
	classConsonant
)

// Of returns a code point's Property.
func Of(r rune) Property {
	if uint32(r) > 0x10ffff {
		return 1
	}
	return Property(propBlocks[int(propIndex[uint32(r)>>8])<<8|int(r&0xff)])
}

// Width is the number of columns of a character that begins with the code point.
func (p Property) Width() int { return int(p & propWidth) }

// Class returns the code point's class.
func (p Property) Class() Class { return Class(p >> propClassShift & propClass) }

// Wcwidth is the width of the single code point, as in the C library.
func (p Property) Wcwidth() int {
	switch {
	case p&propSpacing != 0:
		return 1
	case p.Class() == classRegional:
		return 1
	}
	return p.Width()
}

// IsMark reports whether a class joins whatever precedes it.
func (c Class) IsMark() bool { return c >= Extend && c <= Spacing }

// State is a position within a character: what may join it next.
type State uint16

// The states that a caller may compare with.
const (
	None      State = iota // unknown
	Marks                  // only marks
	Prepended              // anything
	grL                    // hangul: leading consonant
	grV
	grT
	grPict    // pictograph and marks
	grPictZWJ // … and ZWJ
	grRI      // odd number of regional indicators
	grCons    // Indic consonant and marks
	grConsLink
)

// Start is the state after a code point that starts a cluster.
func Start(class Class) State {
	switch class {
	case classPrepend:
		return Prepended
	case classL:
		return grL
	case classV, classLV:
		return grV
	case classT, classLVT:
		return grT
	case classPictograph:
		return grPict
	case classRegional:
		return grRI
	case classConsonant:
		return grCons
	}
	return Marks
}

// Next reports whether a code point joins the cluster, and the state after it
// (UAX 29, GB6–GB13).
func (gr State) Next(class Class) (next State, joins bool) {
	switch class {
	case Extend, classLinker, classExtendOnly, classZWJ, Spacing:
		return gr.mark(class), true
	case Control:
		return 0, false
	}
	start := Start(class)
	switch gr {
	case Prepended:
		return start, true
	case grL:
		return start, class == classL || class == classV || class == classLV || class == classLVT
	case grV:
		return start, class == classV || class == classT
	case grT:
		return start, class == classT
	case grPictZWJ:
		return start, class == classPictograph
	case grRI:
		return Marks, class == classRegional
	case grConsLink:
		return start, class == classConsonant
	}
	return start, false
}

// mark is the state after a mark.
func (gr State) mark(class Class) State {
	switch {
	case gr == grPict && class == classZWJ:
		return grPictZWJ
	case gr == grPict && class != Spacing:
		return grPict
	case (gr == grCons || gr == grConsLink) && class == classLinker:
		return grConsLink
	case (gr == grCons || gr == grConsLink) && (class == Extend || class == classZWJ):
		return gr
	}
	return Marks
}

// Widens reports whether r, as the second code point, makes a cluster two
// columns wide: VS16 after a character with an emoji presentation, or a
// two-column mark (an emoji modifier) on a blank base.
func Widens(base, r rune) bool {
	if r == 0xfe0f {
		return Of(base)&propVS != 0
	}
	return base == ' ' && Of(r).Width() == 2
}
