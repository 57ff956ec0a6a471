package policy

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// matchCommand reports whether a pattern matches a whole command for an allow rule.
// A pattern with a wildcard matches only a simple command: what a shell would make
// of the rest is not known.
func matchCommand(pattern, command string) bool {
	if command == pattern {
		return command != ""
	}
	return strings.ContainsAny(pattern, "*?") && simple(command) && wildcard(pattern, command)
}

// simple reports whether a shell runs the text as one command with fixed words: it
// has no operator, substitution, redirection, newline or backslash outside quotes.
// Quotes that shells read differently are not simple.
func simple(command string) bool {
	quote := rune(0)
	runes := []rune(command)
	for i, c := range runes {
		next := rune(0)
		if i+1 < len(runes) {
			next = runes[i+1]
		}
		switch {
		case unicode.IsControl(c) && c != '\t' && (c != '\n' || quote == 0):
			return false
		case quote == '\'':
			if c == '\'' {
				quote = 0
			} else if c == '\\' && next == '\'' { // an escaped quote to fish
				return false
			}
		case quote == '"':
			if c == '"' {
				quote = 0
			} else if c == '$' || c == '`' || c == '\\' && strings.ContainsRune("\"\\\n", next) {
				return false
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.ContainsRune(";&|<>()$`\\", c):
			return false
		}
	}
	return quote == 0
}

// matchAnyPart reports whether a pattern matches the command or any part of it for a
// deny rule. It errs on the side of a match: quotes do not protect an operator,
// since the text may reach another shell.
func matchAnyPart(pattern, command string) bool {
	if wildcard(pattern, command) {
		return true
	}
	parts := strings.FieldsFunc(strings.ReplaceAll(command, "\\\n", ""), func(c rune) bool {
		return strings.ContainsRune(";&|<>(){}$`", c) || unicode.IsControl(c) && c != '\t'
	})
	plain := words(pattern)
	return slices.ContainsFunc(parts, func(part string) bool {
		quoted := strings.ContainsAny(part, `'"\`)
		return slices.ContainsFunc(forms(words(part), quoted), func(form string) bool {
			return wildcard(plain, form)
		}) || slices.ContainsFunc(forms(words(oneWord(part)), false), func(form string) bool {
			return slices.ContainsFunc(withoutOptions(form), func(f string) bool { return wildcard(plain, f) })
		})
	})
}

// oneWord returns the command with an underscore for each blank in quotes: a quoted text
// is one word.
func oneWord(command string) string {
	quote := rune(0)
	return strings.Map(func(c rune) rune {
		switch {
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		case quote != 0 && (c == ' ' || c == '\t'):
			return '_'
		}
		return c
	}, command)
}

// withoutOptions returns the command without its first options: "git push" for "git -C x
// push". Which options take the next word is not known, so both readings count.
func withoutOptions(form string) []string {
	first, rest, _ := strings.Cut(form, " ")
	var out []string
	option := false // the word before is one
	for rest != "" && len(out) < maxOptions {
		word, after, _ := strings.Cut(rest, " ")
		is := strings.HasPrefix(word, "-")
		if !is && !option {
			break
		}
		option, rest = is, after
		out = append(out, strings.TrimSpace(first+" "+rest))
	}
	return out
}

// maxOptions is how many words withoutOptions looks past.
const maxOptions = 64

// words returns a command without quotes and backslashes, with single blanks.
func words(command string) string {
	return strings.Join(strings.Fields(strings.Map(func(c rune) rune {
		if strings.ContainsRune(`'"\`, c) {
			return -1
		}
		return c
	}, command)), " ")
}

// wrappers are words that run the command after them.
var wrappers = []string{
	"sudo", "doas", "env", "command", "builtin", "exec", "eval", "nohup", "time", "timeout", "nice", "stdbuf", "setsid", "xargs",
	"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox",
	"!", "if", "then", "elif", "else", "while", "until", "do",
}

// forms returns the command itself, and the commands that it runs through
// assignments and wrappers; each also with a first word without its directory. After an
// assignment in a command with quotes, any word may be the first: a value may have blanks.
func forms(command string, quoted bool) []string {
	var out []string
	spaced := false
	for rest := command; rest != ""; {
		first, after, _ := strings.Cut(rest, " ")
		base := path.Base(first)
		out = append(out, rest, strings.TrimSpace(base+" "+after))
		if len(out) > 2 && (strings.HasPrefix(first, "-") || strings.Trim(first, "0123456789.smhd") == "") {
			rest = after // an option or a number of a wrapper
			continue
		}
		name, _, assigned := strings.Cut(first, "=")
		assigned = assigned && name != ""
		spaced = spaced || assigned && quoted
		if !slices.Contains(wrappers, base) && !assigned && !spaced {
			break
		}
		rest = after
	}
	return out
}
