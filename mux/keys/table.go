package keys

import "strings"

// Sources of the codes in this table and in encode.go:
//
//   - xterm control sequences ("ctlseqs"), PC-style and VT220-style function
//     keys, https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
//   - xterm "other" modified keys,
//     https://invisible-island.net/xterm/modified-keys.html
//   - kitty keyboard protocol, legacy and functional key definitions,
//     https://sw.kovidgoyal.net/kitty/keyboard-protocol/

// Code is a Unicode code point for a character key, else one of the numbers below,
// past the last code point.
type Code int32

const (
	keyEnter Code = 0x110000 + iota
	keyTab
	keyEscape
	keyBackspace
	keyInsert
	keyDelete
	keyHome
	keyEnd
	keyPageUp
	keyPageDown
	keyUp
	keyDown
	keyRight
	keyLeft
	keyF1 // F2 to F20 follow
)

const keyKP0 = keyF1 + 20 // the other keys of the keypad follow

// Mods are modifiers as the kitty protocol numbers them: the parameter on the wire is
// their sum plus one. The first three are also xterm's.
type Mods int

const (
	ModShift Mods = 1 << iota
	ModAlt
	ModCtrl
	modSuper
	modHyper
	modMeta
	modCapsLock
	modNumLock
)

// ss3Use is when a key without modifiers starts with SS3 instead of CSI.
type ss3Use int

const (
	ss3Never     ss3Use = iota
	ss3Always           // F1 to F4
	ss3AppCursor        // with DECCKM
	ss3AppKeypad        // with DECKPAM
)

// def defines a key that is not a character.
type def struct {
	code  Code
	names []string // the first is the documented one
	c0    byte     // the byte it sends, and its number in CSI u; 0 for none
	num   int      // CSI num final: "CSI 3 ~", "CSI 1 A" (1 is left out)
	final byte
	ss3   ss3Use
	char  byte // keypad: the character without DECKPAM
	kitty int  // number in CSI u in the kitty protocol; 0: as above
}

// table holds every key that is not a character. F3 is "CSI 13 ~" in the
// kitty protocol, because "CSI 1 ; 2 R" is a cursor position report.
var table = []def{
	{code: keyEnter, names: []string{"Enter", "Return", "CR"}, c0: '\r'},
	{code: keyTab, names: []string{"Tab"}, c0: '\t'},
	{code: keyEscape, names: []string{"Escape", "Esc"}, c0: 0x1b},
	{code: Code(' '), names: []string{"Space"}},
	{code: keyBackspace, names: []string{"Backspace", "BSpace", "BS"}, c0: 0x7f},

	{code: keyInsert, names: []string{"Insert", "IC", "Ins"}, num: 2, final: '~'},
	{code: keyDelete, names: []string{"Delete", "DC", "Del"}, num: 3, final: '~'},
	{code: keyPageUp, names: []string{"PageUp", "PgUp", "PPage"}, num: 5, final: '~'},
	{code: keyPageDown, names: []string{"PageDown", "PgDn", "PgDown", "NPage"}, num: 6, final: '~'},

	{code: keyUp, names: []string{"Up"}, num: 1, final: 'A', ss3: ss3AppCursor},
	{code: keyDown, names: []string{"Down"}, num: 1, final: 'B', ss3: ss3AppCursor},
	{code: keyRight, names: []string{"Right"}, num: 1, final: 'C', ss3: ss3AppCursor},
	{code: keyLeft, names: []string{"Left"}, num: 1, final: 'D', ss3: ss3AppCursor},
	{code: keyEnd, names: []string{"End"}, num: 1, final: 'F', ss3: ss3AppCursor},
	{code: keyHome, names: []string{"Home"}, num: 1, final: 'H', ss3: ss3AppCursor},

	{code: keyF1, names: []string{"F1"}, num: 1, final: 'P', ss3: ss3Always},
	{code: keyF1 + 1, names: []string{"F2"}, num: 1, final: 'Q', ss3: ss3Always},
	{code: keyF1 + 2, names: []string{"F3"}, num: 1, final: 'R', ss3: ss3Always, kitty: 13},
	{code: keyF1 + 3, names: []string{"F4"}, num: 1, final: 'S', ss3: ss3Always},
	{code: keyF1 + 4, names: []string{"F5"}, num: 15, final: '~'},
	{code: keyF1 + 5, names: []string{"F6"}, num: 17, final: '~'},
	{code: keyF1 + 6, names: []string{"F7"}, num: 18, final: '~'},
	{code: keyF1 + 7, names: []string{"F8"}, num: 19, final: '~'},
	{code: keyF1 + 8, names: []string{"F9"}, num: 20, final: '~'},
	{code: keyF1 + 9, names: []string{"F10"}, num: 21, final: '~'},
	{code: keyF1 + 10, names: []string{"F11"}, num: 23, final: '~'},
	{code: keyF1 + 11, names: []string{"F12"}, num: 24, final: '~'},
	{code: keyF1 + 12, names: []string{"F13"}, num: 25, final: '~', kitty: 57376},
	{code: keyF1 + 13, names: []string{"F14"}, num: 26, final: '~', kitty: 57377},
	{code: keyF1 + 14, names: []string{"F15"}, num: 28, final: '~', kitty: 57378},
	{code: keyF1 + 15, names: []string{"F16"}, num: 29, final: '~', kitty: 57379},
	{code: keyF1 + 16, names: []string{"F17"}, num: 31, final: '~', kitty: 57380},
	{code: keyF1 + 17, names: []string{"F18"}, num: 32, final: '~', kitty: 57381},
	{code: keyF1 + 18, names: []string{"F19"}, num: 33, final: '~', kitty: 57382},
	{code: keyF1 + 19, names: []string{"F20"}, num: 34, final: '~', kitty: 57383},

	{code: keyKP0, names: []string{"KP0"}, final: 'p', ss3: ss3AppKeypad, char: '0', kitty: 57399},
	{code: keyKP0 + 1, names: []string{"KP1"}, final: 'q', ss3: ss3AppKeypad, char: '1', kitty: 57400},
	{code: keyKP0 + 2, names: []string{"KP2"}, final: 'r', ss3: ss3AppKeypad, char: '2', kitty: 57401},
	{code: keyKP0 + 3, names: []string{"KP3"}, final: 's', ss3: ss3AppKeypad, char: '3', kitty: 57402},
	{code: keyKP0 + 4, names: []string{"KP4"}, final: 't', ss3: ss3AppKeypad, char: '4', kitty: 57403},
	{code: keyKP0 + 5, names: []string{"KP5"}, final: 'u', ss3: ss3AppKeypad, char: '5', kitty: 57404},
	{code: keyKP0 + 6, names: []string{"KP6"}, final: 'v', ss3: ss3AppKeypad, char: '6', kitty: 57405},
	{code: keyKP0 + 7, names: []string{"KP7"}, final: 'w', ss3: ss3AppKeypad, char: '7', kitty: 57406},
	{code: keyKP0 + 8, names: []string{"KP8"}, final: 'x', ss3: ss3AppKeypad, char: '8', kitty: 57407},
	{code: keyKP0 + 9, names: []string{"KP9"}, final: 'y', ss3: ss3AppKeypad, char: '9', kitty: 57408},
	{code: keyKP0 + 10, names: []string{"KP."}, final: 'n', ss3: ss3AppKeypad, char: '.', kitty: 57409},
	{code: keyKP0 + 11, names: []string{"KP/"}, final: 'o', ss3: ss3AppKeypad, char: '/', kitty: 57410},
	{code: keyKP0 + 12, names: []string{"KP*"}, final: 'j', ss3: ss3AppKeypad, char: '*', kitty: 57411},
	{code: keyKP0 + 13, names: []string{"KP-"}, final: 'm', ss3: ss3AppKeypad, char: '-', kitty: 57412},
	{code: keyKP0 + 14, names: []string{"KP+"}, final: 'k', ss3: ss3AppKeypad, char: '+', kitty: 57413},
	{code: keyKP0 + 15, names: []string{"KPEnter"}, final: 'M', ss3: ss3AppKeypad, char: '\r', kitty: 57414},
	{code: keyKP0 + 16, names: []string{"KP="}, final: 'X', ss3: ss3AppKeypad, char: '=', kitty: 57415},
	{code: keyKP0 + 17, names: []string{"KP,"}, final: 'l', ss3: ss3AppKeypad, char: ',', kitty: 57416},
}

// alias returns the key with a modifier that a name stands for.
func alias(name string) (k press, ok bool) {
	switch strings.ToLower(name) {
	case "btab", "backtab":
		return press{code: keyTab, mods: ModShift}, true
	}
	return press{}, false
}

// lookup returns the definition of a key that is not a character.
func lookup(code Code) (def, bool) {
	for _, d := range table {
		if d.code == code {
			return d, true
		}
	}
	return def{}, false
}

// controlByte returns what a terminal sends for Ctrl with an ASCII character:
// the low five bits of @ to ~, and the aliases on the digits that DEC's
// keyboards had (VT220 Programmer Reference, table 3-5).
func controlByte(r Code) (byte, bool) {
	switch {
	case r >= '@' && r <= '~':
		return byte(r) & 0x1f, true
	case r == ' ' || r == '2':
		return 0, true
	case r >= '3' && r <= '7':
		return byte(r-'3') + 0x1b, true
	case r == '8' || r == '?':
		return 0x7f, true
	case r == '/':
		return 0x1f, true
	}
	return 0, false
}
