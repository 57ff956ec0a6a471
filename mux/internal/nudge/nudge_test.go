package nudge

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
)

// echoes shows what is typed, and begins a new prompt at Enter.
func echoes(typed string) string { return strings.ReplaceAll(typed, "\r", "\r\n> ") }

// TestReceipts: what a program shows decides the receipt, and a message is typed only when
// nothing is in the way.
func TestReceipts(t *testing.T) {
	for name, c := range map[string]struct {
		answers func(string) string
		before  func(f *fake)
		want    api.Receipt
		typed   string
	}{
		"a program that echoes": {
			answers: echoes,
			want:    api.Receipt{State: api.Submitted, Typed: true}, typed: "hello\r",
		},
		"one that shows nothing": {
			answers: func(string) string { return "" },
			want:    api.Receipt{State: api.Unverified, Typed: true, Detail: "typed and entered; the text was never visible"}, typed: "hello\r",
		},
		"one that ignores Enter": {
			answers: func(typed string) string { return strings.TrimSuffix(typed, "\r") },
			want:    api.Receipt{State: api.Drafted, Typed: true, Detail: "the text is still on the cursor's line"}, typed: "hello\r\r",
		},
		"one that reads nothing": {
			want: api.Receipt{State: api.Refused, Detail: ErrStuck.Error()},
		},
		"one that reads a part": {
			before: func(f *fake) { f.takes = 2 },
			want:   api.Receipt{State: api.Refused, Typed: true, Detail: ErrStuck.Error() + ": it took 2 of 5 bytes"}, typed: "he",
		},
		"a dialog": {
			answers: echoes,
			before:  func(f *fake) { f.show("\r\nDo you want to proceed?\r\n❯ 1. Yes\r\n  2. No\r\n") },
			want:    api.Receipt{State: api.Blocked, By: "dialog", Detail: "Do you want to proceed?"},
		},
		"a person's draft": {
			answers: echoes,
			before:  func(f *fake) { f.person = true },
			want:    api.Receipt{State: api.Blocked, By: "draft", Detail: "a person is typing"},
		},
		"a question that is believed for a moment after it went": {
			answers: echoes,
			before:  func(f *fake) { f.held = time.Now().Add(100 * time.Millisecond) },
			want:    api.Receipt{State: api.Submitted, Typed: true}, typed: "hello\r",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, c.answers)
				if c.before != nil {
					c.before(f)
				}
				ns := New(f)
				rec, err := ns.Once(t.Context(), api.NudgeRequest{ID: "1", Text: "hello"})
				if err != nil || rec != c.want {
					t.Errorf("%+v, %v; want %+v", rec, err, c.want)
				}
				if f.typed != c.typed {
					t.Errorf("typed %q, want %q", f.typed, c.typed)
				}
				if len(f.nudged) != 1 || f.nudged[0] != rec {
					t.Errorf("published: %+v", f.nudged)
				}
			})
		})
	}
}

// TestUnsubmittedIsNotTypedAfter: a message that is in the composer, not
// submitted, blocks the next one until it is cleared.
func TestUnsubmittedIsNotTypedAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, func(typed string) string {
			return strings.ReplaceAll(strings.ReplaceAll(typed, "\r", ""), "\x15", "\r\x1b[K> ")
		})
		ns := New(f)
		send := func(id string) api.Receipt {
			t.Helper()
			rec, err := ns.Once(t.Context(), api.NudgeRequest{ID: id, Text: "message " + id})
			if err != nil {
				t.Fatal(err)
			}
			return rec
		}
		if rec := send("1"); rec.State != api.Drafted {
			t.Fatalf("%+v", rec)
		}
		if rec := send("2"); rec.State != api.Blocked || rec.By != "draft" {
			t.Errorf("after it: %+v", rec)
		}
		f.program.Composer.Clear = []string{"C-u"}
		f.answers = func(typed string) string { return strings.ReplaceAll(echoes(typed), "\x15", "\r\x1b[K> ") }
		if rec := send("3"); rec.State != api.Submitted || !strings.Contains(rec.Changed, "cleared") {
			t.Errorf("once it can be cleared: %+v", rec)
		}
		if screen := f.term.ScreenText(); strings.Contains(screen, "message 1") || !strings.Contains(screen, "message 3") {
			t.Errorf("it shows %q", screen)
		}
	})
}

// TestNudgeOfADeadServer: wherever the server was killed, the next one finishes the message
// and types no byte twice. The receipt is that of its id from then on.
func TestNudgeOfADeadServer(t *testing.T) {
	for name, taken := range map[string]int{"before the first byte": 0, "in the middle": 3, "before Enter": 5} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, nil) // its terminal takes some bytes and then the server dies
				f.takes = taken
				dead := New(f)
				if rec, err := dead.Once(t.Context(), api.NudgeRequest{ID: "1", Text: "hello"}); err != nil || rec.State == api.Submitted {
					t.Fatalf("%+v, %v", rec, err)
				}
				m := f.journal.Nudge(journal.NudgeKey("1")) // as the dead server left it
				if m == nil {
					m = f.journal.OldestNudge()
				}
				m.ID.Store(journal.NudgeKey("1"))
				m.Stage.Store(journal.StageTyping)
				f.show(f.typed) // the program has read it
				f.answers = echoes
				ns := New(f)
				finish := ns.Claim()
				if finish == nil {
					t.Fatal("nothing is to be finished")
				}
				outcome := ns.Begun("1")
				finish(t.Context())
				if rec, err := outcome(t.Context()); err != nil || rec.State != api.Submitted {
					t.Errorf("%+v, %v", rec, err)
				}
				if f.typed != "hello\r" {
					t.Errorf("typed %q", f.typed)
				}
				if rec, err := ns.Once(t.Context(), api.NudgeRequest{ID: "1", Text: "hello"}); err != nil || rec.State != api.Submitted || f.typed != "hello\r" {
					t.Errorf("again: %+v, %v; typed %q", rec, err, f.typed)
				}
			})
		})
	}
}
