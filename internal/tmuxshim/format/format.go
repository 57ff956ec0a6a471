// Package format expands tmux's formats: #{...} with variables, conditions, comparisons
// and modifiers, as tmux(1) describes them under FORMATS. It knows nothing of sessions:
// the caller gives the values.
package format

import (
	"strconv"
	"strings"
)

// Source gives values. It is called while a format is expanded, on the caller's goroutine.
type Source interface {
	// Value is a variable's value, or an option's; false if there is none of that name.
	Value(name string) (string, bool)
	// Each returns the sources of every session ('S'), window of the session ('W'), pane of
	// the window ('P') or client ('L'), and which of them is the current one, or -1.
	Each(kind byte) (all []Source, current int)
	// Width is how many columns text takes.
	Width(text string) int
	// Exists reports whether there is a window ('w') or session ('s') of this name.
	Exists(kind byte, name string) bool
}

// These bound a format that would never end, or grow without end.
const (
	maxDepth  = 100
	maxLength = 1 << 20 // bytes written by all parts
	maxParts  = 100_000 // expanded
)

// short are the variables of one letter.
var short = map[byte]string{
	'D': "pane_id", 'F': "window_flags", 'H': "host", 'I': "window_index",
	'P': "pane_index", 'S': "session_name", 'T': "pane_title", 'W': "window_name", 'h': "host_short",
}

// Expand returns text with its formats expanded. Shell commands, #(...), are not run: they
// give nothing. Styles, #[...], stay as they are.
func Expand(text string, s Source) string {
	e := &expansion{left: maxLength, parts: maxParts, width: s.Width}
	return e.expand(text, s)
}

// True reports whether an expanded condition holds: it is neither empty nor "0".
func True(s string) bool { return s != "" && s != "0" }

// expansion is what the parts of one format have in common.
type expansion struct {
	depth, left, parts int
	width              func(string) int
}

func (e *expansion) expand(text string, s Source) string {
	if e.depth >= maxDepth || e.parts <= 0 {
		return ""
	}
	e.depth++
	e.parts--
	defer func() { e.depth-- }()
	var b strings.Builder
	for text != "" && e.left > 0 {
		i := strings.IndexByte(text, '#')
		if i < 0 || i+1 == len(text) {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:i])
		before := b.Len()
		text = e.hash(&b, text[i+1:], s)
		e.left -= b.Len() - before
	}
	return b.String()
}

// hash writes what follows a '#', and returns the rest.
func (e *expansion) hash(b *strings.Builder, text string, s Source) string {
	switch c := text[0]; c {
	case '{':
		n := End(text[1:], "}")
		if n < 0 {
			return ""
		}
		b.WriteString(e.replace(text[1:1+n], s))
		return text[n+2:]
	case '(':
		n := closing(text)
		if n < 0 {
			return ""
		}
		return text[n+1:]
	case '#':
		n := len(text) - len(strings.TrimLeft(text, "#"))
		if rest := text[n:]; strings.HasPrefix(rest, "[") { // an escaped style stays as it is
			b.WriteString(strings.Repeat("#", n+1))
			return rest
		}
		b.WriteByte('#')
		return text[1:]
	case '}', ',':
		b.WriteByte(c)
		return text[1:]
	default:
		if name, ok := short[c]; ok {
			value, _ := s.Value(name)
			b.WriteString(value)
			return text[1:]
		}
		b.WriteByte('#')
		b.WriteByte(c)
		return text[1:]
	}
}

// End returns where the first of the stops is in a format, outside of nested ones and not
// escaped by '#'; -1 if nowhere.
func End(text, stops string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '#' && i+1 < len(text) && strings.IndexByte(",#{}:", text[i+1]) >= 0:
			if text[i+1] == '{' {
				depth++
			}
			i++
		case depth == 0 && strings.IndexByte(stops, text[i]) >= 0:
			return i
		case text[i] == '}' && depth > 0:
			depth--
		}
	}
	return -1
}

// closing returns where the parenthesis that text begins with is closed; -1 if nowhere.
func closing(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// replace returns the value of what #{ and } enclose.
func (e *expansion) replace(key string, s Source) string {
	mods, rest := modifiers(key)
	if strings.HasPrefix(rest, "?") && len(mods) == 0 {
		return e.condition(rest[1:], s)
	}
	value := ""
	if f := operator(mods); f != nil {
		value = f(e, mods, rest, s)
	} else {
		value = e.variable(rest, mods, s)
	}
	return e.adjust(value, mods, s)
}

// variable returns the value of a variable, or of a format if it holds one.
func (e *expansion) variable(name string, mods []modifier, s Source) string {
	if has(mods, 'l') {
		return name
	}
	if has(mods, 'a') || strings.Contains(name, "#{") {
		return e.expand(name, s)
	}
	value, _ := s.Value(name)
	return value
}

// condition is #{?condition,value[,condition,value...],otherwise}.
func (e *expansion) condition(text string, s Source) string {
	for first := true; ; first = false {
		n := End(text, ",")
		if n < 0 && first {
			return ""
		}
		if n < 0 {
			return e.expand(text, s)
		}
		cond := text[:n]
		text = text[n+1:]
		n = End(text, ",")
		value, rest := text, ""
		if n >= 0 {
			value, rest = text[:n], text[n+1:]
		}
		if True(e.test(cond, s)) {
			return e.expand(value, s)
		}
		if n < 0 {
			return ""
		}
		text = rest
	}
}

// test is the value of a condition: a variable's, or a format's.
func (e *expansion) test(cond string, s Source) string {
	if value, ok := s.Value(cond); ok {
		return value
	}
	value := e.expand(cond, s)
	if value == cond { // a name that nothing has
		return ""
	}
	return value
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
