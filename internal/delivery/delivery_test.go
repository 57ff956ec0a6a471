package delivery

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var (
	t0     = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	policy = Policy{Lease: 30 * time.Second, FirstPause: time.Second, MaxPause: time.Minute, Lifetime: 24 * time.Hour}
)

// Whatever happens in whatever order, a delivery becomes final once, a refused
// transition changes nothing, and what may have been typed is typed again only
// after a report that it was not submitted.
func TestProgressIsTypedOnceAndEndsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Progress{State: Pending, Created: t0, Updated: t0}
		now, typed := t0, 0 // typed: since the last Retry
		steps := map[string]func() error{
			"lease":    func() error { return p.Acquire(policy, now) },
			"inject":   func() error { return p.Inject("b", "", now) },
			"deliver":  func() error { return p.Deliver(now, "") },
			"retry":    func() error { return p.Retry(policy, now, "why") },
			"postpone": func() error { return p.Postpone(policy, now, "why") },
			"consume":  func() error { return p.Consume(now) },
			"drop":     func() error { return p.Drop(now) },
			"give up":  func() error { return p.GiveUp(now, "why") },
			"recover":  func() error { p.Recover(now); return nil },
		}
		verbs := []string{"lease", "inject", "deliver", "retry", "postpone", "consume", "drop", "give up", "recover"}
		for range 40 {
			now = now.Add(time.Duration(rapid.Int64Range(-3600, 3600).Draw(t, "seconds")) * time.Second)
			before, verb := p, rapid.SampledFrom(verbs).Draw(t, "verb")
			err := steps[verb]()
			if err != nil && (!errors.Is(err, ErrState) || p != before) {
				t.Fatalf("%s of %s: %v, now %+v", verb, before.State, err, p)
			}
			if before.State.Final() && p.State != before.State && p.State != Dropped {
				t.Fatalf("%s made what was %s %s", verb, before.State, p.State)
			}
			if before.State == Injecting && p.State == Dropped || before.State == Injecting && p.State == Consumed {
				t.Fatalf("%s of what may have been typed", verb)
			}
			if err == nil && verb == "inject" {
				if typed++; typed > 1 {
					t.Fatal("typed twice without a retry")
				}
			}
			if err == nil && verb == "retry" {
				typed = 0
			}
			if p.State == Delivered && typed == 0 {
				t.Fatal("delivered what was never typed")
			}
		}
	})
}

func TestPausesDoubleUpToTheMost(t *testing.T) {
	p, now := Progress{State: Pending, Created: t0}, t0
	var pauses []string
	for range 8 {
		if err := errors.Join(p.Acquire(policy, now), p.Retry(policy, now, "busy")); err != nil {
			t.Fatal(err)
		}
		pauses = append(pauses, p.Next.Sub(now).String())
		now = p.Next
	}
	if got := strings.Join(pauses, " "); got != "1s 2s 4s 8s 16s 32s 1m0s 1m0s" {
		t.Errorf("pauses %s", got)
	}
}

// A message that was submitted is delivered even if the caller gives up meanwhile.
func TestSubmittedCountsWhenTheCallerGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := Attempt{Agent: &terminal{outcome: Outcome{Result: Submitted}, typing: cancel}}
	if got, _, err := a.Type(ctx, "hello"); got != Delivered || err != nil {
		t.Errorf("submitted: %s, %v", got, err)
	}
	a = Attempt{Agent: &terminal{outcome: Outcome{Result: Unverified}, typing: cancel}}
	if got, _, err := a.Type(ctx, "hello"); got != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("unverified: %s, %v", got, err)
	}
}

// terminal is an agent with a composer on the last line.
type terminal struct {
	history, draft string
	outcome        Outcome
	err            error
	keys           bool // it takes them
	stuck          bool // Enter submits nothing
	gone           bool // its session has ended; the screen is kept
	pressed        []string
	typing         func() // called by Type; may be nil
}

func (a *terminal) AwaitIdle(context.Context) error { return nil }

func (a *terminal) Type(_ context.Context, text string) (Outcome, error) {
	if a.typing != nil {
		a.typing()
	}
	if a.err == nil && a.outcome.Result != NotSubmitted {
		a.history += text + "\n"
	}
	return a.outcome, a.err
}

func (a *terminal) Screen(context.Context, int) (string, error) {
	return a.history + "> " + a.draft, nil
}

func (a *terminal) CursorLine(context.Context) (string, bool, error) { return "", false, nil }

func (a *terminal) Press(_ context.Context, key string) error {
	a.pressed = append(a.pressed, key)
	switch {
	case a.gone:
		return ErrGone
	case !a.keys:
		return ErrNoKeys
	case key == "C-u":
		a.draft = ""
	case !a.stuck:
		a.history, a.draft = a.history+a.draft+"\n", ""
	}
	return nil
}

func TestAttemptFindsTheFateOfAMessage(t *testing.T) {
	tests := []struct {
		name  string
		agent terminal
		typed bool // by this attempt; else an earlier one may have
		want  State
		keys  string
	}{
		{"submitted", terminal{outcome: Outcome{Result: Submitted}}, true, Delivered, ""},
		{"unverified, and shown", terminal{outcome: Outcome{Result: Unverified}}, true, Delivered, ""},
		{"refused", terminal{outcome: Outcome{Result: NotSubmitted}}, true, Pending, ""},
		{"taken back, and in the history", terminal{outcome: Outcome{Result: Withdrawn}}, true, Pending, ""},
		{"the session is gone", terminal{err: ErrGone}, true, Pending, ""},
		{"an error, and nothing shown", terminal{err: errors.New("broken pipe")}, true, Dead, ""},
		{"an error, and shown", terminal{err: errors.New("broken pipe"), history: "hello [tag 1]\n"}, true, Delivered, ""},
		{"an earlier one, not shown", terminal{}, false, Pending, ""},
		{"an earlier one, wrapped", terminal{history: "hello [ta\ng 1]\n"}, false, Delivered, ""},
		{"an earlier one, a draft", terminal{draft: "hello [tag 1]", keys: true}, false, Delivered, "Enter"},
		{"an earlier one, a draft that stays", terminal{draft: "hello [tag 1]", keys: true, stuck: true}, false, Pending, "Enter C-u"},
		{"an earlier one, a draft without keys", terminal{draft: "hello [tag 1]"}, false, Dead, "Enter"},
		{"a draft that a dead session left", terminal{draft: "hello [tag 1]", gone: true}, false, Pending, "Enter"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := Attempt{Agent: &tt.agent, Tags: []string{"[tag 1]"}}
				var got State
				var err error
				if tt.typed {
					got, _, err = a.Type(t.Context(), "hello [tag 1]")
				} else {
					got, _, err = a.Resolve(t.Context(), Pending, "")
				}
				if keys := strings.Join(tt.agent.pressed, " "); err != nil || got != tt.want || keys != tt.keys {
					t.Errorf("%s %v, keys %q", got, err, keys)
				}
			})
		})
	}
}
