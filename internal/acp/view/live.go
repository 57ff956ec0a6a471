package view

import (
	"strings"

	"gascity.dev/gc/internal/acp/conversation"
)

// liveOutput is how many lines of a running tool call's output are shown.
const liveOutput = 3

// live returns the rows of the items that are not yet written, at most limit: the
// last ones.
func (v *View) live(f *Frame, limit int) []line {
	var rows []line
	for i := len(v.log.written) - 1; i >= 0 && len(rows) < limit; i-- {
		at := v.log.first + i - f.First
		if r := &v.log.written[i]; !r.settled && at < len(f.Items) {
			rows = append(v.liveItem(&f.Items[at], r, f, limit), rows...)
		}
	}
	return rows[max(len(rows)-limit, 0):]
}

func (v *View) liveItem(it *conversation.Item, r *record, f *Frame, limit int) []line {
	switch it.Kind {
	case conversation.Thought:
		if f.idle() || it.Done {
			return nil
		}
		return []line{{text: cut(thoughtLine(it.Text), v.cols), style: dim}}
	case conversation.Message:
		return v.liveMessage(it, r, limit)
	case conversation.Call:
		return v.liveCall(it.Tool, r, f)
	case conversation.Prompt:
		return v.fitted(promptLinesOf(it))
	case conversation.Notice:
		return v.fitted(noticeLines(it))
	}
	return nil // the plan has a row of its own
}

// liveMessage returns the last rows of the unwritten part of a message.
func (v *View) liveMessage(it *conversation.Item, r *record, limit int) []line {
	rest := strings.TrimRight(v.log.rest(it, r), "\n")
	if rest == "" {
		return nil
	}
	var rows []line
	if r.bytes == 0 && v.log.any {
		rows = append(rows, line{})
	}
	for l := range strings.SplitSeq(clean(tail(rest, 4*limit*v.cols)), "\n") {
		for _, row := range wrap(l, v.cols) {
			rows = append(rows, line{text: row})
		}
	}
	return rows[max(len(rows)-limit, 0):]
}

// liveCall returns the row of a tool call, and the end of its output while it runs.
func (v *View) liveCall(t *conversation.Tool, r *record, f *Frame) []line {
	switch {
	case t == nil, r.line != "":
		return nil
	case f.Question != nil && f.Question.Tool != nil && f.Question.Tool.CallID == t.CallID && !ended(t):
		return nil // the question names it
	}
	mark, style := "…", dim
	if ended(t) {
		mark, style = statusMark(t.Status)
	}
	rows := []line{{text: cut(callSign+headline(t), v.cols-2), mark: mark, markStyle: style}}
	text := strings.TrimRight(tail(t.Output, liveOutput*lineBytes), "\n ")
	if ended(t) || text == "" {
		return rows
	}
	lines := strings.Split(text, "\n")
	return append(rows, v.fitted(indented(styled(lines[max(len(lines)-liveOutput, 0):])))...)
}

// fitted cuts lines to the width of the screen.
func (v *View) fitted(lines []line) []line {
	for i := range lines {
		lines[i].text = cut(lines[i].text, v.cols)
	}
	return lines
}

// livePlan returns the row of the plan that the turn works on.
func (v *View) livePlan(f *Frame) []line {
	for i := len(f.Items) - 1; i >= 0; i-- {
		if it := &f.Items[i]; it.Kind == conversation.Plan && len(it.Plan) > 0 {
			if f.idle() || allDone(it.Plan) {
				return nil
			}
			return []line{{text: cut(planLine(it.Plan), v.cols)}}
		}
	}
	return nil
}
