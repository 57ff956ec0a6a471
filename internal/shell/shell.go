// Package shell quotes words for a POSIX shell, and reads plain command lines. It is pure and knows nothing of
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

// Words splits a command line into its words, with their quotes removed, where a shell
// would do nothing else: no variable, pattern, redirection, list or assignment. A leading
// exec is left out. ok is false for any other line.
func Words(line string) (words []string, ok bool) {
	var word strings.Builder
	within := false // a word
	end := func() {
		if within {
			words = append(words, word.String())
		}
		word.Reset()
		within = false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			end()
		case c == '\'':
			n := strings.IndexByte(line[i+1:], '\'')
			if n < 0 {
				return nil, false
			}
			word.WriteString(line[i+1 : i+1+n])
			within = true
			i += n + 1
		case c == '\\' && i+1 < len(line) && line[i+1] != '\n':
			i++
			word.WriteByte(line[i])
			within = true
		case special(rune(c)) && c < 0x80 && c != '=' && c != '^', c == '=' && len(words) == 0:
			return nil, false
		default:
			word.WriteByte(c)
			within = true
		}
	}
	end()
	if len(words) > 1 && words[0] == "exec" {
		words = words[1:]
	}
	return words, len(words) > 0
}
