package vt

import (
	"encoding/binary"
	"math"
)

// Pack compacts the screens to a twentieth of their memory, as deflated runs.
// The next use unpacks them. The owner calls it when a session has been idle
// for a while.
func (t *Terminal) Pack() {
	if t.packed != nil || t.frozen != nil || t.main.rows == nil && t.alt.rows == nil {
		return
	}
	t.spare, t.styles.sgr = nil, nil
	if t.hist != nil {
		t.hist.pack()
	}
	if s := t.parser.state; s != stString && s != stStringE { // otherwise it holds half a string
		t.parser.str.buf = nil
	}
	var b []byte
	for _, s := range [...]*screen{&t.main, &t.alt} {
		b = binary.AppendUvarint(b, uint64(len(s.rows)))
		for y := range s.rows {
			b = packRow(b, s.row(y))
		}
		s.drop()
	}
	z := deflate(nil, b)
	z = append(make([]byte, 0, len(z)), z...)
	t.packed = &z
}

// packRow writes a row: used, flags, revision, then runs of cells that differ
// only in content: attributes, count, contents.
func packRow(b []byte, r *row) []byte {
	b = binary.AppendUvarint(b, uint64(r.used))
	b = append(b, byte(r.flags))
	b = binary.AppendUvarint(b, r.rev)
	cells := r.cells[:r.used]
	for len(cells) > 0 {
		attr := cells[0] & cellAttr
		n := 1
		for n < len(cells) && cells[n]&cellAttr == attr {
			n++
		}
		b = binary.AppendUvarint(b, uint64(attr>>24))
		b = binary.AppendUvarint(b, uint64(n))
		for _, c := range cells[:n] {
			b = binary.AppendUvarint(b, uint64(c&cellGlyph))
		}
		cells = cells[n:]
	}
	return b
}

// unpack reverses Pack.
func (t *Terminal) unpack() {
	b, _ := inflate(*t.packed, math.MaxInt64) // Pack's own bytes
	t.packed = nil
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	for _, s := range [...]*screen{&t.main, &t.alt} {
		n := int(next())
		if n == 0 {
			continue
		}
		s.rows, s.top = make([]row, n), 0
		for y := range s.rows {
			r := &s.rows[y]
			r.used = int32(next())
			r.flags = rowFlags(b[0])
			b = b[1:]
			r.rev = next()
			if r.used == 0 && r.flags&rowWrapped == 0 {
				continue
			}
			r.cells = make([]cell, t.cols)
			for x := 0; x < int(r.used); {
				attr := cell(next()) << 24
				for k := int(next()); k > 0; k-- {
					r.cells[x] = attr | cell(next())
					x++
				}
			}
		}
	}
}
