package mux

import (
	"slices"
	"time"
	"unicode"
)

// draftAge is how long a draft counts after the last key.
const draftAge = 60 * time.Second

// draft is what persons at attached terminals have typed since the last Enter,
// Ctrl-C or Ctrl-U. What goes through the API (keys, paste, nudge) is a
// program's doing and no draft.
type draft struct {
	owner *attachClient
	since time.Time // of the last key
}

func (d *draft) clear() { *d = draft{} }

// stands reports whether somebody's draft stands in the composer, and until
// when it counts.
func (d *draft) stands(now time.Time) (until time.Time, ok bool) {
	if d.owner == nil {
		return time.Time{}, false
	}
	until = d.since.Add(draftAge)
	return until, now.Before(until)
}

// typed notes one piece of a person's input. Replies of the terminal, focus,
// mouse and key releases never count.
func (d *draft) typed(owner *attachClient, tok inputToken, now time.Time) {
	switch tok.kind {
	case inPaste:
		*d = draft{owner, now}
		return
	case inMouse, inString, inBroken:
		return
	}
	ev, keys := decodeInput(tok)
	if ev != eventKey {
		return
	}
	for _, k := range keys {
		switch {
		case endsDraft(k):
			d.clear()
			return
		case isPrintable(k):
			*d = draft{owner, now}
			return
		}
	}
}

// endsDraft: Enter, Ctrl-C and Ctrl-U submit or throw away what was typed.
func endsDraft(k keyIdentity) bool {
	return k.mods == 0 && (k.code == '\r' || k.code == ctrlC || k.code == ctrlU)
}

const ctrlU = 0x15

// isInterrupt reports whether a person pressed Ctrl-C, in any encoding.
func isInterrupt(tok inputToken) bool {
	if tok.kind == inPaste {
		return false
	}
	ev, keys := decodeInput(tok)
	return ev == eventKey && slices.Contains(keys, keyIdentity{ctrlC, 0})
}

// isPrintable reports whether the key leaves text behind.
func isPrintable(k keyIdentity) bool {
	return k.mods&^modShift == 0 && k.code >= ' ' && k.code != 0x7f && k.code <= unicode.MaxRune
}
