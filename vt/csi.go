package vt

// Limits of a control sequence.
const (
	maxParams = 32
	maxParam  = 1 << 24 // larger numbers are clamped
)

// csi is a control sequence (ECMA-48 5.4): CSI prefix parameters intermediates
// final. Omitted parameters are 0.
type csi struct {
	prefix byte   // one of < = > ?, or 0
	n      uint8  // parameters begun, at least 1
	any    bool   // a parameter byte was seen
	colons uint32 // bit i: parameter i follows a colon, so it is a sub-parameter
	param  [maxParams]int32
}

// arg returns parameter i, or def when it is 0 or omitted.
func (c *csi) arg(i, def int) int {
	if i < int(c.n) && c.param[i] != 0 {
		return int(c.param[i])
	}
	return def
}

// count returns the number of parameters, 0 if there are none.
func (c *csi) count() int {
	if !c.any {
		return 0
	}
	return int(c.n)
}

func (t *Terminal) beginCSI() {
	ps := &t.parser
	ps.state = stCSI
	ps.inter = 0
	ps.csi.prefix, ps.csi.n, ps.csi.any, ps.csi.colons = 0, 1, false, 0
	ps.csi.param[0] = 0
}

// csiBytes consumes bytes of a control sequence, up to its end, and returns how
// many.
func (t *Terminal) csiBytes(p []byte) int {
	ps := &t.parser
	if ps.state != stCSI {
		return t.csiTail(p)
	}
	c := &ps.csi
	tooLong := false
	for i, b := range p {
		switch {
		case b >= '0' && b <= '9':
			c.any = true
			if v := &c.param[(c.n-1)&(maxParams-1)]; *v < maxParam && c.n <= maxParams {
				*v = *v*10 + int32(b-'0')
			}
		case b >= 0x40 && b <= 0x7e:
			ps.state = stGround
			t.dispatchCSI(b)
			return i + 1
		case b == ';' || b == ':':
			c.any = true
			c.next(b == ':')
		default:
			if tooLong = t.csiOther(b); tooLong {
				return i + 1
			}
			if ps.state == stGround { // the byte is text again
				return i
			}
		}
	}
	return len(p)
}

// next begins a parameter; those beyond maxParams are ignored.
func (c *csi) next(colon bool) {
	if c.n >= maxParams {
		c.n = maxParams + 1
		return
	}
	c.param[c.n] = 0
	if colon {
		c.colons |= 1 << c.n
	}
	c.n++
}

// csiOther handles a byte that is neither a parameter nor a final byte, and
// reports whether the state changed.
func (t *Terminal) csiOther(b byte) bool {
	ps := &t.parser
	switch {
	case b >= '<' && b <= '?':
		if ps.csi.any || ps.csi.prefix != 0 {
			ps.state = stCSISkip
			return true
		}
		ps.csi.prefix = b
		return false
	case b >= 0x20 && b < 0x30:
		ps.inter = interAdd(ps.inter, b)
		ps.state = stCSITail
		return true
	case b == 0x7f:
		return false
	case b < 0x20: // executed before the sequence, DEC STD 070
		t.control(b)
		return ps.state != stCSI
	}
	ps.state, ps.cont = stGround, false
	return false
}

// csiTail consumes intermediates, or the rest of a malformed sequence.
func (t *Terminal) csiTail(p []byte) int {
	ps := &t.parser
	for i, b := range p {
		switch {
		case b >= 0x40 && b <= 0x7e:
			tail := ps.state == stCSITail
			ps.state = stGround
			if tail {
				t.dispatchCSI(b)
			}
			return i + 1
		case b >= 0x20 && b < 0x30:
			ps.inter = interAdd(ps.inter, b)
		case b < 0x20:
			was := ps.state
			t.control(b)
			if ps.state != was {
				return i + 1
			}
		case b >= 0x80:
			ps.state, ps.cont = stGround, false
			return i
		case b != 0x7f: // a parameter after an intermediate
			ps.state = stCSISkip
		}
	}
	return len(p)
}

// dispatchCSI carries out a complete control sequence.
func (t *Terminal) dispatchCSI(final byte) {
	ps := &t.parser
	c := &ps.csi
	if c.n > maxParams {
		c.n = maxParams
	}
	if final == 'm' && c.prefix == 0 && ps.inter == 0 {
		t.sgr(c)
		return
	}
	t.last.rep = t.last.join
	t.last.join = false
	switch {
	case ps.inter == 0 && c.prefix == 0:
		if f := csiPlain[final-0x40]; f != nil {
			f(t, c)
		}
	case ps.inter == 0:
		t.csiPrivate(c, final)
	case c.prefix == 0:
		t.csiInter(c, byte(ps.inter), final, ps.inter > 0xff)
	case c.prefix == '?' && ps.inter == '$' && final == 'p':
		t.reportMode(c.arg(0, 0), true)
	}
}
