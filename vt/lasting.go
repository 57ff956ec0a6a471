package vt

import "bytes"

// lasting is a set of the settings that outlive a program on a host terminal unless
// somebody resets them: colours, the shape of the pointer, progress. resetHost leaves them
// alone, because a person may have set their own; Undo and AppendPaint reset those that a
// session has set.
type lasting uint16

// The dynamic colours, OSC 10 to 19, are bits 0 to 9.
const (
	lastingPalette  lasting = 1 << (10 + iota) // OSC 4
	lastingSpecial                             // OSC 5
	lastingPointer                             // OSC 22
	lastingProgress                            // OSC 9;4
	lastingTitle                               // OSC 0 and 2
	lastingTabs                                // HTS, TBC
)

// hostDynamic are the dynamic colours that a host terminal gets; the others belong to
// Tektronix windows (passOSC).
var hostDynamic = [...]int{10, 11, 12, 13, 14, 17, 19}

// lasts notes that the program has set or reset something that lasts.
func (t *Terminal) lasts(what lasting) {
	t.lasted |= what
	t.lastings++
	t.changed = true
}

// Lastings counts the program's changes of colours, of the pointer's shape and of progress:
// a host terminal that was painted at another count needs them again.
func (t *Terminal) Lastings() uint32 { return t.lastings }

// lasting writes these settings. Again means that the host terminal may have earlier ones.
func (p *painter) lasting(again bool) {
	t := p.t
	if again {
		p.resetLasting(t.lasted)
	}
	e := t.extra
	if e == nil {
		return
	}
	p.palette(e)
	for _, n := range hostDynamic {
		p.dynamic(e, n-10)
	}
	if e.pointer != "" {
		p.str("\x1b]22;" + e.pointer + "\x1b\\")
	}
	if e.progress.State != 0 {
		p.b = append(appendInt(append(p.b, "\x1b]9;4;"...), e.progress.State), ';')
		p.b = append(appendInt(p.b, e.progress.Percent), "\x1b\\"...)
	}
}

// resetLasting resets what a session has ever set, also before RIS.
func (p *painter) resetLasting(was lasting) {
	if was&lastingPalette != 0 {
		p.str("\x1b]104\x1b\\")
	}
	if was&lastingSpecial != 0 {
		p.str("\x1b]105\x1b\\")
	}
	for _, n := range hostDynamic {
		if was&(1<<(n-10)) != 0 {
			p.b = append(appendInt(append(p.b, "\x1b]"...), 100+n), "\x1b\\"...)
		}
	}
	if was&lastingPointer != 0 {
		p.str("\x1b]22;\x1b\\")
	}
	if was&lastingProgress != 0 {
		p.str("\x1b]9;4;0\x1b\\")
	}
	if was&lastingTitle != 0 && p.t.title == "" {
		p.str("\x1b]0;\x1b\\\x1b[23;0t\x1b[22;0t") // the title before attach, which stays saved
	}
}

// palette writes the colours that the program has set (OSC 4).
func (p *painter) palette(e *extra) {
	for n := range paletteSize + specialColors {
		if v, ok := e.palette[n]; ok {
			p.b = appendColor(append(appendInt(append(p.b, "\x1b]4;"...), n), ';'), v)
			p.str("\x1b\\")
		}
	}
}

// dynamic writes colour 10+n if the program has set it.
func (p *painter) dynamic(e *extra, n int) {
	if v := e.dynamic[n]; v != 0 {
		p.b = appendColor(append(appendInt(append(p.b, "\x1b]"...), 10+n), ';'), v&^colorSet)
		p.str("\x1b\\")
	}
}

// Undo tracks the settings in a program's output that AppendReset does not
// undo, because undoing them unconditionally would change a person's own. The
// zero value is ready.
type Undo struct {
	tail []byte // the last bytes, in which a sequence may have begun
	made [len(undone)]bool

	images bool // of kitty's protocol, which are not part of the cells
}

// undone are the commands in passOSC that persist after detach, and what undoes
// them.
var undone = [...]struct{ set, undo string }{
	{"4;", "104"}, {"5;", "105"}, {"10;", "110"}, {"11;", "111"}, {"12;", "112"}, {"13;", "113"}, {"14;", "114"},
	{"17;", "117"}, {"19;", "119"}, {"9;4;", "9;4;0"}, {"22;", "22;"},
	{"0;", "0;"}, {"1;", "1;"}, {"2;", "2;"}, // before the saved ones come back, where a terminal saves titles
}

// Note scans the next bytes of the output.
func (u *Undo) Note(p []byte) {
	u.images = u.images || bytes.Contains(p, []byte(kittyIntro))
	const longest = len("\x1b]9;4;")
	u.tail = append(u.tail, p[:min(len(p), longest)]...) // sequences that began in earlier bytes
	u.images = u.images || bytes.Contains(u.tail, []byte(kittyIntro))
	u.scan(u.tail)
	u.scan(p)
	if len(p) >= longest {
		u.tail = u.tail[:0]
		p = p[len(p)-longest:]
	} else {
		p = nil
	}
	u.tail = append(u.tail, p...)
	u.tail = u.tail[max(len(u.tail)-longest, 0):]
}

func (u *Undo) scan(p []byte) {
	for {
		_, rest, ok := bytes.Cut(p, []byte("\x1b]"))
		if !ok {
			return
		}
		for i := range undone {
			u.made[i] = u.made[i] || bytes.HasPrefix(rest, []byte(undone[i].set))
		}
		p = rest
	}
}

// Noted reports whether Note saw the OSC that begins with set, such as "10;".
func (u *Undo) Noted(set string) bool {
	for i, made := range u.made {
		if made && undone[i].set == set {
			return true
		}
	}
	return false
}

// kittyIntro begins a command of kitty's graphics protocol.
const kittyIntro = "\x1b_G"

// Images reports whether Note saw images of kitty's protocol. The terminal answers some.
func (u *Undo) Images() bool { return u.images }

// AppendImages appends what takes such images off the screen, also in the middle of a
// sequence. The terminal keeps their data: programs may show them again.
func (u *Undo) AppendImages(dst []byte) []byte {
	if !u.images {
		return dst
	}
	return append(dst, cutHost+"\x1b_Ga=d,d=a,q=2\x1b\\"...)
}

// Append appends the sequences that undo what Note saw.
func (u *Undo) Append(dst []byte) []byte {
	if u.images {
		dst = append(dst, "\x1b_Ga=d,d=A,q=2\x1b\\"...)
	}
	for i, made := range u.made {
		if made {
			dst = append(append(append(dst, "\x1b]"...), undone[i].undo...), "\x1b\\"...)
		}
	}
	return dst
}
