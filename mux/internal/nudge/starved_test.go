package nudge

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/mux/api"
)

// A resumed agent whose composer is at the terminal's cursor: the frame has no prefix.
const (
	resumed = "  ┃  an old message\r\n\r\n  An answer.\r\n"
	box     = "\r\n  ┃  \x1b7\r\n  ┃  Build\x1b8\x1b[?25h"
)

func frame(text string) string { return "\x1b[?2026h" + page(text) + "\x1b[?2026l" }

// slow is an agent that is painting a resumed conversation when the message comes, and
// shows the message after a while: in its composer, or in the conversation, since it has
// read Enter, too.
func slow(f *fake, after time.Duration, later ...string) func(string) string {
	f.program.Composer.Clear = []string{"C-u"}
	f.show(frame(box))
	entered := false
	return func(typed string) string {
		switch {
		case typed != "\r":
		case entered:
			return "" // it takes only one
		default:
			entered = true
			for i, text := range later {
				time.AfterFunc(time.Duration(i+1)*after, func() { f.show(frame(text)) })
			}
		}
		return frame(resumed + box)
	}
}

// TestLateMessage: a message that a busy agent shows late is submitted once it is above the
// composer. It is judged by what the agent shows, not by when, as long as it shows something.
func TestLateMessage(t *testing.T) {
	said := resumed + "\r\n  ┃  hello\r\n"
	draft := strings.Replace(box, "\x1b7", "hello\x1b7", 1)
	step := func(i int) string { return resumed + strings.Repeat(".", i) + box }
	for name, c := range map[string]struct {
		after time.Duration
		later []string
		want  api.Receipt
	}{
		"in the conversation": {2 * time.Second, []string{said + box}, api.Receipt{State: api.Submitted, Typed: true}},
		"after other frames": {3 * time.Second, []string{step(1), step(2), step(3), said + box},
			api.Receipt{State: api.Submitted, Typed: true}},
		"in the composer": {2 * time.Second, []string{resumed + draft},
			api.Receipt{State: api.Drafted, Typed: true, Detail: "the text is still on the cursor's line"}},
		"first in the composer": {2 * time.Second, []string{resumed + draft, said + box},
			api.Receipt{State: api.Submitted, Typed: true}},
		"never": {time.Second, []string{step(1), step(2)},
			api.Receipt{State: api.Unverified, Typed: true, Detail: "typed and entered; the text was never visible"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, nil)
				f.answers = slow(f, c.after, c.later...)
				began := time.Now()
				ns := New(f)
				rec, err := ns.Once(t.Context(), api.NudgeRequest{ID: "1", Text: "hello"})
				if err != nil || rec != c.want {
					t.Errorf("after %v: %+v, %v; want %+v; the screen:\n%s", time.Since(began), rec, err, c.want, f.term.ScreenText())
				}
				time.Sleep(time.Minute) // the frames that are still to come
			})
		})
	}
}
