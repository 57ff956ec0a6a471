package mux

import (
	"strconv"
	"strings"
	"unicode"
)

// keyIdentity is a key in the one form that all its encodings come down to. A
// key with a control byte is that byte, so that Ctrl-M and Enter are one key,
// as on a terminal without a keyboard protocol; a capital is itself, without
// Shift. Ctrl with Shift stays what it is: only the keyboard protocols have it.
type keyIdentity struct {
	code keyCode
	mods keyMods
}

// identify brings a key to that form. Locks do not count.
func identify(code keyCode, mods keyMods) keyIdentity {
	mods &^= modCapsLock | modNumLock
	if d, ok := lookupKey(code); ok && d.c0 != 0 {
		return keyIdentity{keyCode(d.c0), mods}
	}
	if code > unicode.MaxRune {
		return keyIdentity{code, mods}
	}
	r := rune(code)
	switch {
	case mods&modCtrl != 0 && mods&modShift != 0:
		r = unicode.ToLower(r)
	case mods&modCtrl != 0:
		if b, ok := controlByte(code); ok && code >= 0x20 && code < 0x7f {
			return keyIdentity{keyCode(b), mods &^ modCtrl}
		}
	case mods&modShift != 0:
		if upper := unicode.ToUpper(r); upper != r || unicode.IsUpper(r) || r == ' ' {
			return keyIdentity{keyCode(upper), mods &^ modShift}
		}
	}
	return keyIdentity{keyCode(r), mods}
}

// inputEvent is what a token means to the detach keys.
type inputEvent int

const (
	eventOther inputEvent = iota // no key, or one that is none of ours
	eventKey                     // a press or a repeat
	eventQuiet                   // a release, a modifier, focus, mouse motion
)

// decodeInput says what a token is, and for a press all the keys that it may
// be: by its code, its shifted code, its place on the keyboard, its text.
func decodeInput(tok inputToken) (inputEvent, []keyIdentity) {
	last := tok.data[len(tok.data)-1]
	switch tok.kind {
	case inByte:
		return eventKey, []keyIdentity{{keyCode(last), 0}}
	case inAlt:
		return eventKey, []keyIdentity{{keyCode(last), modAlt}}
	case inSS3:
		for _, d := range keyTable {
			if d.ss3 != ss3Never && d.final == last && len(tok.data) == 3 {
				return eventKey, []keyIdentity{identify(d.code, 0)}
			}
		}
	case inMouse:
		return mouseEvent(int(tok.data[3])-32, tok.data[3]&3 == 3), nil
	case inCSI:
		return decodeCSI(string(tok.data[2:len(tok.data)-1]), last)
	}
	return eventOther, nil
}

// mouseEvent tells motion and releases, which happen by themselves, from
// buttons and wheels (xterm ctlseqs, Mouse Tracking).
func mouseEvent(button int, release bool) inputEvent {
	if release || button&32 != 0 {
		return eventQuiet
	}
	return eventOther
}

// decodeCSI is decodeInput for CSI params final.
func decodeCSI(params string, final byte) (inputEvent, []keyIdentity) {
	switch {
	case params == "" && (final == 'I' || final == 'O'): // focus in, out
		return eventQuiet, nil
	case strings.HasPrefix(params, "<"): // SGR mouse
		return mouseEvent(splitCSI(params[1:]).num(0, 0), final == 'm'), nil
	case strings.HasPrefix(params, "["), strings.ContainsAny(params, "=>? !\"#$%&'()*+,-./"):
		return eventOther, nil
	}
	f := splitCSI(params)
	switch final {
	case 'M': // urxvt mouse
		return mouseEvent(f.num(0, 0)-32, f.num(0, 0)&3 == 3), nil
	case 'u':
		return decodeKitty(f)
	case 'Z':
		return eventKey, []keyIdentity{identify(keyTab, modShift)}
	case '~':
		if f.num(0, 0) == 27 && len(f) == 3 { // modifyOtherKeys
			return eventKey, []keyIdentity{identify(keyCode(f.num(2, 0)), f.mods())}
		}
	}
	for _, d := range keyTable {
		if d.char == 0 && d.final == final && (final != '~' || d.num == f.num(0, 0)) ||
			final == '~' && d.kitty == 13 && f.num(0, 0) == 13 {
			return f.kind(), []keyIdentity{identify(d.code, f.mods())}
		}
	}
	return eventOther, nil
}

// decodeKitty is decodeInput for code:shifted:base ; modifiers:type ; text u.
func decodeKitty(f csiParams) (inputEvent, []keyIdentity) {
	code := f.num(0, 0)
	if code >= 57441 && code <= 57454 || code >= 57358 && code <= 57360 {
		return eventQuiet, nil // modifiers, locks
	}
	mods := f.mods()
	kind := f.kind()
	for _, d := range keyTable {
		if d.kitty == code && code > 0xe000 {
			return kind, []keyIdentity{identify(d.code, mods)}
		}
	}
	keys := []keyIdentity{identify(keyCode(code), mods)}
	if shifted := f.num(0, 1); shifted != 0 && mods&modShift != 0 {
		keys = append(keys, identify(keyCode(shifted), mods&^modShift))
	}
	if base := f.num(0, 2); base != 0 {
		keys = append(keys, identify(keyCode(base), mods))
	}
	if text := f.num(2, 0); text != 0 && len(f[2]) == 1 && mods&^(modShift|modCapsLock|modNumLock) == 0 {
		keys = append(keys, identify(keyCode(text), 0))
	}
	return kind, keys
}

// csiParams are the parameters of a CSI sequence and their parts.
type csiParams [][]string

// splitCSI splits parameters at ; and their parts at a colon.
func splitCSI(params string) csiParams {
	var f csiParams
	for field := range strings.SplitSeq(params, ";") {
		f = append(f, strings.Split(field, ":"))
	}
	return f
}

// num returns part of field as a number, 0 when it is not there.
func (f csiParams) num(field, part int) int {
	if field >= len(f) || part >= len(f[field]) {
		return 0
	}
	n, err := strconv.Atoi(f[field][part])
	if err != nil || n < 0 || n > 0x10ffff {
		return 0
	}
	return n
}

// mods returns the modifiers, which the second field holds plus one.
func (f csiParams) mods() keyMods { return keyMods(max(f.num(1, 0)-1, 0)) }

// kind tells a press or a repeat from a release.
func (f csiParams) kind() inputEvent {
	if f.num(1, 1) == 3 {
		return eventQuiet
	}
	return eventKey
}
