package server

import "unicode/utf8"

// wholeRunes returns the length of p without an incomplete last character.
func wholeRunes(p []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-i:]) {
				return len(p) - i
			}
			break
		}
	}
	return len(p)
}
