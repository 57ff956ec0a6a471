package mux

import (
	"errors"
	"fmt"
)

// ErrUnknownKey is wrapped by the error of a key name that means nothing.
var ErrUnknownKey = errors.New("unknown key")

// KeyError is the error of a key name that means nothing. It wraps
// [ErrUnknownKey].
type KeyError struct {
	Key     string // as it was given
	Nearest string // the valid name that looks most like it
}

// Error names the key and the nearest valid one.
func (e *KeyError) Error() string {
	return fmt.Sprintf("%v %q (nearest: %s)", ErrUnknownKey, e.Key, e.Nearest)
}

// Unwrap returns [ErrUnknownKey].
func (e *KeyError) Unwrap() error { return ErrUnknownKey }

// KeyModes are the modes of a terminal that change what a key sends. The zero
// value is a terminal after a reset.
type KeyModes struct {
	AppCursor        bool // DECCKM: cursor keys send SS3
	AppKeypad        bool // DECKPAM: the keypad sends SS3
	NewLine          bool // LNM: Enter sends CR LF
	BackarrowSendsBS bool // DECBKM: Backspace sends BS, with Ctrl DEL
	ModifyOtherKeys  int  // XTMODKEYS 4: 0, 1 or 2 (3 counts as 2)
	KittyFlags       int  // kitty keyboard flags in force, 0 to 31
}

// EncodeKeys appends to dst what a terminal with the modes m sends when the
// keys are pressed one after the other, and returns the extended slice. A key
// is the name of one ([KeyNames]; case does not matter), one printable
// character, ^x for Ctrl with x, or one of these behind modifiers: C- M- S- or
// ctrl- alt- shift-, in any order, joined with - or +.
//
// The error is a [*KeyError] for the first unknown name; dst is then returned
// as it was, so that a list with a mistake sends nothing at all.
func EncodeKeys(dst []byte, keys []string, m KeyModes) ([]byte, error) {
	out := dst
	for _, name := range keys {
		k, ok := parseKey(name)
		if !ok {
			return dst, &KeyError{Key: name, Nearest: nearestKey(name)}
		}
		out = appendKey(out, k, m)
	}
	return out, nil
}

// KeyNames returns the names of the keys that are not a character, in the
// spelling of the documentation and without modifiers, and then Ctrl with each
// letter: what a shell offers for completion.
func KeyNames() []string {
	var names []string
	for _, d := range keyTable {
		names = append(names, d.names[0])
	}
	names = append(names, "BTab")
	for c := 'a'; c <= 'z'; c++ {
		names = append(names, "C-"+string(c))
	}
	return names
}
