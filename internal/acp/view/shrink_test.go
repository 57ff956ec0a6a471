package view_test

import (
	"fmt"
	"testing"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/view"
)

// TestSmallerThanTheRegion: the scrollback of a terminal that becomes too low for the live
// region has no row of that region. It has every line of the conversation once, also what is
// said meanwhile. When the terminal grows again, it shows what it showed before.
func TestSmallerThanTheRegion(t *testing.T) {
	for _, rows := range []int{2, 3, 5, 8} {
		said := func(n int) view.Frame {
			f := view.Frame{State: "blocked", Question: &conversation.Question{ID: "q", Kind: "question", Title: "which?"}}
			for _, label := range []string{"A", "B", "C", "D", "E", "F"} {
				f.Question.Options = append(f.Question.Options, conversation.Option{Label: label})
			}
			for i := range n {
				f.Items = append(f.Items, conversation.Item{ID: fmt.Sprint(i), Kind: conversation.Notice, Text: fmt.Sprint("line ", i), Done: true})
			}
			return f
		}
		p, plain := newPerson(t, 40, 14), newPerson(t, 40, 14)
		for _, n := range []int{12, 15} {
			p.paint(said(n - 1))
			p.resize(40, rows)
			p.paint(said(n - 1))
			p.paint(said(n))
			small := newPerson(t, 40, rows)
			small.paint(said(n))
			if got, want := p.sees(), small.sees(); got != want {
				t.Errorf("%d rows:\n%s\nwant\n%s", rows, got, want)
			}
			p.resize(40, 14)
			p.paint(said(n))
			plain.paint(said(n))
			if got, want := p.sees(), plain.sees(); got != want {
				t.Errorf("after %d rows:\n%s\nwant\n%s", rows, got, want)
			}
		}
	}
}
