package keys

import (
	"strconv"
	"strings"
	"unicode"
)

// Identity is a key in a form common to all its encodings. A key with a control byte is
// that byte, so that Ctrl-M and Enter are one key, as without a keyboard protocol; a
// capital is itself, without Shift. Ctrl with Shift keeps both, as only the keyboard
// protocols have it.
type Identity struct {
	Code Code
	Mods Mods
}

// identify returns the key in that form, without locks.
func identify(code Code, mods Mods) Identity {
	mods &^= modCapsLock | modNumLock
	if d, ok := lookup(code); ok && d.c0 != 0 {
		return Identity{Code(d.c0), mods}
	}
	if code > unicode.MaxRune {
		return Identity{code, mods}
	}
	r := rune(code)
	switch {
	case mods&ModCtrl != 0 && mods&ModShift != 0:
		r = unicode.ToLower(r)
	case mods&ModCtrl != 0:
		if b, ok := controlByte(code); ok && code >= 0x20 && code < 0x7f {
			return Identity{Code(b), mods &^ ModCtrl}
		}
	case mods&ModShift != 0:
		if upper := unicode.ToUpper(r); upper != r || unicode.IsUpper(r) || r == ' ' {
			return Identity{Code(upper), mods &^ ModShift}
		}
	}
	return Identity{Code(r), mods}
}

// Event is what a token means to the detach keys.
type Event int

const (
	eventOther Event = iota // no key, or an unknown one
	EventKey                // a press or a repeat
	eventQuiet              // a release, a modifier, focus, mouse motion
)

// Decode returns what a token is, and for a press all keys that it may be: by its code,
// its shifted code, its place on the keyboard, its text.
func Decode(tok Token) (Event, []Identity) {
	last := tok.Data[len(tok.Data)-1]
	switch tok.Kind {
	case TokenByte:
		return EventKey, []Identity{{Code(last), 0}}
	case TokenAlt:
		return EventKey, []Identity{{Code(last), ModAlt}}
	case TokenSS3:
		for _, d := range table {
			if d.ss3 != ss3Never && d.final == last && len(tok.Data) == 3 {
				return EventKey, []Identity{identify(d.code, 0)}
			}
		}
	case TokenMouse:
		return mouseEvent(int(tok.Data[3])-32, tok.Data[3]&3 == 3), nil
	case TokenCSI:
		return decodeCSI(string(tok.Data[2:len(tok.Data)-1]), last)
	}
	return eventOther, nil
}

// mouseEvent distinguishes motion and releases, which are not deliberate, from buttons
// and wheels (xterm ctlseqs, Mouse Tracking).
func mouseEvent(button int, release bool) Event {
	if release || button&32 != 0 {
		return eventQuiet
	}
	return eventOther
}

// decodeCSI is Decode for CSI params final.
func decodeCSI(params string, final byte) (Event, []Identity) {
	switch {
	case params == "" && (final == 'I' || final == 'O'): // focus in, out
		return eventQuiet, nil
	case strings.HasPrefix(params, "<"): // SGR mouse
		return mouseEvent(SplitCSI(params[1:]).Num(0, 0), final == 'm'), nil
	case strings.HasPrefix(params, "["), strings.ContainsAny(params, "=>? !\"#$%&'()*+,-./"):
		return eventOther, nil
	}
	f := SplitCSI(params)
	switch final {
	case 'M': // urxvt mouse
		return mouseEvent(f.Num(0, 0)-32, f.Num(0, 0)&3 == 3), nil
	case 'u':
		return decodeKitty(f)
	case 'Z':
		return EventKey, []Identity{identify(keyTab, ModShift)}
	case '~':
		if f.Num(0, 0) == 27 && len(f) == 3 { // modifyOtherKeys
			return EventKey, []Identity{identify(Code(f.Num(2, 0)), f.mods())}
		}
	}
	for _, d := range table {
		if d.char == 0 && d.final == final && (final != '~' || d.num == f.Num(0, 0)) ||
			final == '~' && d.kitty == 13 && f.Num(0, 0) == 13 {
			return f.kind(), []Identity{identify(d.code, f.mods())}
		}
	}
	return eventOther, nil
}

// decodeKitty is Decode for code:shifted:base ; modifiers:type ; text u.
func decodeKitty(f csiParams) (Event, []Identity) {
	code := f.Num(0, 0)
	if code >= 57441 && code <= 57454 || code >= 57358 && code <= 57360 {
		return eventQuiet, nil // modifiers, locks
	}
	mods := f.mods()
	kind := f.kind()
	for _, d := range table {
		if d.kitty == code && code > 0xe000 {
			return kind, []Identity{identify(d.code, mods)}
		}
	}
	keys := []Identity{identify(Code(code), mods)}
	if shifted := f.Num(0, 1); shifted != 0 && mods&ModShift != 0 {
		keys = append(keys, identify(Code(shifted), mods&^ModShift))
	}
	if base := f.Num(0, 2); base != 0 {
		keys = append(keys, identify(Code(base), mods))
	}
	if text := f.Num(2, 0); text != 0 && len(f[2]) == 1 && mods&^(ModShift|modCapsLock|modNumLock) == 0 {
		keys = append(keys, identify(Code(text), 0))
	}
	return kind, keys
}

// csiParams are the parameters of a CSI sequence and their parts.
type csiParams [][]string

// SplitCSI splits parameters at ; and their parts at a colon.
func SplitCSI(params string) csiParams {
	var f csiParams
	for field := range strings.SplitSeq(params, ";") {
		f = append(f, strings.Split(field, ":"))
	}
	return f
}

// Num returns part of field as a number; 0 if it is missing.
func (f csiParams) Num(field, part int) int {
	if field >= len(f) || part >= len(f[field]) {
		return 0
	}
	n, err := strconv.Atoi(f[field][part])
	if err != nil || n < 0 || n > 0x10ffff {
		return 0
	}
	return n
}

// mods returns the modifiers: the second field minus one.
func (f csiParams) mods() Mods { return Mods(max(f.Num(1, 0)-1, 0)) }

// kind distinguishes a press or a repeat from a release.
func (f csiParams) kind() Event {
	if f.Num(1, 1) == 3 {
		return eventQuiet
	}
	return EventKey
}
