package nudge

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/mux/api"
)

// What an agent shows that resumes a conversation: its composer, then the conversation
// without a composer, where the last message looks like one, then both.
const (
	edge     = "────────────────────────────────────────\r\n"
	footer   = edge + " ~/city   no sandbox   Auto"
	empty    = edge + " >   Type your message or @path/to/file\r\n" + footer
	history  = edge + " > an old message\r\n" + edge + "✦ An answer.\r\n"
	resuming = history + "⠋ Resuming session...\r\n ~/city   no sandbox   Auto"
)

func page(text string) string { return "\x1b[?25l\x1b[2J\x1b[H" + text }

// replays is an agent that loses the Enter of a message, since it replays a conversation
// then. Its composer comes back with the message after a while, and takes the next Enter.
func replays(f *fake, after time.Duration) func(string) string {
	f.program.Ready = "> "
	f.program.Composer.Resumed = []string{"✦ ", "> "}
	f.show(page(empty))
	enters := 0
	return func(typed string) string {
		switch {
		case typed != "\r":
			return page(edge + " > " + typed + "\r\n" + footer)
		case enters > 0:
			return page(history + empty)
		}
		enters++
		if after > 0 {
			time.AfterFunc(after, func() { f.show(page(history + edge + " > hello\r\n" + footer)) })
		}
		return page(resuming)
	}
}

// TestReplayedConversationIsNoSubmission: a line of the conversation that looks like the
// composer does not show that the message was submitted.
func TestReplayedConversationIsNoSubmission(t *testing.T) {
	for name, c := range map[string]struct {
		back  time.Duration // the composer; 0: never
		want  string
		typed string
	}{
		"the composer comes back with it": {300 * time.Millisecond, api.Submitted, "hello\r\r"},
		"the composer stays away":         {0, api.Unverified, "hello\r"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, nil)
				f.answers = replays(f, c.back)
				f.does = api.Activity{State: api.ActivityIdle}
				ns := New(f)
				rec, err := ns.Once(t.Context(), api.NudgeRequest{ID: "1", Text: "hello"})
				if err != nil || rec.State != c.want || f.typed != c.typed {
					t.Errorf("%+v, %v; typed %q; want %s and %q", rec, err, f.typed, c.want, c.typed)
				}
			})
		})
	}
}

// TestHasResumed: a resumed conversation is there once it is above the composer, and none
// of it below.
func TestHasResumed(t *testing.T) {
	for screen, want := range map[string]bool{empty: false, resuming: false, history + empty: true, "": false} {
		f := newFake(t, nil)
		f.program.Ready, f.program.Composer.Resumed = "> ", []string{"✦ ", "> "}
		f.show(page(screen))
		if got := (Screen{f.term, f.program}).HasResumed(); got != want {
			t.Errorf("%v, want %v:\n%s", got, want, strings.ReplaceAll(screen, "\r", ""))
		}
	}
}
