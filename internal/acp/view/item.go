package view

import (
	"fmt"
	"strings"

	"gascity.dev/gc/internal/acp/conversation"
)

// Limits of one item on the screen.
const (
	outputLines   = 20   // of a tool call's output
	promptLines   = 20   // of a prompt
	diffLines     = 40   // of a tool call's diffs, unless they are asked about
	lineBytes     = 2000 // of a line of output or of a prompt
	headlineBytes = 400
)

// Prefixes of lines.
const (
	promptSign  = "› "
	thoughtSign = "~ "
	callSign    = "⏺ "
	noticeSign  = "· "
	outputSign  = "  ⎿ "
	indent      = "    "
)

// person is the author of input typed on this terminal.
const person = "person"

// promptLinesOf returns a prompt's lines.
func promptLinesOf(it *conversation.Item) []line {
	by := ""
	if it.By != "" && it.By != person {
		by = "[" + oneLine(it.By, 100) + "] "
	}
	text := strings.Trim(it.Text, "\n")
	var out []line
	for i, l := range strings.SplitN(text, "\n", promptLines+1) {
		switch {
		case i == 0:
			out = append(out, line{text: promptSign + by + shorten(l), style: bold})
		case i == promptLines:
			out = append(out, more("  ", strings.Count(text, "\n")+1-promptLines))
		default:
			out = append(out, line{text: "  " + shorten(l), style: bold})
		}
	}
	return out
}

// noticeLines returns the lines of a message from the host.
func noticeLines(it *conversation.Item) []line {
	by := ""
	if it.By != "" {
		by = " (" + oneLine(it.By, 100) + ")"
	}
	var out []line
	for i, l := range strings.Split(strings.Trim(it.Text, "\n"), "\n") {
		sign := "  "
		if i == 0 {
			sign = noticeSign
		}
		out = append(out, line{text: sign + shorten(l), style: dim})
	}
	out[len(out)-1].text += by
	return out
}

// shorten returns a line clean and not too long.
func shorten(text string) string {
	if len(text) <= lineBytes {
		return clean(text)
	}
	return clean(strings.ToValidUTF8(text[:lineBytes], "")) + "…"
}

func more(prefix string, n int) line {
	noun := "lines"
	if n == 1 {
		noun = "line"
	}
	return line{text: fmt.Sprintf("%s… %d more %s", prefix, n, noun), style: dim}
}

// planLine returns the plan's line: how much is done, and the step that is under way
// or comes next.
func planLine(plan []conversation.PlanEntry) string {
	done, step := 0, ""
	for _, e := range plan {
		switch {
		case e.Status == "completed":
			done++
		case step == "", e.Status == "in_progress":
			step = e.Text
		}
	}
	return strings.TrimSpace(fmt.Sprintf("[plan %d/%d] %s", done, len(plan), oneLine(step, headlineBytes)))
}

// thoughtLine returns the line that an open thought is at.
func thoughtLine(text string) string {
	text = strings.TrimRight(tail(text, lineBytes), "\n")
	return thoughtSign + clean(text[strings.LastIndexByte(text, '\n')+1:])
}
