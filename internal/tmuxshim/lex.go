package tmuxshim

import (
	"fmt"
	"os"
	"strings"
)

// lexer reads commands as tmux's parser does: words with quotes, $VARIABLES, ~, comments,
// and {blocks}.
type lexer struct {
	text string
	at   int
	line int
	env  func(string) string
}

// commands reads all commands of a text; each is its words.
func commands(text string, env func(string) string) ([]line, error) {
	l := &lexer{text: strings.ReplaceAll(text, "\\\n", ""), line: 1, env: env}
	var all []line
	var one []string
	began := 0
	for {
		word, kind, err := l.next()
		if err != nil {
			return nil, fmt.Errorf("%d: %w", l.line, err)
		}
		if kind == tokenWord {
			if len(one) == 0 {
				began = l.line
			}
			one = append(one, word)
			continue
		}
		if len(one) > 0 {
			all, one = append(all, line{one, began}), nil
		}
		if kind == tokenEOF {
			return all, nil
		}
	}
}

type token int

const (
	tokenWord token = iota
	tokenEnd        // of a command
	tokenEOF
)

func (l *lexer) next() (string, token, error) {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; c {
		case ' ', '\t', '\r':
			l.at++
		case '\n', ';':
			if c == '\n' {
				l.line++
			}
			l.at++
			return "", tokenEnd, nil
		case '#':
			n := strings.IndexByte(l.text[l.at:], '\n')
			if n < 0 {
				n = len(l.text) - l.at
			}
			l.at += n
		case '{':
			return l.block()
		default:
			return l.word()
		}
	}
	return "", tokenEOF, nil
}

// block reads {commands}, which are one word.
func (l *lexer) block() (string, token, error) {
	depth, from := 0, l.at+1
	for ; l.at < len(l.text); l.at++ {
		switch c := l.text[l.at]; c {
		case '\\':
			l.at++
		case '\'', '"':
			n := strings.IndexByte(l.text[l.at+1:], c)
			if n < 0 {
				return "", 0, fmt.Errorf("syntax error")
			}
			l.at += n + 1
		case '\n':
			l.line++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				l.at++
				return l.text[from : l.at-1], tokenWord, nil
			}
		}
	}
	return "", 0, fmt.Errorf("syntax error")
}

func (l *lexer) word() (string, token, error) {
	var b strings.Builder
	if rest := l.text[l.at:]; strings.HasPrefix(rest, "~") && (len(rest) == 1 || strings.IndexByte("/ \t\n;", rest[1]) >= 0) {
		b.WriteString(l.env("HOME"))
		l.at++
	}
	for l.at < len(l.text) {
		c := l.text[l.at]
		switch {
		case strings.IndexByte(" \t\r\n;", c) >= 0:
			return b.String(), tokenWord, nil
		case c == '\'':
			n := strings.IndexByte(l.text[l.at+1:], '\'')
			if n < 0 {
				return "", 0, fmt.Errorf("syntax error")
			}
			b.WriteString(l.text[l.at+1 : l.at+1+n])
			l.at += n + 2
		case c == '"':
			if err := l.quoted(&b); err != nil {
				return "", 0, err
			}
		case c == '$':
			l.variable(&b)
		case c == '\\':
			l.escape(&b)
		default:
			b.WriteByte(c)
			l.at++
		}
	}
	return b.String(), tokenWord, nil
}

func (l *lexer) quoted(b *strings.Builder) error {
	for l.at++; l.at < len(l.text); {
		switch l.text[l.at] {
		case '"':
			l.at++
			return nil
		case '$':
			l.variable(b)
		case '\\':
			l.escape(b)
		default:
			b.WriteByte(l.text[l.at])
			l.at++
		}
	}
	return fmt.Errorf("syntax error")
}

// variable reads $NAME or ${NAME}.
func (l *lexer) variable(b *strings.Builder) {
	rest := l.text[l.at+1:]
	if strings.HasPrefix(rest, "{") {
		if n := strings.IndexByte(rest, '}'); n > 0 {
			b.WriteString(l.env(rest[1:n]))
			l.at += n + 2
			return
		}
	}
	n := 0
	for n < len(rest) && (rest[n] == '_' || rest[n] >= 'a' && rest[n] <= 'z' || rest[n] >= 'A' && rest[n] <= 'Z' || n > 0 && rest[n] >= '0' && rest[n] <= '9') {
		n++
	}
	if n == 0 {
		b.WriteByte('$')
	} else {
		b.WriteString(l.env(rest[:n]))
	}
	l.at += n + 1
}

// escape reads a backslash and what follows it.
func (l *lexer) escape(b *strings.Builder) {
	if l.at+1 == len(l.text) {
		l.at++
		return
	}
	c := l.text[l.at+1]
	if s, ok := map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'e': "\x1b", 'a': "\a"}[c]; ok {
		b.WriteString(s)
	} else {
		b.WriteByte(c)
	}
	l.at += 2
}

// environment is a variable of the process.
func environment(name string) string { return os.Getenv(name) }
