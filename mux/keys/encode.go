package keys

import (
	"strconv"
	"unicode/utf8"
)

// The flags of the kitty keyboard protocol that matter to a key press. Presses are sent
// without an event type, which means press, and releases are not sent.
const (
	kittyDisambiguate = 1  // ambiguous keys become CSI u
	kittyAlternates   = 4  // the shifted code with the plain one
	kittyAllKeys      = 8  // text becomes CSI u, too
	kittyText         = 16 // CSI u carries the text's code points
)

// appendKey appends what a terminal sends for one press.
func appendKey(dst []byte, k press, m Modes) []byte {
	kitty := m.KittyFlags&(kittyDisambiguate|kittyAllKeys) != 0
	if k.text != "" {
		switch {
		case kitty:
			return appendKittyText(dst, k, m.KittyFlags)
		case modifiesOther(k, m.ModifyOtherKeys):
			return appendOtherKey(dst, otherCode(k), k.mods)
		}
		return appendLegacyText(dst, k)
	}
	d, _ := lookup(k.code)
	if kitty {
		return appendKitty(dst, d, k.mods, m.KittyFlags)
	}
	return appendLegacy(dst, d, k, m)
}

// appendLegacyText appends a character key without a keyboard protocol: Ctrl makes a
// control byte if there is one, Alt prepends ESC.
func appendLegacyText(dst []byte, k press) []byte {
	if k.mods&ModAlt != 0 {
		dst = append(dst, 0x1b)
	}
	if k.mods&ModCtrl != 0 {
		if b, ok := controlByte(k.code); ok {
			return append(dst, b)
		}
	}
	return append(dst, k.text...)
}

// modifiesOther reports whether modifyOtherKeys replaces the legacy form of a character
// key. Level 1 keeps well-known forms: Ctrl with a control byte, and Alt as ESC, as in
// iTerm2 and tmux (xterm's own choice depends on its resources). Level 2 replaces all
// except Shift alone.
func modifiesOther(k press, level int) bool {
	if level <= 0 || utf8.RuneCountInString(k.text) > 1 {
		return false
	}
	switch k.mods {
	case 0:
		return false
	case ModShift:
		return level >= 2 && k.code == ' '
	case ModAlt, ModAlt | ModShift:
		return level >= 2
	case ModCtrl:
		_, known := controlByte(k.code)
		return level >= 2 || !known
	}
	return true
}

// otherCode is the code of a character key in modifyOtherKeys, with Shift applied.
func otherCode(k press) int {
	r, _ := utf8.DecodeRuneInString(k.text)
	return int(r)
}

// appendOtherKey appends modifyOtherKeys' form, CSI 27 ; modifiers ; code ~.
func appendOtherKey(dst []byte, code int, mods Mods) []byte {
	dst = append(dst, "\x1b[27;"...)
	dst = strconv.AppendInt(dst, int64(mods)+1, 10)
	dst = append(dst, ';')
	dst = strconv.AppendInt(dst, int64(code), 10)
	return append(dst, '~')
}

// appendLegacy appends a key that is not a character, without the kitty
// protocol.
func appendLegacy(dst []byte, d def, k press, m Modes) []byte {
	switch {
	case d.c0 != 0:
		if modifiesC0(d, k.mods, m.ModifyOtherKeys) {
			code := int(d.c0)
			if d.code == keyBackspace && m.BackarrowSendsBS {
				code = '\b'
			}
			return appendOtherKey(dst, code, k.mods)
		}
		return appendLegacyC0(dst, d, k.mods, m)
	case d.ss3 == ss3AppKeypad:
		return appendLegacyKeypad(dst, d, k.mods, m)
	case k.mods != 0:
		return appendCSI(dst, d.num, k.mods, d.final)
	case d.ss3 == ss3Always || d.ss3 == ss3AppCursor && m.AppCursor:
		return append(dst, 0x1b, 'O', d.final)
	}
	return appendCSI(dst, d.num, 0, d.final)
}

// modifiesC0 is modifiesOther for Enter, Tab, Escape and Backspace: S-Tab has its own
// sequence, and Backspace is unchanged at level 1, and at level 2 with Ctrl alone
// (xterm, input.c).
func modifiesC0(d def, mods Mods, level int) bool {
	if level <= 0 || mods == 0 {
		return false
	}
	switch d.code {
	case keyTab:
		if mods == ModShift {
			return false
		}
	case keyBackspace:
		return level >= 2 && mods != ModCtrl
	}
	return level >= 2 || mods != ModAlt
}

// appendLegacyC0 appends Enter, Tab, Escape or Backspace as bytes.
func appendLegacyC0(dst []byte, d def, mods Mods, m Modes) []byte {
	if mods&ModAlt != 0 {
		dst = append(dst, 0x1b)
	}
	switch {
	case d.code == keyTab && mods&ModShift != 0:
		return append(dst, "\x1b[Z"...) // CBT
	case d.code == keyEnter && m.NewLine:
		return append(dst, "\r\n"...)
	case d.code == keyBackspace && m.BackarrowSendsBS != (mods&ModCtrl != 0):
		return append(dst, '\b')
	}
	return append(dst, d.c0)
}

// appendLegacyKeypad appends a keypad key: SS3 with DECKPAM, else its character.
func appendLegacyKeypad(dst []byte, d def, mods Mods, m Modes) []byte {
	if m.AppKeypad && mods&^ModAlt == 0 {
		if mods&ModAlt != 0 {
			dst = append(dst, 0x1b)
		}
		return append(dst, 0x1b, 'O', d.final)
	}
	m.AppKeypad = false
	if d.char == '\r' {
		return appendKey(dst, press{code: keyEnter, mods: mods}, m)
	}
	return appendKey(dst, press{code: Code(d.char), text: string(rune(d.char)), mods: mods}, m)
}

// appendCSI appends CSI num ; modifiers final. Without modifiers, a key with a letter
// has no number.
func appendCSI(dst []byte, num int, mods Mods, final byte) []byte {
	dst = append(dst, 0x1b, '[')
	if num != 1 || mods != 0 {
		dst = strconv.AppendInt(dst, int64(num), 10)
	}
	if mods != 0 {
		dst = append(dst, ';')
		dst = strconv.AppendInt(dst, int64(mods)+1, 10)
	}
	return append(dst, final)
}

// appendKitty appends a key that is not a character in the kitty protocol. Enter, Tab
// and Backspace stay bytes unless they are modified or all keys are requested; Escape
// never does. The others keep their CSI form, never SS3. Keypad keys have their own
// numbers, used if the key types no text.
func appendKitty(dst []byte, d def, mods Mods, flags int) []byte {
	all := flags&kittyAllKeys != 0
	switch {
	case d.c0 != 0:
		if mods == 0 && !all && d.code != keyEscape {
			return append(dst, d.c0)
		}
		return appendCSI(dst, int(d.c0), mods, 'u')
	case d.ss3 == ss3AppKeypad:
		typesText := d.char != '\r' && mods&^ModShift == 0
		if typesText && !all {
			return append(dst, d.char)
		}
		if typesText && flags&kittyText != 0 {
			return appendKittyFields(dst, d.kitty, 0, mods, string(rune(d.char)))
		}
		return appendCSI(dst, d.kitty, mods, 'u')
	case d.code == keyF1+2:
		return appendCSI(dst, d.kitty, mods, '~')
	case d.kitty != 0:
		return appendCSI(dst, d.kitty, mods, 'u')
	}
	return appendCSI(dst, d.num, mods, d.final)
}

// appendKittyText appends a character key in the kitty protocol: text stays text unless
// all keys are requested as sequences. A cluster of several code points has no key: it
// is sent as text, with key number 0 if the protocol allows that.
func appendKittyText(dst []byte, k press, flags int) []byte {
	all := flags&kittyAllKeys != 0
	typesText := k.mods&^ModShift == 0
	if typesText && !all {
		return append(dst, k.text...)
	}
	code, text := int(k.code), ""
	if all && typesText && flags&kittyText != 0 {
		text = k.text
	}
	if utf8.RuneCountInString(k.text) > 1 {
		if text == "" {
			return appendLegacyText(dst, k)
		}
		return appendKittyFields(dst, 0, 0, 0, text)
	}
	shifted := 0
	if flags&kittyAlternates != 0 && k.mods&ModShift != 0 && otherCode(k) != code {
		shifted = otherCode(k)
	}
	return appendKittyFields(dst, code, shifted, k.mods, text)
}

// appendKittyFields appends CSI code:shifted ; modifiers ; text u without empty fields.
func appendKittyFields(dst []byte, code, shifted int, mods Mods, text string) []byte {
	dst = append(dst, 0x1b, '[')
	dst = strconv.AppendInt(dst, int64(code), 10)
	if shifted != 0 {
		dst = append(dst, ':')
		dst = strconv.AppendInt(dst, int64(shifted), 10)
	}
	if mods != 0 || text != "" {
		dst = append(dst, ';')
	}
	if mods != 0 {
		dst = strconv.AppendInt(dst, int64(mods)+1, 10)
	}
	for i, r := range text {
		sep := byte(':')
		if i == 0 {
			sep = ';'
		}
		dst = append(dst, sep)
		dst = strconv.AppendInt(dst, int64(r), 10)
	}
	return append(dst, 'u')
}
