package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gascity.dev/gc/internal/acp/conversation"
)

// Limits of a question's rows.
const (
	titleRows = 3
	labelRows = 3 // of one option
)

// menu is the state of the open question's options.
type menu struct {
	id     string
	marked int
}

// follow begins anew for another question. An option that holds for ever is not the
// first choice; no option is where text is asked for.
func (m *menu) follow(q *conversation.Question) {
	if q == nil {
		*m = menu{}
		return
	}
	if m.id == q.ID {
		m.marked = min(m.marked, max(len(q.Options)-1, 0))
		return
	}
	*m = menu{id: q.ID}
	if wantsText(q) {
		m.marked = -1
		return
	}
	for i, o := range q.Options {
		if !strings.HasSuffix(o.Kind, "_always") {
			m.marked = i
			return
		}
	}
}

// wantsText reports whether the answer is text, and the options only refuse it.
func wantsText(q *conversation.Question) bool {
	return q.Text && !slices.ContainsFunc(q.Options, func(o conversation.Option) bool { return !strings.HasPrefix(o.Kind, "reject") })
}

// move marks another option.
func (m *menu) move(q *conversation.Question, by int) {
	m.marked = min(max(m.marked+by, 0), max(len(q.Options)-1, 0))
}

// askedText returns the question in one line.
func askedText(q *conversation.Question) string {
	if q.Kind == "permission" && q.Tool != nil {
		head := headline(q.Tool)
		if more := cmp.Or(q.Tool.Arguments(), q.Tool.File()); more != "" {
			head += ": " + oneLine(more, headlineBytes)
		}
		if head != "" {
			return head
		}
	}
	return oneLine(q.Title, headlineBytes)
}

// asked returns the rows of the open question, at most limit: the question, and
// the options around the marked one.
func (v *View) asked(q *conversation.Question, limit int) []line {
	if q == nil || limit <= 0 {
		return nil
	}
	options := make([][]line, len(q.Options))
	total := 0
	for i, o := range q.Options {
		options[i] = v.option(i, o)
		total += len(options[i])
	}
	title := v.title(q, min(max(limit-total, 1), titleRows))
	from, to := v.menu.window(options, limit-len(title))
	rows := title
	for _, o := range options[from:to] {
		rows = append(rows, o...)
	}
	return rows[:min(len(rows), limit)]
}

// title returns the rows of the question, at most limit.
func (v *View) title(q *conversation.Question, limit int) []line {
	rows := v.wrapped("? "+askedText(q), "", v.cols, limit)
	for i := range rows {
		rows[i].style = bold
	}
	return rows
}

// wrapped breaks a line into at most limit rows of so many columns, each after a
// margin; "…" stands for the rest.
func (v *View) wrapped(text, margin string, cols, limit int) []line {
	var rows []line
	for i, row := range wrapWords(text, cols) {
		if i == limit {
			last := &rows[limit-1].text
			*last = cut(*last+"…", width(margin)+cols)
			break
		}
		rows = append(rows, line{text: margin + row})
	}
	return rows
}

// option returns the rows of one option, in the form that internal/rule reads.
func (v *View) option(i int, o conversation.Option) []line {
	sign, style := "  ", ""
	if i == v.menu.marked {
		sign, style = "❯ ", bold
	}
	head := fmt.Sprintf("%s%d. ", sign, i+1)
	margin := width(head)
	if margin+4 > v.cols {
		return []line{{text: cut(head+oneLine(o.Label, headlineBytes), v.cols), style: style}}
	}
	rows := v.wrapped(oneLine(o.Label, headlineBytes), strings.Repeat(" ", margin), v.cols-margin, labelRows)
	rows[0].text = head + rows[0].text[margin:]
	for i := range rows {
		rows[i].style = style
	}
	return rows
}

// window returns which options fit in so many rows: as many as possible, the marked
// one among them.
func (m *menu) window(options [][]line, rows int) (from, to int) {
	if len(options) == 0 {
		return 0, 0
	}
	from = max(m.marked, 0)
	to = from + 1
	rows -= len(options[from])
	for {
		switch {
		case from > 0 && len(options[from-1]) <= rows:
			from--
			rows -= len(options[from])
		case to < len(options) && len(options[to]) <= rows:
			rows -= len(options[to])
			to++
		default:
			return from, to
		}
	}
}
