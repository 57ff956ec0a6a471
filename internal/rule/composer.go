package rule

import (
	"slices"
	"strings"
	"unicode"
)

// Composer describes how an agent's input line interprets a message, and how to
// clear it. The zero value changes no message and clears nothing.
type Composer struct {
	Commands []string `json:"commands,omitempty"` // a message that begins with one is a command; leading blanks are ignored
	Words    []string `json:"words,omitempty"`    // a message consisting only of one of these is a command
	Openers  []string `json:"openers,omitempty"`  // a last word that begins or ends with one captures Enter: a picker, a continued line
	Mark     string   `json:"mark,omitempty"`     // in front of a command, it makes it text; "" = a blank
	Clear    []string `json:"clear,omitempty"`    // keys that clear a draft of one line
	Resumed  []string `json:"resumed,omitempty"`  // begin the lines of a conversation that the program resumes before it is ready
}

// Plain returns the message as it must be typed to arrive as text. changed
// describes the change in one line, "" if there is none.
func (c *Composer) Plain(text string) (plain, changed string) {
	mark := c.Mark
	if mark == "" {
		mark = " "
	}
	if first := strings.TrimSpace(text); c.command(first) {
		text, changed = mark+text, "a blank sign was put in front: "+name(first)+" is a command to the agent"
	}
	if last := text[strings.LastIndexFunc(text, unicode.IsSpace)+1:]; c.opens(last) {
		text += " "
		if changed != "" {
			changed += "; "
		}
		changed += "a blank was put behind: " + name(last) + " takes Enter for itself"
	}
	return text, changed
}

func (c *Composer) command(text string) bool {
	begins := func(s string) bool { return s != "" && strings.HasPrefix(text, s) }
	is := func(s string) bool { return strings.EqualFold(text, s) }
	return slices.ContainsFunc(c.Commands, begins) || slices.ContainsFunc(c.Words, is)
}

func (c *Composer) opens(word string) bool {
	return slices.ContainsFunc(c.Openers, func(s string) bool {
		return s != "" && (strings.HasPrefix(word, s) || strings.HasSuffix(word, s))
	})
}

// name returns the first word of text, shortened.
func name(text string) string {
	const most = 20
	word := text
	if i := strings.IndexFunc(text, unicode.IsSpace); i > 0 {
		word = text[:i]
	}
	if r := []rune(word); len(r) > most {
		word = string(r[:most]) + "…"
	}
	return word
}

// ClearKeys returns keys that clear a draft of that many lines, with some to
// spare: on an empty line they do nothing. It returns nil if it is not known
// how.
func (c *Composer) ClearKeys(lines int) []string {
	if len(c.Clear) == 0 {
		return nil
	}
	return slices.Repeat(c.Clear, 2*lines+1)
}
