package vt

import "gascity.dev/gc/vt/internal/char"

// joined adds r to the character left of the cursor if it belongs there. Only
// the character's position counts, not how it got there: a mark may follow a
// cursor movement, as in other terminals with mode 2027.
func (t *Terminal) joined(r rune, p char.Property) bool {
	if t.modes&modeGrapheme == 0 {
		return false
	}
	x, y, gr := int(t.last.x), int(t.last.y), t.last.gr
	if !t.last.join {
		if x, gr = t.leftCluster(); gr == char.None {
			return false
		}
		y = t.y
	}
	class := p.Class()
	next, ok := gr.Next(class)
	if !ok {
		if p.Width() != 0 || class == char.Control {
			return false
		}
		next = gr // no column of its own: it joins what is to its left
	}
	t.extend(x, y, r)
	t.last.gr = next
	return true
}

// leftCluster returns the column of the character left of the cursor and the
// state after it; char.None if there is none.
func (t *Terminal) leftCluster() (x int, gr char.State) {
	x = t.x
	if !t.pending {
		x--
	}
	row := t.scr.view(t.y)
	if x > 0 && row.at(x).isTail() {
		x--
	}
	if x < 0 || row.at(x)&cellContent == 0 {
		return 0, char.None
	}
	var buf [maxClusterBytes + 8]byte
	text := appendContent(buf[:0], t, row.at(x))
	gr = grState(text)
	if gr == char.Prepended { // it prepends only if just printed
		gr = char.Marks
	}
	return x, gr
}

// grState is the state at the end of a cluster.
func grState(text []byte) char.State {
	r, n := decode(text)
	gr := char.Start(char.Of(r).Class())
	for text = text[n:]; len(text) > 0; text = text[n:] {
		r, n = decode(text)
		if next, ok := gr.Next(char.Of(r).Class()); ok {
			gr = next
		}
	}
	return gr
}

// mark adds a code point of no width to the cell left of the cursor; at the
// left edge, or if it is invisible, it is dropped.
func (t *Terminal) mark(r rune) {
	class := char.Of(r).Class()
	x := t.x
	if !t.pending {
		x--
	}
	if x < 0 || class == char.Control {
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
		char.Widens(base, r) && t.modes&modeGrapheme != 0 {
		t.last.x, t.last.y, t.last.join = int32(x), int32(y), true
		t.widen(x, y)
	}
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
