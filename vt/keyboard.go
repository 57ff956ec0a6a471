package vt

// kittyStack is the stack of keyboard flags of one screen (kitty keyboard
// protocol): the flags in force and those below, newest last. When it is full,
// the oldest is dropped.
type kittyStack struct {
	flags uint8
	n     uint8
	below [15]uint8
}

// kittyAll are the defined flags: disambiguate, event types, alternate keys,
// all keys, text.
const kittyAll = 31

func (k *kittyStack) push(flags uint8) {
	if int(k.n) == len(k.below) {
		copy(k.below[:], k.below[1:])
		k.n--
	}
	k.below[k.n] = k.flags
	k.n++
	k.flags = flags
}

func (k *kittyStack) pop(n int) {
	for ; n > 0 && k.n > 0; n-- {
		k.n--
		k.flags = k.below[k.n]
	}
	if n > 0 {
		k.flags = 0
	}
}

// kitty carries out CSI ? u (query), > u (push), < u (pop), = u (set).
func (t *Terminal) kitty(c *csi) {
	k := &t.scr.kitty
	flags := uint8(c.arg(0, 0) & kittyAll)
	switch c.prefix {
	case '?':
		b := append(t.beginReply(), "\x1b[?"...)
		t.endReply(append(appendInt(b, int(k.flags)), 'u'))
		return
	}
	if t.onPipe() {
		return
	}
	switch c.prefix {
	case '>':
		k.push(flags)
	case '<':
		k.pop(c.arg(0, 1))
	case '=':
		switch c.arg(1, 1) {
		case 1:
			k.flags = flags
		case 2:
			k.flags |= flags
		case 3:
			k.flags &^= flags
		}
	}
	t.changed, t.outside = true, true
}

// setModKeys is XTMODKEYS (xterm ctlseqs): CSI > resource ; value m. Without a
// value it resets the resource, without both all of them.
func (t *Terminal) setModKeys(c *csi) {
	t.changed, t.outside = true, true
	switch {
	case t.onPipe():
	case c.count() == 0:
		if t.extra != nil {
			t.extra.modKeys = [8]uint16{}
		}
	case c.arg(0, 0) < 8:
		t.more().modKeys[c.arg(0, 0)] = uint16(min(c.arg(1, 0), 9))
	}
}

// replyModKeys is XTQMODKEYS.
func (t *Terminal) replyModKeys(resource int) {
	if resource >= 8 {
		return
	}
	t.endReply(append(t.appendModKeys(append(t.beginReply(), "\x1b[>"...), resource), 'm'))
}

// appendModKeys appends a resource of XTMODKEYS and its value.
func (t *Terminal) appendModKeys(b []byte, resource int) []byte {
	value := 0
	if t.extra != nil {
		value = int(t.extra.modKeys[resource])
	}
	return appendInt(append(appendInt(b, resource), ';'), value)
}
