// Package keys translates between keys and the bytes of terminals: names of keys and
// their encodings, the keys that detach, pasted text, and how input is cut into keys,
// sequences and pastes.
//
// Its functions are pure. It never reads, writes or waits; a caller that holds an
// unfinished sequence decides when [Scanner.Flush] is due. The server,
// mux/attach and the providers call it.
package keys

import (
	"errors"
	"fmt"
)

// ErrUnknown is wrapped by the error of an unknown key name.
var ErrUnknown = errors.New("unknown key")

// Error is the error of an unknown key name. It wraps [ErrUnknown].
type Error struct {
	Key     string // as given
	Nearest string // the nearest valid name
}

// Error names the key and the nearest valid one.
func (e *Error) Error() string {
	return fmt.Sprintf("%v %q (nearest: %s)", ErrUnknown, e.Key, e.Nearest)
}

// Unwrap returns [ErrUnknown].
func (e *Error) Unwrap() error { return ErrUnknown }

// Modes are the terminal modes that change what a key sends. The zero value is a
// terminal after a reset.
type Modes struct {
	AppCursor        bool // DECCKM: cursor keys send SS3
	AppKeypad        bool // DECKPAM: the keypad sends SS3
	NewLine          bool // LNM: Enter sends CR LF
	BackarrowSendsBS bool // DECBKM: Backspace sends BS, with Ctrl DEL
	ModifyOtherKeys  int  // XTMODKEYS 4: 0, 1 or 2 (3 counts as 2)
	KittyFlags       int  // kitty keyboard flags in force, 0 to 31
}

// Encode appends to dst what a terminal in the modes m sends when the keys are pressed
// in order, and returns the extended slice. A key is a name ([Names]; case does not
// matter), one printable character, ^x for Ctrl with x, or one of these after
// modifiers: C- M- S- or ctrl- alt- shift-, in any order, joined with - or +.
//
// The error is a [*Error] for the first unknown name; dst is then unchanged, so that a
// list with a mistake sends nothing.
func Encode(dst []byte, keys []string, m Modes) ([]byte, error) {
	out := dst
	for _, name := range keys {
		k, ok := parse(name)
		if !ok {
			return dst, &Error{Key: name, Nearest: nearest(name)}
		}
		out = appendKey(out, k, m)
	}
	return out, nil
}

// Names returns, for completion, the names of the keys that are not characters, as
// documented and without modifiers, and then Ctrl with each letter.
func Names() []string {
	var names []string
	for _, d := range table {
		names = append(names, d.names[0])
	}
	names = append(names, "BTab")
	for c := 'a'; c <= 'z'; c++ {
		names = append(names, "C-"+string(c))
	}
	return names
}
