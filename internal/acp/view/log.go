package view

import (
	"fmt"
	"strings"

	"gascity.dev/gc/internal/acp/conversation"
)

// log decides which items are written into the scrollback, and when. What was written
// stays as it is, so an item is written once it is complete, whatever began before
// it. A message is written line by line; meanwhile the others wait.
type log struct {
	first   int             // number of the item that written[0] is about; those before are settled
	written []record        // of the items from first on
	open    int             // number of the message that is under way; -1: none
	any     bool            // something was written
	asking  string          // id of the question whose details were written
	asked   map[string]bool // tool calls whose diffs were written with a question, by CallID
}

// record is the written part of an item.
type record struct {
	bytes   int    // Message: how much of its text
	line    string // Plan, Call: its line
	settled bool   // nothing more will come
}

func newLog() log { return log{open: -1, asked: map[string]bool{}} }

// take returns the lines that have become final.
func (g *log) take(f *Frame) []line {
	var out []line
	if lost := g.follow(f); lost > 0 {
		out, g.any = append(out, line{text: fmt.Sprintf("… %d items came too fast to be shown", lost), style: dim}), true
	}
	out = append(out, g.pass(f)...)
	out = append(out, g.pass(f)...) // items that waited for a message
	out = append(out, g.ask(f)...)
	out = append(out, g.pass(f)...) // items that waited for a message that the question ended
	for len(g.written) > 0 && g.written[0].settled {
		g.written, g.first = g.written[1:], g.first+1
	}
	return out
}

// follow makes the records those of the frame's items. It returns how many items were
// dropped before any frame had them.
func (g *log) follow(f *Frame) (lost int) {
	if drop := min(f.First-g.first, len(g.written)); drop > 0 {
		g.written, g.first = g.written[drop:], g.first+drop
	}
	lost = max(f.First-g.first, 0)
	g.first += lost
	if g.open < g.first {
		g.open = -1
	}
	for g.first+len(g.written) < f.First+len(f.Items) {
		g.written = append(g.written, record{})
	}
	return lost
}

// pass goes over all items once.
func (g *log) pass(f *Frame) (out []line) {
	for i := range g.written {
		number, r := g.first+i, &g.written[i]
		at := number - f.First
		if r.settled || at >= len(f.Items) || g.open >= 0 && g.open != number {
			continue
		}
		it := &f.Items[at]
		begins := r.bytes == 0
		lines := g.advance(it, number, f.idle(), at == len(f.Items)-1)
		if len(lines) > 0 && begins && g.any && (it.Kind == conversation.Prompt || it.Kind == conversation.Message) {
			out = append(out, line{})
		}
		out = append(out, lines...)
		g.any = g.any || len(lines) > 0
	}
	return out
}

// advance returns the lines of an item that have become final. idle: no turn runs;
// last: no item follows.
func (g *log) advance(it *conversation.Item, number int, idle, last bool) []line {
	complete, r := it.Done || idle && !last, &g.written[number-g.first]
	switch it.Kind {
	case conversation.Message:
		return g.message(it, number, complete)
	case conversation.Call:
		return g.call(it.Tool, r, idle || it.Done)
	case conversation.Plan:
		r.settled = it.Done
		return g.plan(it.Plan, r, idle || it.Done)
	case conversation.Thought: // shown only while it lasts
		r.settled = complete
		return nil
	}
	if !complete && !idle && last {
		return nil
	}
	r.settled = true
	if it.Kind == conversation.Prompt {
		return promptLinesOf(it)
	}
	return noticeLines(it)
}

// message returns the complete lines of a message. Blanks at its beginning and empty
// lines at its end are left out.
func (g *log) message(it *conversation.Item, number int, complete bool) []line {
	r := &g.written[number-g.first]
	rest := g.rest(it, r)
	text := strings.TrimRight(rest, "\n")
	if complete {
		r.bytes, r.settled, g.open = len(it.Text), it.Done, -1
	} else {
		n := strings.LastIndexByte(text, '\n')
		if n < 0 {
			return nil
		}
		text = text[:n]
		r.bytes, g.open = len(it.Text)-len(rest)+n+1, number
	}
	if text == "" {
		return nil
	}
	return textLines(text)
}

// rest returns the unwritten part of a message.
func (g *log) rest(it *conversation.Item, r *record) string {
	rest := it.Text[min(r.bytes, len(it.Text)):]
	if r.bytes == 0 {
		rest = strings.TrimLeft(rest, "\n ")
	}
	return rest
}

func textLines(text string) []line {
	var out []line
	for l := range strings.SplitSeq(clean(text), "\n") {
		out = append(out, line{text: strings.TrimRight(l, " ")})
	}
	return out
}

// call returns the lines of a tool call that has ended, and if final is set of one
// that has not: it is written again when it ends.
func (g *log) call(t *conversation.Tool, r *record, final bool) []line {
	switch {
	case t == nil:
		r.settled = true
		return nil
	case ended(t):
		r.settled = true
		shown := g.asked[t.CallID]
		delete(g.asked, t.CallID)
		return toolLines(t, shown)
	case final && r.line == "":
		out := toolLines(t, g.asked[t.CallID])
		r.line = out[0].plain()
		return out
	}
	return nil
}

// plan returns the line of a plan that is complete or final.
func (g *log) plan(plan []conversation.PlanEntry, r *record, final bool) []line {
	text := planLine(plan)
	if len(plan) == 0 || r.line == text || !final && !allDone(plan) {
		return nil
	}
	r.line = text
	return []line{{text: text}}
}

func allDone(plan []conversation.PlanEntry) bool {
	for _, e := range plan {
		if e.Status != "completed" {
			return false
		}
	}
	return true
}

// ask returns the subject of a new question that does not fit in a line.
func (g *log) ask(f *Frame) []line {
	q := f.Question
	if q == nil || q.ID == g.asking {
		return nil
	}
	g.asking = q.ID
	if q.Tool == nil {
		return nil
	}
	lines := askedLines(q.Tool)
	if lines == nil {
		return nil
	}
	if len(q.Tool.Diffs) > 0 {
		g.asked[q.Tool.CallID] = true
	}
	g.any = true
	if g.open >= 0 { // the line that is under way comes first
		lines = append(g.message(&f.Items[g.open-f.First], g.open, true), lines...)
	}
	return lines
}
