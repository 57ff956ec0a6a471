package attached

import (
	"slices"
	"time"
	"unicode"

	"gascity.dev/gc/mux/keys"
)

// draftAge is how long a draft counts after the last key.
const draftAge = 60 * time.Second

// draft is what people at attached terminals typed since the last Enter, Ctrl-C or
// Ctrl-U. Input through the API (keys, paste, nudge) is not part of it.
type draft struct {
	owner *client
	since time.Time // of the last key
}

func (d *draft) clear() { *d = draft{} }

// stands reports whether a draft is in the composer, and until when it counts.
func (d *draft) stands(now time.Time) (until time.Time, ok bool) {
	if d.owner == nil {
		return time.Time{}, false
	}
	until = d.since.Add(draftAge)
	return until, now.Before(until)
}

// typed handles one token of a person's input. Replies of the terminal, focus, mouse and
// key releases do not count.
func (d *draft) typed(owner *client, tok keys.Token, now time.Time) {
	switch tok.Kind {
	case keys.TokenPaste:
		*d = draft{owner, now}
		return
	case keys.TokenMouse, keys.TokenString, keys.TokenBroken:
		return
	}
	ev, pressed := keys.Decode(tok)
	if ev != keys.EventKey {
		return
	}
	for _, k := range pressed {
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

// endsDraft reports whether a key submits or discards the draft.
func endsDraft(k keys.Identity) bool {
	return k.Mods == 0 && (k.Code == '\r' || k.Code == ctrlC || k.Code == ctrlU)
}

const (
	ctrlC = 0x03
	ctrlU = 0x15
)

// isInterrupt reports whether a person pressed Ctrl-C, in any encoding.
func isInterrupt(tok keys.Token) bool {
	if tok.Kind == keys.TokenPaste {
		return false
	}
	ev, pressed := keys.Decode(tok)
	return ev == keys.EventKey && slices.Contains(pressed, keys.Identity{Code: ctrlC})
}

// isPrintable reports whether the key leaves text behind.
func isPrintable(k keys.Identity) bool {
	return k.Mods&^keys.ModShift == 0 && k.Code >= ' ' && k.Code != 0x7f && k.Code <= unicode.MaxRune
}
