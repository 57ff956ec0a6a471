package tui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"charm.land/bubbles/v2/textinput"
	"github.com/charmbracelet/x/ansi"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/tui/internal/cells"
	"gascity.dev/gc/internal/tui/internal/terminal"
)

// historyPage is how many rows are asked for at once.
const historyPage = 1000

// maxHistory bounds how many rows are kept while they are shown.
const maxHistory = 100_000

// historyMsg is a page of a history, or, of a search, the row with the next match.
type historyMsg struct {
	of     *history
	search string
	fleet.History
	err error
}

// history shows what an agent has shown so far.
type history struct {
	agent, name string
	lines       []fleet.HistoryLine
	more        bool
	asking      bool
	err         error
	scroller
	col int // the first column that is shown

	input   *textinput.Model // of a search that is being written
	search  string
	match   uint64 // the row of the match that was gone to; 0: none
	goal    uint64 // the row to go to once it has come; 0: none
	noMatch bool
}

func (m *model) openHistory(a *fleet.Agent) tea.Cmd {
	h := &history{agent: a.ID, name: a.Name, scroller: scroller{end: true}}
	m.open(h)
	return h.ask(m.source, fleet.Page{})
}

func (h *history) ask(source fleet.Fleet, p fleet.Page) tea.Cmd {
	if p.Lines == 0 {
		p.Lines = historyPage
	}
	h.asking = true
	id := h.agent
	return work(func(ctx context.Context) tea.Msg {
		page, err := source.History(ctx, id, p)
		return historyMsg{of: h, search: p.Search, History: page, err: err}
	})
}

func (h *history) receive(m *model, msg tea.Msg) tea.Cmd {
	page, ok := msg.(historyMsg)
	if !ok || page.of != h {
		return nil
	}
	h.asking, h.err = false, page.err
	switch {
	case page.err != nil:
		h.goal = 0
	case page.search != "":
		return h.found(m, page)
	default:
		h.add(page.History)
	}
	return h.approach(m)
}

// add puts an earlier page before what is known.
func (h *history) add(page fleet.History) {
	h.more = page.More && len(page.Lines) > 0 && len(h.lines) < maxHistory
	h.lines = append(page.Lines, h.lines...)
	h.all = len(h.lines)
	if !h.end {
		h.top += len(page.Lines)
	}
}

// found goes to the row that a search of earlier rows found.
func (h *history) found(m *model, page historyMsg) tea.Cmd {
	if h.noMatch = len(page.Lines) == 0; h.noMatch {
		return nil
	}
	h.goal = page.Lines[len(page.Lines)-1].N
	return h.approach(m)
}

// approach asks for earlier rows until the goal is there, or if the first ones are shown.
func (h *history) approach(m *model) tea.Cmd {
	first := h.first()
	if h.goal != 0 && (h.goal >= first || !h.more) {
		h.show(h.goal)
		h.match, h.goal = h.goal, 0
	}
	if h.more && !h.asking && first > 1 && (h.goal != 0 || h.top < h.rows) {
		return h.ask(m.source, fleet.Page{Before: first})
	}
	return nil
}

// first is the number of the first row that is known.
func (h *history) first() uint64 {
	if len(h.lines) == 0 {
		return 0
	}
	return h.lines[0].N
}

// show scrolls so that a row is in the middle.
func (h *history) show(n uint64) {
	if i := h.index(n); i >= 0 {
		h.end = false
		h.by(i - h.rows/2 - h.top)
	}
}

// index is where a row is; -1 if it is not known.
func (h *history) index(n uint64) int {
	return slices.IndexFunc(h.lines, func(l fleet.HistoryLine) bool { return l.N == n })
}

func (h *history) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	if h.input != nil {
		return h.inputKey(m, k)
	}
	switch key := k.String(); key {
	case "/":
		in := newInput("/", "")
		h.input = &in
		return h.input.Focus()
	case "n":
		return h.next(m, -1)
	case "N":
		return h.next(m, 1)
	case "y":
		return copied(m, h.text(h.top, h.top+h.rows))
	case "Y":
		return copied(m, h.text(0, len(h.lines)))
	case "left":
		h.col = max(0, h.col-8)
	case "right":
		h.col += 8
	case "esc", "q", "h":
		if key == "esc" && h.search != "" {
			h.search, h.noMatch = "", false
			return nil
		}
		m.close()
	default:
		h.scroller.key(key)
	}
	return h.approach(m)
}

// inputKey is a key for the text to search.
func (h *history) inputKey(m *model, k tea.KeyPressMsg) (cmd tea.Cmd) {
	switch k.String() {
	case "esc":
		h.input = nil
	case "enter":
		h.search, h.input, h.noMatch = h.input.Value(), nil, false
		return h.next(m, 0)
	default:
		*h.input, cmd = h.input.Update(k)
	}
	return cmd
}

func (h *history) paste(_ *model, p tea.PasteMsg) (cmd tea.Cmd) {
	if h.input != nil {
		*h.input, cmd = h.input.Update(p)
	}
	return cmd
}

// next goes to a match: the newest that is shown or before (0), the next older one (-1) or
// the next newer one (1).
func (h *history) next(m *model, step int) tea.Cmd {
	if h.search == "" {
		return nil
	}
	at, by := h.top+h.rows-1, -1
	if i := h.index(h.match); step != 0 && i >= 0 {
		at = i + step
	}
	if step > 0 {
		by = 1
	}
	for at = min(at, len(h.lines)-1); at >= 0 && at < len(h.lines); at += by {
		if len(cells.Find(h.lines[at].Line, h.search, "")) > 0 {
			h.noMatch, h.match = false, h.lines[at].N
			h.show(h.match)
			return h.approach(m)
		}
	}
	if by > 0 || !h.more {
		h.noMatch = true
		return nil
	}
	return h.ask(m.source, fleet.Page{Before: h.first(), Lines: 1, Search: h.search})
}

// text is what rows show.
func (h *history) text(from, to int) string {
	var b strings.Builder
	for _, l := range h.lines[min(from, len(h.lines)):min(to, len(h.lines))] {
		b.WriteString(strings.TrimRight(lineText(l.Line), " "))
		if !l.Line.Wrapped {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// copied puts a text on the clipboard, which the terminal may refuse (OSC 52).
func copied(m *model, text string) tea.Cmd {
	m.note("copied "+plural(strings.Count(text, "\n"), "line", "lines"), false, false)
	return func() tea.Msg { return tellMsg(ansi.SetSystemClipboard(text)) }
}

func (*history) height(*model) int { return 0 }

func (h *history) draw(m *model, cols, rows int) ([]cells.Row, terminal.Cursor) {
	out := []cells.Row{m.rule(h.title(), cols)}
	body := rows - 1
	cursor := terminal.Cursor{}
	if h.input != nil {
		body--
	}
	h.fit(len(h.lines), body)
	for i := h.top; i < min(h.top+body, len(h.lines)); i++ {
		r := cells.At(0)
		l := h.lines[i].Line
		r.Line(m.colours, l, cells.Span{From: h.col, Cols: cols, Cursor: -1, Mark: cells.Find(l, h.search, m.theme.match)})
		out = append(out, r)
	}
	if h.input != nil {
		for len(out) < rows-1 {
			out = append(out, cells.Row{})
		}
		r, at := drawInput(h.input, cols)
		at.Row = len(out)
		out, cursor = append(out, r), at
	}
	return out, cursor
}

func (h *history) title() string {
	title := "History of " + h.name
	switch {
	case h.err != nil:
		title += ": " + h.err.Error()
	case h.noMatch:
		title += ": no further match of " + h.search
	case h.search != "":
		title += ": " + h.search
	case h.asking && len(h.lines) == 0:
		title += ": asking…"
	}
	return title
}

func (h *history) hints(*model) []hint {
	if h.input != nil {
		return []hint{{"enter", "search"}, {"esc", "back"}}
	}
	return []hint{{"↑↓", "scroll"}, {"/", "search"}, {"n N", "older, newer match"}, {"y Y", "copy what is shown, all"}, {"esc", "back"}}
}
