package view

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/mux/keys"
)

// Action is a person's action: a Prompt, an Answer or a Cancel.
type Action interface{ action() }

// Prompt is a message to the agent.
type Prompt struct{ Text string }

// Answer answers the question that was painted last: with an option's label, or with
// text.
type Answer struct{ RequestID, Label, Text string }

// Cancel ends the turn.
type Cancel struct{}

func (Prompt) action() {}
func (Answer) action() {}
func (Cancel) action() {}

// Input takes typed bytes, cut anywhere, and returns the actions. A sequence may
// be unfinished: if Pending, call Flush when no byte has come for some 50 ms.
func (v *View) Input(p []byte) []Action {
	var out []Action
	v.keys.Feed(p, func(t keys.Token) { out = v.token(out, t) })
	return out
}

// Pending reports whether the beginning of a sequence is held back: perhaps a person
// pressed Escape.
func (v *View) Pending() bool { return v.keys.Pending() }

// Flush treats incomplete sequences as keys.
func (v *View) Flush() []Action {
	var out []Action
	v.keys.Flush(func(t keys.Token) { out = v.token(out, t) })
	return out
}

func (v *View) token(out []Action, t keys.Token) []Action {
	switch t.Kind {
	case keys.TokenPaste:
		v.paste(t.Data)
	case keys.TokenByte:
		return v.typed(out, t.Data[0])
	case keys.TokenCSI, keys.TokenSS3:
		v.hints = nil
		v.named(string(t.Data))
	case keys.TokenAlt:
		if t.Data[1] == '\r' { // Alt-Enter
			v.draft.insert("\n")
		}
	}
	return out
}

// paste collects a bracketed paste; its end mark may come in pieces.
func (v *View) paste(p []byte) {
	v.hints = nil
	v.past = append(v.past, p...)
	text, ended := bytes.CutSuffix(v.past, []byte(keys.PasteEnd))
	switch {
	case ended && !v.huge:
		v.draft.insert(string(text))
	case len(v.past) > maxDraft+len(keys.PasteEnd):
		v.past, v.huge = append([]byte(nil), v.past[len(v.past)-len(keys.PasteEnd):]...), true
	}
	if ended {
		v.past, v.huge = nil, false
	}
}

// typed handles one byte outside any sequence.
func (v *View) typed(out []Action, b byte) []Action {
	last := v.last
	v.last = b
	if b >= 0x80 {
		v.character(b)
		return out
	}
	v.part = v.part[:0]
	if b != '\t' {
		v.hints = nil
	}
	switch b {
	case '\n':
		if last == '\r' { // the second half of a line end
			return out
		}
		return v.enter(out)
	case '\r':
		return v.enter(out)
	case 0x1b, ctrl('C'):
		return append(out, Cancel{})
	case '\t':
		v.complete()
		return out
	}
	if v.edit(b) || b < ' ' {
		return out
	}
	if q := v.question; q != nil && !wantsText(q) && v.draft.text == "" && b >= '1' && int(b-'1') < min(len(q.Options), 9) {
		return append(out, v.answer(int(b-'1')))
	}
	v.draft.insert(string(rune(b)))
	return out
}

func ctrl(letter byte) byte { return letter & 0x1f }

// character collects the bytes of one character.
func (v *View) character(b byte) {
	v.part = append(v.part, b)
	if utf8.FullRune(v.part) {
		v.hints = nil
		v.draft.insert(string(v.part))
		v.part = v.part[:0]
	}
}

// edit obeys the control bytes that edit the draft.
func (v *View) edit(b byte) bool {
	d := &v.draft
	switch b {
	case 0x7f, ctrl('H'):
		d.erase(d.before())
	case ctrl('D'):
		d.erase(d.after())
	case ctrl('U'):
		d.erase(d.lineStart())
	case ctrl('K'):
		d.erase(d.lineEnd())
	case ctrl('W'):
		d.erase(d.wordStart())
	case ctrl('A'):
		d.at = d.lineStart()
	case ctrl('E'):
		d.at = d.lineEnd()
	case ctrl('B'):
		d.at = d.before()
	case ctrl('F'):
		d.at = d.after()
	case ctrl('L'):
		v.screen.anew = true
	default:
		return false
	}
	return true
}

// named obeys keys that terminals send as a sequence.
func (v *View) named(seq string) {
	d := &v.draft
	switch seq {
	case "\x1b[A", "\x1bOA":
		v.choose(-1)
	case "\x1b[B", "\x1bOB":
		v.choose(+1)
	case "\x1b[C", "\x1bOC":
		d.at = d.after()
	case "\x1b[D", "\x1bOD":
		d.at = d.before()
	case "\x1b[H", "\x1bOH", "\x1b[1~", "\x1b[7~":
		d.at = d.lineStart()
	case "\x1b[F", "\x1bOF", "\x1b[4~", "\x1b[8~":
		d.at = d.lineEnd()
	case "\x1b[3~":
		d.erase(d.after())
	}
}

func (v *View) choose(by int) {
	if v.question != nil {
		v.menu.move(v.question, by)
	}
}

func (v *View) answer(option int) Action {
	return Answer{RequestID: v.question.ID, Label: v.question.Options[option].Label}
}

// enter answers the question, or sends the draft.
func (v *View) enter(out []Action) []Action {
	q := v.question
	empty := strings.TrimSpace(v.draft.text) == ""
	switch {
	case q != nil && empty && v.menu.marked >= 0 && len(q.Options) > 0:
		return append(out, v.answer(v.menu.marked))
	case empty:
		return out
	case q != nil && q.Text:
		return append(out, Answer{RequestID: q.ID, Text: v.draft.take()})
	}
	return append(out, Prompt{Text: v.draft.take()})
}

// complete completes the name of a command as far as it is certain; if several are
// possible, they are shown.
func (v *View) complete() {
	start, ok := strings.CutPrefix(v.draft.text, "/")
	if !ok || strings.ContainsAny(start, " \t\n") {
		return
	}
	var found []conversation.Choice
	common := ""
	for _, c := range v.commands {
		name := commandName(c)
		if !strings.HasPrefix(name, start) {
			continue
		}
		if common = commonPrefix(common, name); len(found) == 0 {
			common = name
		}
		found = append(found, c)
	}
	switch len(found) {
	case 0:
		return
	case 1:
		common += " "
	default:
		v.hint(found)
	}
	v.draft = composer{}
	v.draft.insert("/" + common)
}

func (v *View) hint(commands []conversation.Choice) {
	v.hints = nil
	for i, c := range commands {
		if i == maxHints-1 && len(commands) > maxHints {
			v.hints = append(v.hints, line{text: fmt.Sprintf("  … %d more", len(commands)-i), style: dim})
			return
		}
		text := strings.TrimSpace("/" + commandName(c) + "  " + oneLine(c.Description, headlineBytes))
		v.hints = append(v.hints, line{text: "  " + text, style: dim})
	}
}

func commandName(c conversation.Choice) string {
	name := c.ID
	if name == "" {
		name = c.Name
	}
	return strings.TrimPrefix(oneLine(name, headlineBytes), "/")
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}
