package vt

import "bytes"

// Undo tracks the settings in a program's output that AppendReset does not
// undo, because undoing them unconditionally would change a person's own. The
// zero value is ready.
type Undo struct {
	tail []byte // the last bytes, in which a sequence may have begun
	made [len(undone)]bool
}

// undone are the commands in passOSC that persist after detach, and what undoes
// them.
var undone = [...]struct{ set, undo string }{
	{"4;", "104"}, {"5;", "105"}, {"10;", "110"}, {"11;", "111"}, {"12;", "112"}, {"13;", "113"}, {"14;", "114"},
	{"17;", "117"}, {"19;", "119"}, {"9;4;", "9;4;0"}, {"22;", "22;"},
}

// Note scans the next bytes of the output.
func (u *Undo) Note(p []byte) {
	const longest = len("\x1b]9;4;")
	u.tail = append(u.tail, p[:min(len(p), longest)]...) // sequences that began in earlier bytes
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

// Append appends the sequences that undo what Note saw.
func (u *Undo) Append(dst []byte) []byte {
	for i, made := range u.made {
		if made {
			dst = append(append(append(dst, "\x1b]"...), undone[i].undo...), "\x1b\\"...)
		}
	}
	return dst
}
