package view

import (
	"cmp"
	"fmt"
	"strings"

	"gascity.dev/gc/internal/acp/conversation"
)

// headline names a tool call: its kind, and the command, the title, a path or the id.
func headline(t *conversation.Tool) string {
	what := t.Title
	if t.Command != "" {
		what = t.Command
	}
	if what == "" && len(t.Locations) > 0 {
		what = t.Locations[0]
	}
	if what == "" {
		what = t.CallID
	}
	what, kind := oneLine(what, headlineBytes), oneLine(t.Kind, 40)
	if kind == "" || strings.HasPrefix(strings.ToLower(what), strings.ToLower(kind)) {
		return what
	}
	return strings.TrimSpace(kind + " " + what)
}

// ended reports whether a tool call has a final status.
func ended(t *conversation.Tool) bool {
	return t.Status == conversation.ToolCompleted || t.Status == conversation.ToolFailed
}

// statusMark returns the sign for a tool call's status.
func statusMark(status string) (mark, style string) {
	switch status {
	case conversation.ToolCompleted:
		return "✓", green
	case conversation.ToolFailed:
		return "✗", red
	case conversation.ToolPending, conversation.ToolRunning, "": // the turn ended before it did
		return "(no result)", dim
	}
	return "(" + oneLine(status, 40) + ")", dim
}

// toolLines returns a tool call as the conversation keeps it: its line, output and
// diffs. Those already shown are only counted.
func toolLines(t *conversation.Tool, diffsShown bool) []line {
	mark, style := statusMark(t.Status)
	head := line{text: callSign + headline(t), mark: mark, markStyle: style}
	diffs, counts := diffBlock(t.Diffs)
	head.text += counts
	out := append([]line{head}, outputBlock(t)...)
	if diffsShown {
		return out
	}
	if n := len(diffs); n > diffLines+1 {
		diffs = append(diffs[:diffLines], more("", n-diffLines))
	}
	return append(out, indented(diffs)...)
}

// outputBlock returns a tool call's output, at most outputLines of it: the beginning
// and the end, or only the end if the beginning is not known.
func outputBlock(t *conversation.Tool) []line {
	text := strings.Trim(t.Output, "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	head := outputLines / 2
	if t.Cut > 0 {
		head = 0
	}
	var out []line
	if len(lines) <= outputLines && t.Cut == 0 {
		out = styled(lines)
	} else {
		from := max(len(lines)-(outputLines-head), head)
		out = append(out, styled(lines[:head])...)
		out = append(out, more("", from-head+t.Cut))
		out = append(out, styled(lines[from:])...)
	}
	out = indented(out)
	out[0].text = outputSign + strings.TrimPrefix(out[0].text, indent)
	return out
}

func styled(texts []string) []line {
	out := make([]line, len(texts))
	for i, l := range texts {
		out[i] = line{text: shorten(l), style: dim}
	}
	return out
}

func indented(lines []line) []line {
	for i := range lines {
		lines[i].text = indent + lines[i].text
	}
	return lines
}

// diffBlock returns the unified diffs of a tool call, and " +n −m".
func diffBlock(diffs []conversation.Diff) (out []line, counts string) {
	if len(diffs) == 0 {
		return nil, ""
	}
	added, removed := 0, 0
	for _, d := range diffs {
		changes := diff(d.Old, d.New)
		a, r := count(changes)
		added, removed = added+a, removed+r
		if len(diffs) > 1 {
			out = append(out, line{text: shorten(oneLine(d.Path, headlineBytes)), style: bold})
		}
		out = append(out, unified(changes)...)
	}
	return out, fmt.Sprintf(" +%d −%d", added, removed)
}

// askedLines returns what a person must see of a tool call before answering, beyond
// one line: a long command, long arguments and all of its diffs. It is nil if there is nothing.
func askedLines(t *conversation.Tool) []line {
	diffs, counts := diffBlock(t.Diffs)
	head := headline(t)
	var out []line
	what := cmp.Or(t.Command, t.Arguments())
	if long := strings.Contains(what, "\n") || len(what) > askedBytes; long {
		for i, l := range strings.Split(strings.Trim(what, "\n"), "\n") {
			sign := indent
			if i == 0 && t.Command != "" {
				sign = "  $ "
			}
			out = append(out, line{text: sign + clean(l)})
		}
		head = cut(head, askedBytes)
	}
	if out = append(out, indented(diffs)...); len(out) == 0 {
		return nil
	}
	return append([]line{{text: callSign + head + counts, mark: "?", markStyle: bold}}, out...)
}

// askedBytes is how long a command or arguments may be to fit in a question's line.
const askedBytes = 160
