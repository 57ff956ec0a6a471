package copymode

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gascity.dev/gc/internal/nearest"
	"gascity.dev/gc/mux/keys"
)

// Action is what a key of copy mode does.
type Action string

// command is an action: its default keys, what it is for a person, and what it does.
type command struct {
	action Action
	keys   []string
	about  string
	do     func(*Model) Done
}

// moves makes a command of a change of the view.
func moves(do func(*Model)) func(*Model) Done {
	return func(m *Model) Done { do(m); return Done{} }
}

// commands returns what a person can do, in the order in which it is listed.
func commands() []command {
	return []command{
		{"up", []string{"k", "Up", "ctrl-p"}, "a row up", moves(func(m *Model) { m.vertical(-1) })},
		{"down", []string{"j", "Down", "ctrl-n"}, "a row down", moves(func(m *Model) { m.vertical(1) })},
		{"left", []string{"h", "Left", "Backspace"}, "left", moves(func(m *Model) { m.horizontal(-1) })},
		{"right", []string{"l", "Right"}, "right", moves(func(m *Model) { m.horizontal(1) })},
		{"page-up", []string{"PageUp", "ctrl-b", "alt-v"}, "a page up", moves(func(m *Model) { m.scroll(-max(m.rows-1, 1)) })},
		{"page-down", []string{"PageDown", "ctrl-f"}, "a page down", moves(func(m *Model) { m.scroll(max(m.rows-1, 1)) })},
		{"half-page-up", []string{"ctrl-u"}, "half a page up", moves(func(m *Model) { m.scroll(-max(m.rows/2, 1)) })},
		{"half-page-down", []string{"ctrl-d"}, "half a page down", moves(func(m *Model) { m.scroll(max(m.rows/2, 1)) })},
		{"scroll-up", []string{"ctrl-y"}, "scroll a row up", moves(func(m *Model) { m.scroll(-1) })},
		{"scroll-down", []string{"ctrl-e"}, "scroll a row down", moves(func(m *Model) { m.scroll(1) })},
		{"top", []string{"g", "alt-<"}, "the oldest line", moves((*Model).toTop)},
		{"bottom", []string{"G", "alt->"}, "the end", moves((*Model).toBottom)},
		{"screen-top", []string{"H"}, "the first row shown", moves(func(m *Model) { m.toShown(0) })},
		{"screen-middle", []string{"M"}, "the middle of the screen", moves(func(m *Model) { m.toShown(m.rows / 2) })},
		{"screen-bottom", []string{"L"}, "the last row shown", moves(func(m *Model) { m.toShown(m.rows - 1) })},
		{"line-start", []string{"0", "Home", "ctrl-a"}, "the start of the line", moves(func(m *Model) { m.cursor.at = 0; m.keepColumn() })},
		{"first-character", []string{"^"}, "the first character that is not blank", moves((*Model).toText)},
		{"line-end", []string{"$", "End"}, "the end of the line", moves(func(m *Model) { m.cursor.at = m.line(m.cursor.line).last(); m.keepColumn() })},
		{"word-forward", []string{"w", "alt-f"}, "the next word", moves((*Model).wordForward)},
		{"word-back", []string{"b", "alt-b"}, "the word before", moves((*Model).wordBack)},
		{"word-end", []string{"e"}, "the end of the word", moves((*Model).wordEnd)},
		{"search", []string{"/", "ctrl-s"}, "search downwards", moves(func(m *Model) { m.prompt = &prompt{} })},
		{"search-back", []string{"?", "ctrl-r"}, "search upwards", moves(func(m *Model) { m.prompt = &prompt{back: true} })},
		{"search-next", []string{"n"}, "the next match", moves(func(m *Model) { m.look(m.back) })},
		{"search-previous", []string{"N"}, "the match before", moves(func(m *Model) { m.look(!m.back) })},
		{"mark", []string{"Space", "v", "ctrl-Space"}, "begin to select, or stop", moves(func(m *Model) { m.toggle(characters) })},
		{"mark-lines", []string{"V"}, "select lines", moves(func(m *Model) { m.toggle(wholeLines) })},
		{"mark-block", []string{"ctrl-v"}, "select a block", moves(func(m *Model) { m.toggle(block) })},
		{"other-end", []string{"o"}, "the other end of the selection", moves((*Model).swap)},
		{"copy", []string{"y", "Enter", "alt-w"}, "copy the selection and leave", (*Model).copy},
		{"cancel", []string{"Escape", "ctrl-g"}, "stop selecting, or leave", (*Model).cancel},
		{"quit", []string{"q", "ctrl-c"}, "leave", func(*Model) Done { return Done{Left: true} }},
	}
}

// Bindings are the keys of copy mode. The zero value has none; see [Bind].
type Bindings struct {
	keys  map[keys.Identity]Action
	names map[Action][]string
}

// Bind returns the default keys with those of changes in place of an action's. An error
// names the action or the key that does not exist, or a key that has two actions.
func Bind(changes map[string][]string) (Bindings, error) {
	b := Bindings{keys: map[keys.Identity]Action{}, names: map[Action][]string{}}
	all := commands()
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if !slices.ContainsFunc(all, func(c command) bool { return string(c.action) == name }) {
			return b, unknownAction(name, all)
		}
	}
	for _, given := range []bool{true, false} { // a key that was given is taken from its default
		for _, c := range all {
			names, changed := changes[string(c.action)]
			if changed != given {
				continue
			}
			if !changed {
				names = c.keys
			}
			for _, name := range names {
				k, err := keys.ParseKey(name)
				if err != nil {
					return b, fmt.Errorf("%s: %w", c.action, err)
				}
				if had, taken := b.keys[k]; taken && given && had != c.action {
					return b, fmt.Errorf("%s: %s is a key of %s, too", c.action, name, had)
				} else if !taken {
					b.keys[k] = c.action
					b.names[c.action] = append(b.names[c.action], name)
				}
			}
		}
	}
	return b, nil
}

// unknownAction is the error of an action that does not exist.
func unknownAction(name string, all []command) error {
	var names []string
	for _, c := range all {
		names = append(names, string(c.action))
	}
	if near := nearest.Of(name, names); near != "" {
		return fmt.Errorf("unknown action %q; did you mean %q?", name, near)
	}
	return fmt.Errorf("unknown action %q, not one of %s", name, strings.Join(names, ", "))
}

// Hint names the keys that a person needs first.
func (b Bindings) Hint() string {
	var parts []string
	for _, p := range []struct {
		action Action
		does   string
	}{{"quit", "leaves"}, {"search", "searches"}, {"mark", "selects"}, {"copy", "copies"}} {
		if names := b.names[p.action]; len(names) > 0 {
			parts = append(parts, names[0]+" "+p.does)
		}
	}
	return strings.Join(parts, ", ")
}

// Help returns a line for each action that has keys.
func (b Bindings) Help() (lines []string) {
	for _, c := range commands() {
		if names := b.names[c.action]; len(names) > 0 {
			lines = append(lines, fmt.Sprintf("%-24s %s", strings.Join(names, " "), c.about))
		}
	}
	return lines
}

// Key carries out what a person typed: the keys that one press may be.
func (m *Model) Key(pressed []keys.Identity) Done {
	m.message, m.lines.err = "", nil
	done := Done{}
	if m.prompt != nil {
		m.typed(pressed)
	} else {
		for _, c := range commands() {
			if slices.ContainsFunc(pressed, func(k keys.Identity) bool { return m.keys.keys[k] == c.action }) {
				done = c.do(m)
				break
			}
		}
	}
	m.follow()
	if m.lines.err != nil {
		m.message = m.lines.err.Error()
	}
	return done
}

func (m *Model) toTop() {
	m.cursor = pos{line: m.lines.first}
	m.keepColumn()
}

func (m *Model) toBottom() {
	m.cursor = pos{line: m.lines.end - 1}
	m.top, _ = m.up(m.bottom(), m.rows-1)
	m.keepColumn()
}

// toShown moves the cursor to a row of the screen.
func (m *Model) toShown(row int) {
	at, _ := m.down(m.top, row)
	m.toRow(at)
}

// toText moves the cursor to the first character that is not blank.
func (m *Model) toText() {
	l := m.line(m.cursor.line)
	m.cursor.at = 0
	for m.cursor.at < l.last() && m.kindAt(m.cursor) == blank {
		m.cursor.at++
	}
	m.keepColumn()
}

// swap moves the cursor to the other end of the selection.
func (m *Model) swap() {
	if m.selecting != nothing {
		m.cursor, m.mark = m.mark, m.cursor
		m.keepColumn()
	}
}

// cancel ends the selection; without one it leaves.
func (m *Model) cancel() Done {
	left := m.selecting == nothing
	m.selecting = nothing
	return Done{Left: left}
}

// copy leaves with the selection.
func (m *Model) copy() Done {
	if m.selecting == nothing {
		m.message = "nothing is selected"
		return Done{}
	}
	text, ok := m.copied()
	switch {
	case m.lines.err != nil:
		return Done{}
	case !ok:
		m.message = "more than 4 MiB are selected: not copied"
		return Done{}
	}
	return Done{Left: true, Copied: true, Text: text}
}
