package view_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/view"
	"gascity.dev/gc/vt"
)

// story is a random conversation.
type story struct {
	t     *rapid.T
	texts *rapid.Generator[string]
	frame view.Frame
	total int
	tools map[string]*conversation.Tool
}

func newStory(t *rapid.T, texts *rapid.Generator[string]) *story {
	return &story{t: t, texts: texts, frame: view.Frame{State: "idle"}, tools: map[string]*conversation.Tool{}}
}

func (s *story) text() string { return s.texts.Draw(s.t, "text") }

func (s *story) add(it conversation.Item) {
	s.total++
	it.ID = fmt.Sprint(s.total)
	items := slices.Clone(s.frame.Items)
	if n := len(items); n > 0 && (items[n-1].Kind == conversation.Message || items[n-1].Kind == conversation.Thought) {
		items[n-1].Done = true
	}
	s.frame.Items = append(items, it)
}

// change changes the last item that fits.
func (s *story) change(fits func(*conversation.Item) bool, f func(*conversation.Item)) {
	items := slices.Clone(s.frame.Items)
	for i := len(items) - 1; i >= 0; i-- {
		if fits(&items[i]) {
			f(&items[i])
			break
		}
	}
	s.frame.Items = items
}

func (s *story) tool(it *conversation.Item, f func(*conversation.Tool)) {
	t := *it.Tool
	f(&t)
	it.Tool = &t
}

func running(it *conversation.Item) bool {
	return it.Kind == conversation.Call && it.Tool.Status == conversation.ToolRunning
}

// next is one more moment.
func (s *story) next() {
	isLastText := func(it *conversation.Item) bool {
		last := &s.frame.Items[len(s.frame.Items)-1]
		return it.ID == last.ID && !it.Done && (it.Kind == conversation.Message || it.Kind == conversation.Thought)
	}
	switch rapid.IntRange(0, 13).Draw(s.t, "what") {
	case 0:
		s.frame.State = "working"
		s.add(conversation.Item{Kind: conversation.Prompt, Text: s.text(), Done: true})
	case 1:
		s.add(conversation.Item{Kind: conversation.Message, Text: s.text()})
	case 2:
		s.add(conversation.Item{Kind: conversation.Thought, Text: s.text()})
	case 3, 4, 5, 6:
		s.change(isLastText, func(it *conversation.Item) { it.Text += s.text() })
	case 7:
		s.add(conversation.Item{Kind: conversation.Call, Tool: &conversation.Tool{CallID: s.text(), Kind: "execute", Title: s.text(), Status: conversation.ToolRunning}})
	case 8:
		s.change(running, func(it *conversation.Item) {
			s.tool(it, func(t *conversation.Tool) { t.Output += s.text() + "\n" })
		})
	case 9:
		s.change(running, func(it *conversation.Item) {
			s.tool(it, func(t *conversation.Tool) {
				t.Status, t.Diffs = conversation.ToolCompleted, []conversation.Diff{{Path: s.text(), Old: s.text(), New: s.text()}}
			})
		})
	case 10:
		s.frame.Question = &conversation.Question{
			ID: fmt.Sprint("q", s.total), Kind: "permission", Title: s.text(),
			Tool:    &conversation.Tool{Title: s.text(), Command: s.text()},
			Options: []conversation.Option{{Label: "Yes", Kind: "allow_once"}, {Label: s.text()}},
		}
	case 11:
		s.frame.Question = nil
	case 12:
		s.frame.State = rapid.SampledFrom([]string{"idle", "working", "blocked"}).Draw(s.t, "state")
		s.frame.Mode = s.text()
	case 13:
		plan := conversation.Item{Kind: conversation.Plan, Plan: []conversation.PlanEntry{{Text: s.text(), Status: "in_progress"}, {Text: s.text()}}}
		if s.frame.Items == nil || !slices.ContainsFunc(s.frame.Items, func(it conversation.Item) bool { return it.Kind == conversation.Plan }) {
			s.add(plan)
			return
		}
		s.change(func(it *conversation.Item) bool { return it.Kind == conversation.Plan }, func(it *conversation.Item) { it.Plan = plan.Plan })
	}
}

var words = rapid.StringOfN(rapid.SampledFrom([]rune("ab cdefg\n 漢é👍\t")), 0, 60, -1)

// TestNothingDoubles: whatever happened before, and however often the terminal changed
// its size, scrollback and screen are what they are without.
func TestNothingDoubles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const cols, rows = 30, 40
		p, plain := newPerson(t, cols, rows), newPerson(t, cols, rows)
		s := newStory(t, words)
		for range rapid.IntRange(1, 30).Draw(t, "moments") {
			s.next()
			if rapid.IntRange(0, 9).Draw(t, "typed") == 0 {
				key := rapid.SampledFrom([]string{"x", "漢", "\x1b[D", "\x1b[200~a b\nc\x1b[201~", "\x7f", "a long draft that takes more rows than one "}).Draw(t, "key")
				p.view.Input([]byte(key))
				plain.view.Input([]byte(key))
			}
			p.paint(s.frame)
			plain.paint(s.frame)
			for range rapid.IntRange(0, 2).Draw(t, "resizes") {
				p.resize(rapid.IntRange(20, 60).Draw(t, "cols"), rapid.IntRange(10, 60).Draw(t, "rows"))
			}
		}
		p.resize(cols, rows)
		p.paint(s.frame)
		if got, want := joined(p), joined(plain); got != want {
			t.Fatalf("after resizes:\n%s\n\nwithout:\n%s", got, want)
		}
	})
}

func joined(p *person) string {
	c := p.term.Cursor()
	return p.term.Text(vt.TextOptions{Join: true}) + fmt.Sprintf("\ncursor %d", c.Col)
}

// TestOnlyOwnSequences: whatever the texts hold, the output has no control sequence
// but the view's own, and the live region never exceeds the screen.
func TestOnlyOwnSequences(t *testing.T) {
	hostile := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a\x1b[]m2J;?47h\x07\x9b\u0085\u202e\u2028\u200b\x00\x7f\r\n\t\b\U000e0041\ufffd"))),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		cols, rows := rapid.IntRange(2, 30).Draw(t, "cols"), rapid.IntRange(1, 12).Draw(t, "rows")
		v := view.New(cols, rows)
		s := newStory(t, hostile)
		for range rapid.IntRange(1, 20).Draw(t, "moments") {
			s.next()
			s.frame.Line = s.text()
			v.Input([]byte(s.text()))
			checkSequences(t, v.Paint(s.frame), rows)
		}
		checkSequences(t, v.Close(s.frame), rows)
	})
}

// own are the view's sequences, as CSI parameters and final byte.
var own = regexp.MustCompile(`^\x1b\[(\?2026[hl]|\?2004[hl]|J|2K|[0-9]+[ABC]|[0-9]*m)`)

func checkSequences(t *rapid.T, out []byte, rows int) {
	text := string(out)
	if !utf8.ValidString(text) {
		t.Fatalf("not UTF-8: %q", text)
	}
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		if r == 0x1b {
			if n = len(own.FindString(text)); n == 0 {
				t.Fatalf("foreign sequence: %.20q", text)
			}
			if up, ok := strings.CutSuffix(text[2:n], "A"); ok {
				if k, _ := strconv.Atoi(up); k >= rows {
					t.Fatalf("the cursor goes up by %d rows of %d", k, rows)
				}
			}
		} else if unicode.IsControl(r) && r != '\r' && r != '\n' {
			t.Fatalf("control character: %.20q", text)
		} else if r == '\u202e' || r == '\u2028' {
			t.Fatalf("invisible character: %.20q", text)
		}
		text = text[n:]
	}
}

// TestPaintOfTheSame: an unchanged frame is not painted.
func TestPaintOfTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := view.New(40, 12)
		s := newStory(t, words)
		for range rapid.IntRange(1, 20).Draw(t, "moments") {
			s.next()
			v.Paint(s.frame)
			if again := v.Paint(s.frame); again != nil {
				t.Fatalf("painted again: %q", again)
			}
		}
	})
}

// TestRepaint: painting only what changes leaves the screen that painting everything
// leaves.
func TestRepaint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cols, rows := rapid.IntRange(2, 60).Draw(t, "cols"), rapid.IntRange(1, 20).Draw(t, "rows")
		p, whole := newPerson(t, cols, rows), newPerson(t, cols, rows)
		s := newStory(t, words)
		for range rapid.IntRange(1, 30).Draw(t, "moments") {
			s.next()
			p.paint(s.frame)
			whole.view.Input([]byte{'L' & 0x1f})
			whole.paint(s.frame)
		}
		if got, want := p.sees(), whole.sees(); got != want {
			t.Fatalf("painted in parts:\n%s\n\npainted whole:\n%s", got, want)
		}
	})
}
