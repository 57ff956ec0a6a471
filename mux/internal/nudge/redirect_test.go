package nudge

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/mux/api"
)

// TestRedirect: what a program does, before and after its interrupt, decides whether the
// message is typed and what the receipt says about the turn.
func TestRedirect(t *testing.T) {
	type doing = api.Activity
	working, idle := doing{State: status.Working}, doing{State: status.Idle}
	for name, c := range map[string]struct {
		does  doing
		then  doing // after the interrupt; the zero value changes nothing
		want  api.Receipt
		typed string
		keys  int // interrupts
		lost  int // interrupts without an effect
	}{
		"it works": {
			does: working, then: idle, keys: 1, typed: "hello\r",
			want: api.Receipt{State: api.Submitted, Typed: true, Interrupted: api.InterruptEnded},
		},
		"it does not stop": {
			does: working, keys: 2,
			want: api.Receipt{State: api.Blocked, By: api.ByTurn, Detail: "the agent is working after the interrupt, too", Interrupted: api.InterruptUnverified},
		},
		"it loses the first interrupt": {
			does: working, then: idle, lost: 1, keys: 2, typed: "hello\r",
			want: api.Receipt{State: api.Submitted, Typed: true, Interrupted: api.InterruptEnded},
		},
		"it works and then does not say what it does": {
			does: working, then: doing{State: status.Unknown}, keys: 1,
			want: api.Receipt{State: api.Blocked, By: api.ByTurn, Detail: "cannot tell whether the interrupt ended the turn", Interrupted: api.InterruptUnverified},
		},
		"it is idle": {
			does: idle, typed: "hello\r",
			want: api.Receipt{State: api.Submitted, Typed: true, Interrupted: api.InterruptNone},
		},
		"it asks for a permission": {
			does: doing{State: status.Blocked, Kind: status.Permission}, then: idle, keys: 1, typed: "hello\r",
			want: api.Receipt{State: api.Submitted, Typed: true, Interrupted: api.InterruptEnded},
		},
		"it asks whether to trust the directory": {
			does: doing{State: status.Blocked, Kind: rule.KindTrust, Evidence: "Do you trust it?"},
			want: api.Receipt{State: api.Blocked, By: "dialog", Detail: "Do you trust it?", Interrupted: api.InterruptNone},
		},
		"it wants a login afterwards": {
			does: working, then: doing{State: status.Blocked, Kind: status.Auth, Evidence: "log in"}, keys: 1,
			want: api.Receipt{State: api.Blocked, By: "dialog", Detail: "log in", Interrupted: api.InterruptUnverified},
		},
		"it starts": {
			does: doing{State: rule.StateStarting},
			want: api.Receipt{State: api.Blocked, By: api.ByStart, Detail: "the agent is starting", Interrupted: api.InterruptNone},
		},
		"nothing is known about it": {
			does: doing{State: status.Unknown}, keys: 1, typed: "hello\r",
			want: api.Receipt{State: api.Submitted, Typed: true, Interrupted: api.InterruptUnverified},
		},
		"nothing was known about it": {
			does: doing{State: status.Unknown}, then: idle, keys: 1, typed: "hello\r",
			want: api.Receipt{State: api.Submitted, Typed: true, Interrupted: api.InterruptEnded},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, echoes)
				f.does, f.then, f.lost = c.does, c.then, c.lost
				ns := New(f)
				rec, err := ns.Once(t.Context(), api.NudgeRequest{ID: "1", Text: "hello", Interrupt: true})
				if err != nil || rec != c.want {
					t.Errorf("%+v, %v; want %+v", rec, err, c.want)
				}
				if f.typed != c.typed || f.interrupts != c.keys {
					t.Errorf("typed %q after %d interrupts, want %q after %d", f.typed, f.interrupts, c.typed, c.keys)
				}
			})
		})
	}
}

// An agent that puts the message of the interrupted turn back into its composer gets the
// next one alone.
func TestRestoredMessageIsCleared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := true // to the first keys, as after an Escape
		f := newFake(t, func(typed string) string {
			if deaf && strings.HasPrefix(typed, "\x15") {
				deaf = false
				return ""
			}
			return strings.ReplaceAll(echoes(typed), "\x15", "\r\x1b[K> ")
		})
		f.program.Composer.Clear = []string{"C-u"}
		ns := New(f)
		if rec, err := ns.Once(t.Context(), api.NudgeRequest{ID: "1", Text: "the first way"}); err != nil || rec.State != api.Submitted {
			t.Fatalf("%+v, %v", rec, err)
		}
		f.Lock()
		ns.Interrupted()
		f.Unlock()
		f.show("the first way")
		rec, err := ns.Once(t.Context(), api.NudgeRequest{ID: "2", Text: "another way"})
		if err != nil || rec.State != api.Submitted || !strings.Contains(rec.Changed, "cleared") {
			t.Errorf("%+v, %v", rec, err)
		}
		if screen := f.term.ScreenText(); strings.Contains(screen, "the first wayanother") || !strings.Contains(screen, "> another way") {
			t.Errorf("it shows %q", screen)
		}
	})
}

// An agent that puts that message back only when the next one is being typed gets it alone, too;
// one that does not let its composer be cleared gets no Enter.
func TestRestoredLate(t *testing.T) {
	clear := strings.Repeat("\x15", 5) // two messages of a line
	for name, c := range map[string]struct {
		clears bool
		typed  string
		want   api.Receipt
	}{
		"cleared": {true, "the first way\ranother way" + clear + "another way\r",
			api.Receipt{State: api.Submitted, Typed: true, Changed: "an earlier unsubmitted message was cleared"}},
		"not cleared": {false, "the first way\ranother way" + strings.Repeat(clear, clearTries),
			api.Receipt{State: api.Drafted, Typed: true, Detail: "typed, not submitted: the message of the interrupted turn is in front of it"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				late := false
				f := newFake(t, func(typed string) string {
					switch {
					case typed == clear && c.clears:
						return "\r\x1b[K> "
					case typed == clear:
						return ""
					case late && typed == "another way":
						late = false
						return "the first way" + typed
					}
					return echoes(typed)
				})
				f.program.Composer.Clear = []string{"C-u"}
				ns := New(f)
				if rec, err := ns.Once(t.Context(), api.NudgeRequest{ID: "1", Text: "the first way"}); err != nil || rec.State != api.Submitted {
					t.Fatalf("%+v, %v", rec, err)
				}
				f.Lock()
				ns.Interrupted()
				f.Unlock()
				f.show("\x1b[2J\x1b[H> ")
				late = true
				rec, err := ns.Once(t.Context(), api.NudgeRequest{ID: "2", Text: "another way"})
				if err != nil || rec != c.want || f.typed != c.typed {
					t.Errorf("%+v, %v; typed %q; it shows %q", rec, err, f.typed, f.term.ScreenText())
				}
			})
		})
	}
}

// A message without an interrupt does not end the turn.
func TestNudgeEndsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, echoes)
		f.does = api.Activity{State: status.Working, Since: time.Now()}
		ns := New(f)
		rec, err := ns.Once(t.Context(), api.NudgeRequest{Text: "hello"})
		if err != nil || rec.State != api.Submitted || rec.Interrupted != "" || f.interrupts != 0 {
			t.Errorf("%+v, %v after %d interrupts", rec, err, f.interrupts)
		}
	})
}
