// Package shell quotes words for a POSIX shell. It is pure and knows nothing of
// gc; every package that builds a command line uses it.
package shell

import "strings"

// Quote quotes s as one word.
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Word is Quote if the shell needs it, otherwise s itself.
func Word(s string) string {
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return Quote(s)
}

func special(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("_-./:,+@%", r)
}

// Unquote reverses Quote. ok is false for anything Quote does not produce.
func Unquote(s string) (text string, ok bool) {
	if len(s) < 2 || s[0] != '\'' || s[len(s)-1] != '\'' {
		return "", false
	}
	inner := strings.ReplaceAll(s[1:len(s)-1], `'\''`, "\x00")
	if strings.Contains(inner, "'") {
		return "", false
	}
	return strings.ReplaceAll(inner, "\x00", "'"), true
}
