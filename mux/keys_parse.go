package mux

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// keyPress is one press of one key.
type keyPress struct {
	code keyCode // of a letter, the lower-case one
	text string  // what a character key types without Ctrl and Alt; "" for other keys
	mods keyMods
}

// keyPrefixes are the spellings of the modifiers, in lower case.
var keyPrefixes = []struct {
	name string
	mod  keyMods
}{
	{"c", modCtrl}, {"ctrl", modCtrl}, {"control", modCtrl},
	{"m", modAlt}, {"alt", modAlt}, {"meta", modAlt}, {"option", modAlt},
	{"s", modShift}, {"shift", modShift},
}

// parseKey reads the name of a key.
func parseKey(name string) (keyPress, bool) {
	mods, base := cutKeyMods(name)
	k, ok := parseBaseKey(base)
	if !ok {
		return keyPress{}, false
	}
	k.mods |= mods
	return normalKey(k), true
}

// cutKeyMods splits the modifiers off a key's name.
func cutKeyMods(name string) (mods keyMods, base string) {
	base = name
	for {
		mod, rest, ok := cutKeyMod(base)
		if !ok {
			return mods, base
		}
		mods, base = mods|mod, rest
	}
}

// cutKeyMod splits off one modifier that something follows.
func cutKeyMod(name string) (keyMods, string, bool) {
	end := strings.IndexAny(name, "-+")
	if end <= 0 || end == len(name)-1 {
		return 0, name, false
	}
	for _, p := range keyPrefixes {
		if strings.EqualFold(p.name, name[:end]) {
			return p.mod, name[end+1:], true
		}
	}
	return 0, name, false
}

// parseBaseKey reads a key's name without modifiers.
func parseBaseKey(name string) (keyPress, bool) {
	if isGrapheme(name) {
		r, _ := utf8.DecodeRuneInString(name)
		return keyPress{code: keyCode(r), text: name}, true
	}
	if len(name) == 2 && name[0] == '^' {
		if _, ok := controlByte(keyCode(name[1])); ok {
			return keyPress{code: keyCode(name[1]), text: name[1:], mods: modCtrl}, true
		}
	}
	if k, ok := keyAlias(name); ok {
		return k, true
	}
	for _, d := range keyTable {
		for _, n := range d.names {
			if strings.EqualFold(n, name) {
				return defKey(d), true
			}
		}
	}
	return keyPress{}, false
}

// defKey is the press of a key of the table; Space is a character.
func defKey(d keyDef) keyPress {
	if d.code == ' ' {
		return keyPress{code: ' ', text: " "}
	}
	return keyPress{code: d.code}
}

// normalKey brings a character key to one form: the code of a capital is that
// of its small letter with Shift, and with Ctrl the case of a letter that was
// written without S- means nothing, as with tmux. What Shift makes of a key
// that is not a letter depends on the layout of a keyboard: nothing here.
func normalKey(k keyPress) keyPress {
	if k.text == "" || utf8.RuneCountInString(k.text) != 1 {
		return k
	}
	r := rune(k.code)
	lower, upper := unicode.ToLower(r), unicode.ToUpper(r)
	if lower == upper || unicode.ToLower(upper) != lower || unicode.ToUpper(lower) != upper {
		return k
	}
	if r == upper && k.mods&modCtrl == 0 {
		k.mods |= modShift
	}
	k.code, k.text = keyCode(lower), string(lower)
	if k.mods&modShift != 0 {
		k.text = string(upper)
	}
	return k
}

// isGrapheme reports whether s is one printable character as a person counts
// them: a code point with what joins it (marks, variation selectors, emoji
// modifiers and joiners, the second half of a flag, Hangul jamo).
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

// extendsCluster reports whether r joins whatever stands before it (Unicode
// Standard Annex 29, GB9 and GB9a).
func extendsCluster(r rune) bool {
	return r == zeroWidthJoiner || unicode.Is(unicode.M, r) ||
		r >= 0x1f3fb && r <= 0x1f3ff || // emoji modifiers
		r >= 0xe0020 && r <= 0xe007f // tags of flags
}

func isRegional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

func isJamo(r rune) bool { return r >= 0x1100 && r <= 0x11ff || r >= 0xac00 && r <= 0xd7a3 }

// nearestKey returns the valid name that needs the fewest changes to become
// name, with name's modifiers.
func nearestKey(name string) string {
	_, base := cutKeyMods(name)
	prefix := name[:len(name)-len(base)]
	best, bestDistance := "", -1
	consider := func(candidate string) {
		d := editDistance(strings.ToLower(base), strings.ToLower(candidate))
		if bestDistance < 0 || d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	for _, d := range keyTable {
		for _, n := range d.names {
			consider(n)
		}
	}
	consider("BTab")
	return prefix + best
}

// editDistance counts the bytes to insert, delete, replace or swap with the
// next one to make b of a. Of names longer than any key only the start counts.
func editDistance(a, b string) int {
	const most = 32
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	var before, last, row [most + 1]int
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
