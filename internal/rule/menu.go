package rule

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// hint matches lines by which menus explain their keys.
var hint = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\benter (to )?(confirm|select|submit|continue|accept|choose)\b|(↑/?↓|⇆|↑↓|←/?→|arrow keys).*\b(navigate|select|move|choose|switch)\b|\[y/n\]|\(y/n\)`)
})

// hintRows is how far below a menu the line that explains its keys may be.
const hintRows = 4

// hinted reports whether a line at or below a row explains a menu's keys.
func hinted(rows []row, at int) bool {
	return rows[at].hint || slices.ContainsFunc(textBelow(rows, at, hintRows), func(i int) bool { return rows[i].hint })
}

// asked reports whether the paragraph right above a row is a question.
func (s DialogView) asked(rows []row, at int) bool {
	last := textAbove(rows, at)
	if last < 0 || slices.ContainsFunc(rows[last:at], func(r row) bool { return r.edge }) {
		return false
	}
	if strings.ContainsAny(lastRune(rows[last].Label), "?:？：") {
		return true
	}
	for i := last; i >= 0 && rows[i].text; i-- {
		if line := cleanLine(s.Lines[i]); asking().MatchString(line) || heading().MatchString(line) {
			return true
		}
	}
	return false
}

func lastRune(s string) string {
	r := []rune(strings.TrimRight(s, " "))
	if len(r) == 0 {
		return ""
	}
	return string(r[len(r)-1])
}

// findUnknown looks for a menu of any kind, or for the line that explains a
// menu's keys: then Options is empty.
func (s DialogView) findUnknown() (Found, bool) {
	rows := s.rows()
	for _, find := range []func([]row) (Found, bool){s.marked, s.horizontal, s.shaded, s.boxes} {
		if found, ok := find(rows); ok {
			found.Question = questionAbove(s.Lines, found.Options[0].Row)
			return found, true
		}
	}
	for _, i := range s.tail(rows) {
		if rows[i].hint {
			return Found{Question: cleanLine(s.Lines[i]), Marked: -1, Wanted: -1}, true
		}
	}
	return Found{}, false
}

// tail returns the last rows with text, bottom up.
func (s DialogView) tail(rows []row) (out []int) {
	for i := len(rows) - 1; i >= 0 && len(out) < tailRows; i-- {
		if cleanLine(s.Lines[i]) != "" {
			out = append(out, i)
		}
	}
	return out
}

// open makes a menu of options if it can be open: at the bottom of the screen,
// and not above a composer.
func (s DialogView) open(options []Option) (Found, bool) {
	if len(options) < 2 || !nearBottom(s.Lines, options) || s.composerBelow(options[len(options)-1].Row) {
		return Found{}, false
	}
	found := Found{Options: options, Marked: -1, Wanted: -1}
	for i, o := range options {
		if o.Marked {
			found.Marked = i
		}
	}
	return found, true
}

// marked finds a menu with a sign before the selected option.
func (s DialogView) marked(rows []row) (Found, bool) {
	for i := len(rows) - 1; i >= 0; i-- {
		if !rows[i].Marked {
			continue
		}
		var options []Option
		if rows[i].Number > 0 {
			options = s.numbered(rows, i)
		} else {
			options = s.aligned(rows, i)
		}
		if found, ok := s.open(options); ok {
			return found, true
		}
	}
	return Found{}, false
}

// numbered returns the run 1, 2, 3 … around the marked option. Signs that also
// begin lines of a conversation need more evidence.
func (s DialogView) numbered(rows []row, at int) []Option {
	m := rows[at].Option
	out := []Option{m}
	want := m.Number - 1
	for i := at - 1; i >= 0 && want >= 1; i-- {
		if o := rows[i].Option; rows[i].text && o.Number == want && o.Col == m.Col && !o.Marked {
			out = append([]Option{o}, out...)
			want--
		}
	}
	if want >= 1 {
		return nil
	}
	want = m.Number + 1
	for i := at + 1; i < len(rows); i++ {
		if o := rows[i].Option; rows[i].text && o.Number == want && o.Col == m.Col && !o.Marked {
			out = append(out, o)
			want++
		}
	}
	last := out[len(out)-1].Row
	if strings.ContainsRune(">●", m.mark) && m.frame == 0 && !s.asked(rows, out[0].Row) && !hinted(rows, last) {
		return nil
	}
	return out
}

// aligned returns the options aligned with the marked one. In a frame, a title
// must be above them; otherwise the keys must be explained, or a question be
// above a sign that no shell uses.
func (s DialogView) aligned(rows []row, at int) []Option {
	m := rows[at].Option
	out := labels(block(rows, at), at)
	if len(out) < 2 {
		return nil
	}
	if strings.ContainsRune("│║|", m.frame) && m.frame != 0 {
		if above := textAbove(rows, out[0].Row); above >= 0 && rows[above].frame == m.frame && titled(rows, above, out[0].Row) {
			return out
		}
	}
	last := out[len(out)-1].Row
	if hinted(rows, last) || strings.ContainsRune("❯›▶▸◉", m.mark) && m.mark != 0 && s.asked(rows, out[0].Row) && (s.Cursor < out[0].Row || s.Cursor > last) {
		return out
	}
	return nil
}

// titled reports whether only blank lines of the same frame separate a title
// from the options.
func titled(rows []row, title, first int) bool {
	return !slices.ContainsFunc(rows[title:first], func(r row) bool { return r.edge })
}

// block returns the paragraphs around a row that may belong to one menu: no
// edge, no other selection, nothing left of its label, at most one blank line
// between them.
func block(rows []row, at int) [][]row {
	m := rows[at]
	fits := func(r row) bool {
		return r.text && r.Col >= m.Col && !(r.Marked && r.Row != m.Row) && !r.hint &&
			(r.frame == m.frame || (r.frame == 0 || m.frame == 0) && (r.frame == '┃' || m.frame == '┃' || r.frame == '▌' || m.frame == '▌'))
	}
	first, last := at, at
	for i := at - 1; i >= 0; i-- {
		r := rows[i]
		if r.edge || !r.text && (i == 0 || !rows[i-1].text || rows[i-1].edge) {
			break
		}
		if r.text && (!fits(r) || r.Col == m.Col && strings.ContainsAny(lastRune(r.Label), "?:？：")) {
			break
		}
		if r.text {
			first = i
		}
	}
	for i := at + 1; i < len(rows); i++ {
		r := rows[i]
		if r.edge || r.text && !fits(r) || !r.text && (i+1 == len(rows) || !rows[i+1].text) {
			break
		}
		if r.text {
			last = i
		}
	}
	var out [][]row
	for i := first; i <= last; i++ {
		if i == first || !rows[i-1].text {
			out = append(out, nil)
		}
		if rows[i].text {
			out[len(out)-1] = append(out[len(out)-1], rows[i])
		}
	}
	return out
}

// labels returns the options of a block. If blank lines separate paragraphs
// that each begin with a label followed by its description, the first lines are
// the labels; otherwise the lines of the marked one's paragraph aligned with
// it. Text indented below a label describes it.
func labels(paragraphs [][]row, at int) []Option {
	mine := slices.IndexFunc(paragraphs, func(p []row) bool {
		return slices.ContainsFunc(p, func(r row) bool { return r.Row == at })
	})
	if mine < 0 {
		return nil
	}
	col := paragraphs[mine][slices.IndexFunc(paragraphs[mine], func(r row) bool { return r.Row == at })].Col
	described := func(p []row) bool { return len(p) > 1 && p[0].Col == col }
	if paragraphs[mine][0].Row == at && described(paragraphs[mine]) {
		from, to := mine, mine+1
		for from > 0 && described(paragraphs[from-1]) {
			from--
		}
		for to < len(paragraphs) && described(paragraphs[to]) {
			to++
		}
		if to-from > 1 {
			var out []Option
			for _, p := range paragraphs[from:to] {
				out = append(out, p[0].Option)
			}
			return out
		}
	}
	var out []Option
	for _, r := range paragraphs[mine] {
		if r.Col == col || r.mark == '✔' && r.Col == col+2 {
			out = append(out, r.Option)
		}
	}
	return out
}

// shaded finds a menu whose selected option has its own background, or is the
// only one with a bar or a tick before it, and whose keys are explained.
func (s DialogView) shaded(rows []row) (Found, bool) {
	for i := len(rows) - 1; i >= 0; i-- {
		if !rows[i].text || rows[i].hint || !hinted(rows, i) {
			continue
		}
		options := labels(block(rows, i), i)
		if len(options) < 2 {
			continue
		}
		options = slices.Clone(options)
		at := oddOne(options, func(o Option) string {
			look := string(o.frame) + string(o.mark)
			if s.Shade != nil {
				look += s.Shade(o.Row, o.Col)
			}
			return look
		})
		if at < 0 {
			continue
		}
		options[at].Marked = true
		if found, ok := s.open(options); ok {
			return found, true
		}
	}
	return Found{}, false
}

// oddOne returns the only option that looks different from the others, which
// look alike; -1 if there is none. Of two options neither is odd unless one has
// a sign.
func oddOne(options []Option, look func(Option) string) int {
	count := map[string]int{}
	for _, o := range options {
		count[look(o)]++
	}
	if len(count) != 2 {
		return -1
	}
	at := slices.IndexFunc(options, func(o Option) bool { return count[look(o)] == 1 })
	if at >= 0 && len(options) == 2 {
		return slices.IndexFunc(options, func(o Option) bool { return o.mark != 0 })
	}
	return at
}
