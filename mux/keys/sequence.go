package keys

import (
	"fmt"
	"strings"
)

// ParseKey returns the key with a name. The error of an unknown name wraps [ErrUnknown].
func ParseKey(name string) (Identity, error) {
	k, ok := parse(name)
	if !ok {
		return Identity{}, &Error{Key: name, Nearest: nearest(name)}
	}
	if k.text != "" && (k.code < ' ' || k.code > '~' || len(k.text) > 1) {
		return Identity{}, fmt.Errorf("%q is not an ASCII character", name)
	}
	return identify(k.code, k.mods), nil
}

// Prefix returns all keys but the last; ok is false if there are none.
func (d DetachKeys) Prefix() (prefix DetachKeys, ok bool) {
	keys := d.sequence()
	if len(keys) < 2 {
		return DetachKeys{}, false
	}
	names := detachNames(d.String())
	return DetachKeys{spec: strings.Join(names[:len(names)-1], " "), keys: keys[:len(keys)-1]}, true
}

// Then returns the keys of d followed by the key with a name.
func (d DetachKeys) Then(name string) (DetachKeys, error) {
	k, err := ParseKey(name)
	if err != nil {
		return DetachKeys{}, err
	}
	keys := d.sequence()
	return DetachKeys{spec: d.String() + " " + name, keys: append(keys[:len(keys):len(keys)], k)}, nil
}

// First reports whether k is the first key of the sequence.
func (d DetachKeys) First(k Identity) bool {
	keys := d.sequence()
	return len(keys) > 0 && keys[0] == k
}
