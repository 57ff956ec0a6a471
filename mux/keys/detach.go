package keys

import (
	"fmt"
	"slices"
	"strings"
)

// DefaultDetach are the default detach keys.
const DefaultDetach = "ctrl-b d"

// maxDetachKeys is the length of the longest sequence, in keys.
const maxDetachKeys = 8

// DetachKeys are the keys that end an attach. The zero value means
// [DefaultDetach].
type DetachKeys struct {
	spec string
	keys []Identity
	none bool
}

// ParseDetach parses a sequence of keys, named as for [Encode] and separated by blanks
// or commas: "ctrl-b d", "C-q", "ctrl-p,ctrl-q". "none" means that nothing detaches, ""
// means the default. Characters must be ASCII. The error of an unknown name wraps
// [ErrUnknown].
func ParseDetach(spec string) (DetachKeys, error) {
	trimmed := strings.TrimSpace(spec)
	switch {
	case trimmed == "":
		trimmed = DefaultDetach
	case strings.EqualFold(trimmed, "none"):
		return DetachKeys{spec: "none", none: true}, nil
	}
	d := DetachKeys{spec: trimmed}
	for _, name := range detachNames(trimmed) {
		k, ok := parse(name)
		if !ok {
			return DetachKeys{}, fmt.Errorf("detach keys %q: %w", spec, &Error{Key: name, Nearest: nearest(name)})
		}
		if k.text != "" && (k.code < ' ' || k.code > '~' || len(k.text) > 1) {
			return DetachKeys{}, fmt.Errorf("detach keys %q: %q is not an ASCII character", spec, name)
		}
		d.keys = append(d.keys, identify(k.code, k.mods))
	}
	if len(d.keys) > maxDetachKeys {
		return DetachKeys{}, fmt.Errorf("detach keys %q: more than %d keys", spec, maxDetachKeys)
	}
	return d, nil
}

// detachNames splits a specification at blanks, and each part that is not a key at
// commas: "ctrl-," is a key.
func detachNames(spec string) []string {
	var names []string
	for _, field := range strings.Fields(spec) {
		if _, ok := parse(field); ok {
			names = append(names, field)
			continue
		}
		for _, name := range strings.Split(field, ",") {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// String returns the keys as given.
func (d DetachKeys) String() string {
	if d.spec == "" {
		return DefaultDetach
	}
	return d.spec
}

// None reports whether nothing detaches.
func (d DetachKeys) None() bool { return d.none }

// sequence returns the keys to match.
func (d DetachKeys) sequence() []Identity {
	if d.none || len(d.keys) > 0 {
		return d.keys
	}
	return []Identity{identify('b', ModCtrl), identify('d', 0)}
}

// maxDetachHeld bounds the held bytes of an unfinished sequence: constant mouse motion
// must not fill the memory.
const maxDetachHeld = 4 << 10

// DetachMatcher finds the detach keys in what a terminal sends, in every encoding of
// keys (plain bytes, CSI u of the kitty protocol with its event types, alternates, text
// and locks, xterm's modifyOtherKeys) and however the bytes are cut. The zero value
// matches [DefaultDetach].
//
//   - The bytes of an unfinished sequence are held. Another key releases them,
//     followed by that key.
//   - The first key twice sends it once.
//   - Releases, modifiers, focus reports and mouse motion in between change
//     nothing; a mouse button or a paste counts as another key.
//   - Nothing matches inside a bracketed paste.
//
// An unfinished escape sequence is held, too. As a person may have pressed only Escape,
// the owner calls Flush if Pending reports one and no byte came for a moment (some
// 50 ms): ESC, alone or with one byte, is then a key; a longer sequence is held for
// ten such moments. A key that the network cuts at such a place and delays for longer
// is not recognised.
//
// A DetachMatcher is not safe for concurrent use.
type DetachMatcher struct {
	keys    [][]Identity // sequences
	set     bool
	scan    Scanner
	live    []int  // the sequences that what was typed begins; nil: all
	matched int    // keys of these that were typed
	held    []byte // their bytes, with what came between them
	out     []byte
	found   bool
	which   int
	rest    []byte
}

// NewDetachMatcher returns a matcher of the sequences; Which says which one it found.
func NewDetachMatcher(sequences ...DetachKeys) *DetachMatcher {
	m := &DetachMatcher{set: true}
	for _, keys := range sequences {
		m.keys = append(m.keys, keys.sequence())
	}
	return m
}

// Which returns the index of the sequence that was found.
func (m *DetachMatcher) Which() int { return m.which }

// Feed takes the next input and returns the bytes, held ones included, that go to the
// session; forward is valid until the next call. detach reports that the sequence is
// complete: forward is what came before it, and Rest what came after it.
func (m *DetachMatcher) Feed(p []byte) (forward []byte, detach bool) {
	m.start()
	m.scan.Feed(p, m.take)
	if m.found && m.scan.Pending() {
		m.rest = append(m.rest, m.scan.Buf...)
		m.scan = Scanner{}
	}
	return m.out, m.found
}

// Flush returns the bytes that go to the session if no byte came for a moment. Keys of
// the sequence stay held, however slowly a person types.
func (m *DetachMatcher) Flush() (forward []byte, detach bool) {
	m.start()
	m.scan.Flush(m.take)
	return m.out, m.found
}

// Pending reports whether an unfinished escape sequence is held.
func (m *DetachMatcher) Pending() bool { return m.scan.Pending() }

// Rest returns the input after the sequence in the same Feed; it does not go to the
// session.
func (m *DetachMatcher) Rest() []byte { return m.rest }

func (m *DetachMatcher) start() {
	if !m.set {
		m.keys, m.set = [][]Identity{DetachKeys{}.sequence()}, true
	}
	m.out, m.rest, m.found = m.out[:0], nil, false
}

// take decides about one token.
func (m *DetachMatcher) take(tok Token) {
	if m.found {
		m.rest = append(m.rest, tok.Data...)
		return
	}
	if tok.Kind == TokenPaste {
		m.out = append(m.out, tok.Data...)
		return
	}
	event, keys := Decode(tok)
	next := m.next(event, keys)
	switch {
	case len(next) > 0:
		m.held, m.live = append(m.held, tok.Data...), next
		m.matched++
		for _, i := range next {
			if len(m.keys[i]) == m.matched {
				m.found, m.which = true, i
				m.matched, m.live, m.held = 0, nil, m.held[:0]
				return
			}
		}
	case m.matched == 0:
		m.out = append(m.out, tok.Data...)
	case event == eventQuiet && len(m.held) < maxDetachHeld:
		m.held = append(m.held, tok.Data...)
	case event == EventKey && m.begins(keys):
		m.repeat(tok)
	default:
		m.release()
		m.out = append(m.out, tok.Data...)
	}
}

// next returns the sequences that go on with one of the keys.
func (m *DetachMatcher) next(event Event, keys []Identity) (next []int) {
	if event != EventKey {
		return nil
	}
	for i, sequence := range m.keys {
		if m.matched < len(sequence) && (m.live == nil || slices.Contains(m.live, i)) && slices.Contains(keys, sequence[m.matched]) {
			next = append(next, i)
		}
	}
	return next
}

// begins reports whether a sequence begins with one of the keys.
func (m *DetachMatcher) begins(keys []Identity) bool {
	return slices.ContainsFunc(m.keys, func(sequence []Identity) bool {
		return len(sequence) > 0 && slices.Contains(keys, sequence[0])
	})
}

// repeat handles the first key where another was expected: the second of two in a row
// is dropped; later, it starts a sequence again.
func (m *DetachMatcher) repeat(tok Token) {
	anew := m.matched > 1
	m.release()
	if anew {
		_, keys := Decode(tok)
		m.live = m.next(EventKey, keys)
		m.held, m.matched = append(m.held, tok.Data...), 1
	}
}

// release forwards the held bytes.
func (m *DetachMatcher) release() {
	m.out = append(m.out, m.held...)
	m.held, m.matched, m.live = m.held[:0], 0, nil
}
