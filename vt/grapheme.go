package vt

//go:generate go run gen_tables.go

// Layout of a code point's byte in the tables.
const (
	propWidth      = 3      // columns: 0, 1 or 2
	propVS         = 4      // VS16 makes it wide
	propClass      = 15     // after a shift by propClassShift
	propClassShift = 3      //
	propSpacing    = 1 << 7 // occupies a column when it stands alone (category Mc)
)

// Classes of code points (UAX 29 table 2, with Indic_Conjunct_Break).
const (
	classOther = iota
	classControl
	classExtend
	classLinker     // Extend, Indic_Conjunct_Break=Linker
	classExtendOnly // Extend, Indic_Conjunct_Break=None
	classZWJ
	classSpacing
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

// property returns a code point's byte in the tables.
func property(r rune) byte {
	if uint32(r) > 0x10ffff {
		return 1
	}
	return propBlocks[int(propIndex[uint32(r)>>8])<<8|int(r&0xff)]
}

// wcwidth is the width of a single code point, as in the C library.
func wcwidth(r rune, p byte) int {
	switch {
	case p&propSpacing != 0:
		return 1
	case p>>propClassShift&propClass == classRegional:
		return 1
	}
	return int(p & propWidth)
}

// States within a cluster: what may join it next.
const (
	grNone    = iota // unknown
	grOther          // only marks
	grPrepend        // anything
	grL              // hangul: leading consonant
	grV
	grT
	grPict    // pictograph and marks
	grPictZWJ // … and ZWJ
	grRI      // odd number of regional indicators
	grCons    // Indic consonant and marks
	grConsLink
)

// grStart is the state after a code point that starts a cluster.
func grStart(class byte) uint16 {
	switch class {
	case classPrepend:
		return grPrepend
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
	return grOther
}

// grNext reports whether a code point joins the cluster, and the state after it
// (UAX 29, GB6–GB13).
func grNext(gr uint16, class byte) (next uint16, joins bool) {
	switch class {
	case classExtend, classLinker, classExtendOnly, classZWJ, classSpacing:
		return grMark(gr, class), true
	case classControl:
		return 0, false
	}
	start := grStart(class)
	switch gr {
	case grPrepend:
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
		return grOther, class == classRegional
	case grConsLink:
		return start, class == classConsonant
	}
	return start, false
}

// grMark is the state after a mark.
func grMark(gr uint16, class byte) uint16 {
	switch {
	case gr == grPict && class == classZWJ:
		return grPictZWJ
	case gr == grPict && class != classSpacing:
		return grPict
	case (gr == grCons || gr == grConsLink) && class == classLinker:
		return grConsLink
	case (gr == grCons || gr == grConsLink) && (class == classExtend || class == classZWJ):
		return gr
	}
	return grOther
}

// isMark reports whether a class joins whatever precedes it.
func isMark(class byte) bool { return class >= classExtend && class <= classSpacing }

// joined adds r to the character left of the cursor if it belongs there. What
// stands there decides, not how it got there, so that a mark may follow a
// cursor movement, as in other terminals with mode 2027.
func (t *Terminal) joined(r rune, p byte) bool {
	if t.modes&modeGrapheme == 0 {
		return false
	}
	x, y, gr := int(t.last.x), int(t.last.y), t.last.gr
	if !t.last.join {
		if x, gr = t.leftCluster(); gr == grNone {
			return false
		}
		y = t.y
	}
	class := p >> propClassShift & propClass
	next, ok := grNext(gr, class)
	if !ok {
		if p&propWidth != 0 || class == classControl {
			return false
		}
		next = gr // no column of its own: it joins what is to its left
	}
	t.extend(x, y, r)
	t.last.gr = next
	return true
}

// leftCluster returns the column of the character left of the cursor and the
// state after it; grNone if there is none.
func (t *Terminal) leftCluster() (x int, gr uint16) {
	x = t.x
	if !t.pending {
		x--
	}
	row := t.scr.view(t.y)
	if x > 0 && row.at(x).isTail() {
		x--
	}
	if x < 0 || row.at(x)&cellContent == 0 {
		return 0, grNone
	}
	var buf [maxClusterBytes + 8]byte
	text := appendContent(buf[:0], t, row.at(x))
	gr = grState(text)
	if gr == grPrepend { // it prepends only if just printed
		gr = grOther
	}
	return x, gr
}

// grState is the state at the end of a cluster.
func grState(text []byte) uint16 {
	r, n := decode(text)
	gr := grStart(property(r) >> propClassShift & propClass)
	for text = text[n:]; len(text) > 0; text = text[n:] {
		r, n = decode(text)
		if next, ok := grNext(gr, property(r)>>propClassShift&propClass); ok {
			gr = next
		}
	}
	return gr
}

// mark adds a code point of no width to the cell left of the cursor; at the
// left edge, or if it is invisible, it is dropped.
func (t *Terminal) mark(r rune) {
	class := property(r) >> propClassShift & propClass
	x := t.x
	if !t.pending {
		x--
	}
	if x < 0 || class == classControl {
		return
	}
	if t.scr.view(t.y).at(x).isTail() {
		x--
	}
	t.extend(x, t.y, r)
}

// extend adds a code point to a cell's character.
func (t *Terminal) extend(x, y int, r rune) {
	row := t.touch(y)
	c := row.at(x)
	var buf [maxClusterBytes + 8]byte
	text := appendContent(buf[:0], t, c)
	if len(text) == 0 {
		text = append(text, ' ')
	}
	base := firstRune(text)
	if len(text) >= maxClusterBytes {
		return
	}
	text = appendRune(text, r)
	content := t.clusterCell(text) | c&cellKind
	row.set(x, c&cellAttr|content)
	t.last.cell = content
	if c&cellKind == cellNarrow && len(text) == utf8Len(base)+utf8Len(r) &&
		widens(base, r) && t.modes&modeGrapheme != 0 {
		t.last.x, t.last.y, t.last.join = int32(x), int32(y), true
		t.widen(x, y)
	}
}

// widens reports whether r, as the second code point, makes a cluster two
// columns wide: VS16 after a character with an emoji presentation, or a
// two-column mark (an emoji modifier) on a blank base.
func widens(base, r rune) bool {
	if r == 0xfe0f {
		return property(base)&propVS != 0
	}
	return base == ' ' && property(r)&propWidth == 2
}

// widen makes the character just printed two columns wide. If only one is left,
// it moves to where a wide character would go: see makeRoom.
func (t *Terminal) widen(x, y int) {
	content, gr := t.last.cell, t.last.gr
	row := t.touch(y)
	t.pending = false
	t.x, t.y = x, y
	row.cells[x] = row.cells[x].blanked()
	insert := t.modes & modeInsert
	if x+1 < t.lineEnd() && insert != 0 { // its first column was already shifted in
		t.x++
		t.insertCells(1)
		t.x--
		t.modes &^= modeInsert
	}
	t.put(content, 2)
	t.modes |= insert
	t.last.gr = gr
}

// appendContent appends the text of a cell: nothing for a blank cell or a tail.
func appendContent(dst []byte, t *Terminal, c cell) []byte {
	if c&cellCluster != 0 {
		return append(dst, t.clusters.get(uint32(c&cellRune))...)
	}
	if r := rune(c & cellRune); r != 0 {
		return appendRune(dst, r)
	}
	return dst
}

// appendRune is utf8.AppendRune without its checks: r is always valid.
func appendRune(dst []byte, r rune) []byte {
	switch {
	case r < 0x80:
		return append(dst, byte(r))
	case r < 0x800:
		return append(dst, 0xc0|byte(r>>6), 0x80|byte(r&0x3f))
	case r < 0x10000:
		return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6&0x3f), 0x80|byte(r&0x3f))
	}
	return append(dst, 0xf0|byte(r>>18), 0x80|byte(r>>12&0x3f), 0x80|byte(r>>6&0x3f), 0x80|byte(r&0x3f))
}
