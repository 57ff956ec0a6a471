package view_test

import (
	"strings"
	"testing"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/view"
	"gascity.dev/gc/vt"
)

func message(text string, done bool) conversation.Item {
	return conversation.Item{Kind: conversation.Message, Text: text, Done: done}
}

func call(id, state string) conversation.Item {
	return conversation.Item{Kind: conversation.Call, Tool: &conversation.Tool{CallID: id, Kind: "execute", Title: id, Status: state}, Done: state == conversation.ToolCompleted}
}

// kept returns the scrollback after the frames.
func kept(t *testing.T, frames ...view.Frame) string {
	t.Helper()
	p := newPerson(t, 60, 20)
	for i, f := range frames {
		if i < len(frames)-1 {
			p.paint(f)
			continue
		}
		p.paint(f)
		p.term.Write(p.view.Close(f))
	}
	return strings.TrimRight(p.term.Text(vt.TextOptions{Join: true}), "\n")
}

func working(items ...conversation.Item) view.Frame {
	return view.Frame{State: "working", Items: items}
}

func idle(items ...conversation.Item) view.Frame { return view.Frame{State: "idle", Items: items} }

// TestScrollback: complete items are written once, in the order of their completion,
// and never into a message that is under way.
func TestScrollback(t *testing.T) {
	late := idle(message("c", true))
	late.First = 7
	for _, c := range []struct {
		name   string
		frames []view.Frame
		want   string
	}{
		{"a tool call ends within a message", []view.Frame{
			working(call("a", "in_progress"), message("one\ntw", false)),
			working(call("a", "completed"), message("one\ntwo", false)),
			working(call("a", "completed"), message("one\ntwo\nthree", true)),
		}, "one\ntwo\nthree\n⏺ execute a ✓"},
		{"a tool call outlasts what comes after it", []view.Frame{
			working(call("a", "in_progress"), call("b", "completed")),
			working(call("a", "completed"), call("b", "completed")),
		}, "⏺ execute b ✓\n⏺ execute a ✓"},
		{"a tool call ends after its turn", []view.Frame{
			working(call("a", "in_progress")), idle(call("a", "in_progress")), idle(call("a", "in_progress")), idle(call("a", "completed")),
		}, "⏺ execute a (no result)\n⏺ execute a ✓"},
		{"an unknown status", []view.Frame{working(call("a", "paused")), idle(call("a", "paused"))}, "⏺ execute a (paused)"},
		{"empty lines at the ends of messages", []view.Frame{
			working(message("\n", false)), working(message("\n\none\n\n", false)), working(message("\n\none\n\ntwo\n\n", false)), working(message("\n\none\n\ntwo\n\n", true), message("\n", true), message("three", true)),
		}, "one\n\ntwo\n\nthree"},
		{"an open message at the end", []view.Frame{idle(message("one\ntwo", false))}, "one\ntwo"},
		{"thoughts are not kept", []view.Frame{working(conversation.Item{Kind: conversation.Thought, Text: "hm"}), idle(conversation.Item{Kind: conversation.Thought, Text: "hm", Done: true})}, ""},
		{"dropped items", []view.Frame{working(message("a", true), message("b", true)), late}, "a\n\nb\n… 5 items came too fast to be shown\n\nc"},
		{"a plan that is done, and another one", []view.Frame{
			working(plan("completed", "in_progress")), working(plan("completed", "completed")), working(plan("completed", "completed")),
			idle(done(plan("completed", "completed"))), working(done(plan("completed", "completed")), plan("pending")),
		}, "[plan 2/2]\n[plan 0/1] step 1"},
	} {
		if got := kept(t, c.frames...); got != c.want {
			t.Errorf("%s:\n%s\n\nwant:\n%s", c.name, got, c.want)
		}
	}
}

func plan(states ...string) conversation.Item {
	it := conversation.Item{Kind: conversation.Plan}
	for i, s := range states {
		it.Plan = append(it.Plan, conversation.PlanEntry{Text: "step " + string(rune('1'+i)), Status: s})
	}
	return it
}
