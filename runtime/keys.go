package runtime

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// namedKeys are the keys of SendKeys that are not characters, in lower case.
var namedKeys = map[string]bool{
	"enter": true, "return": true, "tab": true, "btab": true, "backtab": true,
	"space": true, "bspace": true, "backspace": true, "escape": true, "esc": true,
	"up": true, "down": true, "left": true, "right": true,
	"home": true, "end": true, "ic": true, "insert": true, "dc": true, "delete": true,
	"npage": true, "pagedown": true, "pgdn": true, "ppage": true, "pageup": true, "pgup": true,
}

// maxFunctionKey is the highest function key with a name.
const maxFunctionKey = 20

// KnownKey reports whether key is a name that SendKeys must accept: a single
// printable character, a named key or F1 to F20, with any of the prefixes
// "C-", "M-" and "S-". Backends may know more.
func KnownKey(key string) bool {
	for {
		rest, ok := cutModifier(key)
		if !ok {
			break
		}
		key = rest
	}
	r, size := utf8.DecodeRuneInString(key)
	if size == len(key) && size > 0 {
		return r != utf8.RuneError && unicode.IsPrint(r)
	}
	lower := strings.ToLower(key)
	if namedKeys[lower] {
		return true
	}
	if digits, ok := strings.CutPrefix(lower, "f"); ok {
		n, err := strconv.Atoi(digits)
		return err == nil && n >= 1 && n <= maxFunctionKey
	}
	return false
}

// cutModifier removes one "C-", "M-" or "S-" that something follows.
func cutModifier(key string) (string, bool) {
	if len(key) > 2 && key[1] == '-' && strings.IndexByte("CMS", key[0]) >= 0 {
		return key[2:], true
	}
	return key, false
}
