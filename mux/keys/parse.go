package keys

import (
	"strings"
	"unicode"
	"unicode/utf8"

	spelling "gascity.dev/gc/internal/nearest"
)

// press is one press of one key.
type press struct {
	code Code   // of a letter: of its lower case
	text string // what a character key types without Ctrl and Alt; "" for other keys
	mods Mods
}

// prefixes are the spellings of the modifiers, in lower case.
var prefixes = []struct {
	name string
	mod  Mods
}{
	{"c", ModCtrl}, {"ctrl", ModCtrl}, {"control", ModCtrl},
	{"m", ModAlt}, {"alt", ModAlt}, {"meta", ModAlt}, {"option", ModAlt},
	{"s", ModShift}, {"shift", ModShift},
}

// parse reads the name of a key.
func parse(name string) (press, bool) {
	mods, base := cutKeyMods(name)
	k, ok := parseBaseKey(base)
	if !ok {
		return press{}, false
	}
	k.mods |= mods
	return normal(k), true
}

// cutKeyMods splits the modifiers off a key's name.
func cutKeyMods(name string) (mods Mods, base string) {
	base = name
	for {
		mod, rest, ok := cutKeyMod(base)
		if !ok {
			return mods, base
		}
		mods, base = mods|mod, rest
	}
}

// cutKeyMod splits off one modifier, unless nothing follows it.
func cutKeyMod(name string) (Mods, string, bool) {
	end := strings.IndexAny(name, "-+")
	if end <= 0 || end == len(name)-1 {
		return 0, name, false
	}
	for _, p := range prefixes {
		if strings.EqualFold(p.name, name[:end]) {
			return p.mod, name[end+1:], true
		}
	}
	return 0, name, false
}

// parseBaseKey reads a key's name without modifiers.
func parseBaseKey(name string) (press, bool) {
	if isGrapheme(name) {
		r, _ := utf8.DecodeRuneInString(name)
		return press{code: Code(r), text: name}, true
	}
	if len(name) == 2 && name[0] == '^' {
		if _, ok := controlByte(Code(name[1])); ok {
			return press{code: Code(name[1]), text: name[1:], mods: ModCtrl}, true
		}
	}
	if k, ok := alias(name); ok {
		return k, true
	}
	for _, d := range table {
		for _, n := range d.names {
			if strings.EqualFold(n, name) {
				return defKey(d), true
			}
		}
	}
	return press{}, false
}

// defKey is the press of a key of the table; Space is a character.
func defKey(d def) press {
	if d.code == ' ' {
		return press{code: ' ', text: " "}
	}
	return press{code: d.code}
}

// normal brings a character key to one form: a capital is its small letter with Shift,
// except with Ctrl, where case means nothing unless S- is given, as in tmux. Shift
// leaves a key that is not a letter unchanged, as its meaning depends on the keyboard's
// layout.
func normal(k press) press {
	if k.text == "" || utf8.RuneCountInString(k.text) != 1 {
		return k
	}
	r := rune(k.code)
	lower, upper := unicode.ToLower(r), unicode.ToUpper(r)
	if lower == upper || unicode.ToLower(upper) != lower || unicode.ToUpper(lower) != upper {
		return k
	}
	if r == upper && k.mods&ModCtrl == 0 {
		k.mods |= ModShift
	}
	k.code, k.text = Code(lower), string(lower)
	if k.mods&ModShift != 0 {
		k.text = string(upper)
	}
	return k
}

// isGrapheme reports whether s is one printable character to a person: a code point and
// those that join it (marks, variation selectors, emoji modifiers and joiners, the
// second half of a flag, Hangul jamo).
func isGrapheme(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 || r == utf8.RuneError || !unicode.IsPrint(r) {
		return false
	}
	prev, flags := r, 1
	for _, r := range s[size:] {
		switch {
		case r == utf8.RuneError:
			return false
		case extendsCluster(r):
		case prev == zeroWidthJoiner && unicode.IsPrint(r):
		case isRegional(prev) && isRegional(r) && flags == 1:
			flags++
		case isJamo(prev) && isJamo(r):
		default:
			return false
		}
		prev = r
	}
	return true
}

const zeroWidthJoiner = 0x200d

// extendsCluster reports whether r joins any character before it (Unicode Standard
// Annex 29, GB9 and GB9a).
func extendsCluster(r rune) bool {
	return r == zeroWidthJoiner || unicode.Is(unicode.M, r) ||
		r >= 0x1f3fb && r <= 0x1f3ff || // emoji modifiers
		r >= 0xe0020 && r <= 0xe007f // tags of flags
}

func isRegional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

func isJamo(r rune) bool { return r >= 0x1100 && r <= 0x11ff || r >= 0xac00 && r <= 0xd7a3 }

// nearest returns the valid name nearest to name, with name's modifiers.
func nearest(name string) string {
	_, base := cutKeyMods(name)
	prefix := name[:len(name)-len(base)]
	start := strings.ToLower(base[:min(len(base), 32)]) // no key has a longer name
	best, bestDistance := "", -1
	consider := func(candidate string) {
		d := spelling.Distance(start, strings.ToLower(candidate))
		if bestDistance < 0 || d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	for _, d := range table {
		for _, n := range d.names {
			consider(n)
		}
	}
	consider("BTab")
	return prefix + best
}
