package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// The cases for providers whose nudges reach a program (Capabilities.Prompts). Their
// harness starts a test agent, internal/acp/acpsh, that runs the case's command: a
// message is a line of its standard input, and its output is what the agent says.
// Two messages are for the agent itself: "HOLD" begins a turn that lasts until it is
// cancelled, "ASK KIND LABEL…" one that asks a question and then says "chose LABEL".

// FakePrompts is Fake for such a provider.
func FakePrompts() Harness {
	f := runtimefake.NewPrompts()
	h := fakeHarness(f.Fake)
	h.Provider = f
	h.Reopen = func(*testing.T) runtime.Provider { return f }
	return h
}

// notForPrompts returns the names of the cases that are about a terminal.
func notForPrompts(c runtime.Capabilities) (names []string) {
	for _, one := range cases() {
		if slices.ContainsFunc(one.needs, func(n need) bool { return !n.has(c) && slices.Contains(ofTerminals, n.name) }) {
			names = append(names, one.name)
		}
	}
	return names
}

// ofTerminals are the capabilities that such a provider lacks by its nature.
var ofTerminals = []string{keys.name, keyModes.name, exactPeek.name, terminal.name, relaunches.name}

// submit delivers a message that must be taken.
func (t *T) submit(name, text string) {
	t.Helper()
	r, err := t.P.Nudge(t.Ctx, name, runtime.TextContent(text))
	if err != nil || r.State != runtime.Submitted {
		t.Fatalf("nudge %q: %+v, %v", text, r, err)
	}
}

// does waits until the agent does something.
func (t *T) does(name, state string) runtime.Activity {
	t.Helper()
	p := extension[runtime.ActivityProvider](t)
	var a runtime.Activity
	t.eventually("waiting for an agent that is "+state, func() (err error) {
		if a, err = p.Activity(t.Ctx, name); err == nil && a.State != state {
			err = fmt.Errorf("%+v", a)
		}
		return err
	})
	return a
}

// question lets the agent ask and returns its question.
func (t *T) question(name string, labels ...string) *runtime.Interaction {
	t.Helper()
	t.submit(name, "ASK permission "+strings.Join(labels, " "))
	t.does(name, runtime.ActivityBlocked)
	q, err := extension[runtime.InteractionProvider](t).Pending(t.Ctx, name)
	if err != nil || q == nil {
		t.Fatalf("question %+v, %v", q, err)
	}
	return q
}

// answer answers the agent's question.
func (t *T) answer(name string, a runtime.Answer) error {
	t.Helper()
	return extension[runtime.InteractionProvider](t).Respond(t.Ctx, name, a)
}

// inOrder checks that the session shows the texts one after the other.
func (t *T) inOrder(name string, texts ...string) {
	t.Helper()
	screen := t.peek(name)
	at := 0
	for _, text := range texts {
		i := strings.Index(screen[at:], text)
		if i < 0 {
			t.Fatalf("%q is missing, or too early: %q", text, tail(screen))
		}
		at += i + len(text)
	}
}

var promptCases = []testCase{
	{name: "messages are taken in order", needs: []need{prompts}, test: func(t *T) {
		name := t.idle()
		var want []string
		for i := range 5 {
			text := fmt.Sprintf("message-%d", i)
			t.submit(name, text)
			want = append(want, text)
		}
		t.shows(name, want[4])
		t.inOrder(name, want...)
	}},
	{name: "a message waits for the end of the turn", needs: []need{prompts}, test: func(t *T) {
		name := t.idle()
		q := t.question(name, "Red", "Blue")
		done := make(chan error, 1)
		go func() {
			r, err := t.P.Nudge(t.Ctx, name, runtime.TextContent("the later one"))
			if err == nil && r.State != runtime.Submitted {
				err = fmt.Errorf("%+v", r)
			}
			done <- err
		}()
		t.must(t.answer(name, runtime.Answer{RequestID: q.RequestID, Action: "Blue"}))
		t.must(<-done)
		t.shows(name, "the later one")
		t.inOrder(name, "chose Blue", "the later one")
	}},
	{name: "an immediate message is blocked by a turn and by a question", needs: []need{prompts}, test: func(t *T) {
		now := extension[runtime.ImmediateNudgeProvider](t)
		name := t.idle()
		blocked := func(by string) {
			t.Helper()
			r, err := now.NudgeNow(t.Ctx, name, runtime.TextContent("not taken"))
			if err != nil || r.State != runtime.Blocked || r.By != by || r.Detail == "" {
				t.Fatalf("%+v, %v; want blocked by %s", r, err, by)
			}
		}
		t.submit(name, "HOLD")
		t.does(name, runtime.ActivityWorking)
		blocked("turn")
		t.must(t.P.Interrupt(t.Ctx, name))
		t.does(name, runtime.ActivityIdle)
		t.question(name, "Red", "Blue")
		blocked("question")
		t.must(t.answer(name, runtime.Answer{Action: "Red"}))
		t.does(name, runtime.ActivityIdle)
		if r, err := now.NudgeNow(t.Ctx, name, runtime.TextContent("at once")); err != nil || r.State != runtime.Submitted {
			t.Fatalf("idle: %+v, %v", r, err)
		}
		t.shows(name, "at once")
		if strings.Contains(t.peek(name), "not taken") {
			t.Error("a blocked message was delivered")
		}
		if _, err := now.NudgeNow(t.Ctx, t.name(), runtime.TextContent("x")); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Errorf("missing session: %v", err)
		}
	}},
	{name: "a message that interrupts comes before those that wait", needs: []need{prompts}, test: func(t *T) {
		redirect := extension[runtime.InterruptNudgeProvider](t)
		name := t.idle()
		takes := func(text, interrupted string) {
			t.Helper()
			r, err := redirect.NudgeInterrupt(t.Ctx, name, runtime.TextContent(text))
			if err != nil || r.State != runtime.Submitted || r.Interrupted != interrupted {
				t.Fatalf("%s: %+v, %v; want submitted, %s", text, r, err, interrupted)
			}
			t.shows(name, text)
			t.does(name, runtime.ActivityIdle)
		}
		takes("nothing to end", runtime.InterruptNone)
		t.submit(name, "HOLD")
		t.does(name, runtime.ActivityWorking)
		takes("after the turn", runtime.InterruptEnded)
		t.question(name, "Red", "Blue")
		takes("after the question", runtime.InterruptEnded)
		if strings.Contains(t.peek(name), "chose") {
			t.Error("the question was answered")
		}
		if _, err := redirect.NudgeInterrupt(t.Ctx, t.name(), runtime.TextContent("x")); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Errorf("missing session: %v", err)
		}
	}},
	{name: "a message that waits is taken back with its context", needs: []need{prompts}, test: func(t *T) {
		name := t.idle()
		t.submit(name, "HOLD")
		t.does(name, runtime.ActivityWorking)
		ctx, cancel := context.WithTimeout(t.Ctx, 200*time.Millisecond)
		defer cancel()
		if r, err := t.P.Nudge(ctx, name, runtime.TextContent("never mind")); err != nil || r.State != runtime.Blocked || r.By != "turn" {
			t.Fatalf("%+v, %v", r, err)
		}
		t.must(t.P.Interrupt(t.Ctx, name))
		t.submit(name, "afterwards")
		t.shows(name, "afterwards")
		if strings.Contains(t.peek(name), "never mind") {
			t.Error("it was delivered")
		}
	}},
	{name: "an empty message is refused", needs: []need{prompts}, test: func(t *T) {
		if r, err := t.P.Nudge(t.Ctx, t.idle(), runtime.TextContent(" \n")); err != nil || r.State != runtime.Refused || r.Detail == "" {
			t.Fatalf("%+v, %v", r, err)
		}
	}},
	{name: "an agent is idle, works and asks", needs: []need{prompts}, test: func(t *T) {
		name := t.idle()
		if a := t.does(name, runtime.ActivityIdle); a.Source == "" || a.Evidence == "" {
			t.Errorf("%+v", a)
		}
		t.submit(name, "HOLD")
		t.does(name, runtime.ActivityWorking)
		t.must(t.P.Interrupt(t.Ctx, name))
		t.does(name, runtime.ActivityIdle)
		q := t.question(name, "Red", "Blue")
		a := t.does(name, runtime.ActivityBlocked)
		if a.Kind != runtime.BlockedPermission || a.Pending == nil || a.Pending.RequestID != q.RequestID {
			t.Errorf("%+v", a)
		}
		if _, err := extension[runtime.ActivityProvider](t).Activity(t.Ctx, t.name()); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Errorf("missing session: %v", err)
		}
	}},
	{name: "the agent's question is answered by a whole label, and no other one", needs: []need{prompts}, test: func(t *T) {
		name := t.idle()
		p := extension[runtime.InteractionProvider](t)
		if q, err := p.Pending(t.Ctx, name); q != nil || err != nil {
			t.Fatalf("before: %+v, %v", q, err)
		}
		first := t.question(name, "Red", "Blue")
		if first.RequestID == "" || first.Kind != runtime.BlockedPermission || first.Prompt == "" || !slices.Equal(first.Options, []string{"Red", "Blue"}) {
			t.Fatalf("%+v", first)
		}
		for what, a := range map[string]runtime.Answer{
			"another question": {RequestID: "another", Action: "Blue"}, "an unknown label": {RequestID: first.RequestID, Action: "Green"},
			"part of a label": {RequestID: first.RequestID, Action: "Bl"},
		} {
			if err := t.answer(name, a); !errors.Is(err, runtime.ErrQuestion) {
				t.Errorf("%s: %v", what, err)
			}
		}
		t.must(t.answer(name, runtime.Answer{RequestID: first.RequestID, Action: "Blue"}))
		t.shows(name, "chose Blue")
		second := t.question(name, "Red", "Blue")
		if second.RequestID == first.RequestID {
			t.Fatalf("two questions have the id %s", first.RequestID)
		}
		if err := t.answer(name, runtime.Answer{RequestID: first.RequestID, Action: "Red"}); !errors.Is(err, runtime.ErrQuestion) {
			t.Errorf("a question of before: %v", err)
		}
		t.must(t.answer(name, runtime.Answer{Action: "Red"}))
		t.shows(name, "chose Red")
		t.does(name, runtime.ActivityIdle)
		if err := t.answer(name, runtime.Answer{Action: "Red"}); !errors.Is(err, runtime.ErrQuestion) {
			t.Errorf("without a question: %v", err)
		}
	}},
	{name: "an interrupt ends the turn, at a boundary", needs: []need{prompts}, test: func(t *T) {
		w := extension[runtime.InterruptBoundaryWaitProvider](t)
		name := t.idle()
		t.must(w.WaitForInterruptBoundary(t.Ctx, name, time.Now(), effectLimit))
		t.submit(name, "HOLD")
		t.does(name, runtime.ActivityWorking)
		if err := w.WaitForInterruptBoundary(t.Ctx, name, time.Now(), 100*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("while it runs: %v", err)
		}
		since := time.Now()
		t.must(t.P.Interrupt(t.Ctx, name))
		t.must(w.WaitForInterruptBoundary(t.Ctx, name, since, effectLimit))
		t.does(name, runtime.ActivityIdle)
		t.running(name, true)
		if err := w.WaitForInterruptBoundary(t.Ctx, t.name(), since, effectLimit); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Errorf("missing session: %v", err)
		}
	}},
	{name: "an interrupt takes the question back", needs: []need{prompts}, test: func(t *T) {
		name := t.idle()
		q := t.question(name, "Red", "Blue")
		t.must(t.P.Interrupt(t.Ctx, name))
		t.does(name, runtime.ActivityIdle)
		if err := t.answer(name, runtime.Answer{RequestID: q.RequestID, Action: "Red"}); !errors.Is(err, runtime.ErrQuestion) {
			t.Errorf("its answer: %v", err)
		}
		t.submit(name, "the next one")
		t.shows(name, "the next one")
		if strings.Contains(t.peek(name), "chose") {
			t.Error("the question was answered")
		}
	}},
	{name: "a reset ends the interrupted turn", needs: []need{prompts}, test: func(t *T) {
		r := extension[runtime.InterruptedTurnResetProvider](t)
		name := t.idle()
		t.must(r.ResetInterruptedTurn(t.Ctx, name))
		t.submit(name, "HOLD")
		t.must(r.ResetInterruptedTurn(t.Ctx, name))
		t.does(name, runtime.ActivityIdle)
		t.submit(name, "another turn")
		t.shows(name, "another turn")
		if err := r.ResetInterruptedTurn(t.Ctx, t.name()); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Errorf("missing session: %v", err)
		}
	}},
	{name: "the end of each turn is reported, with its reason", needs: []need{prompts}, test: func(t *T) {
		p := extension[runtime.TurnProvider](t)
		name := t.idle()
		t.submit(name, "hello")
		first, err := p.AwaitTurn(t.Ctx, name, 0)
		if err != nil || first.N < 1 || first.StopReason != "end_turn" || first.Ended.IsZero() {
			t.Fatalf("%+v, %v", first, err)
		}
		t.submit(name, "HOLD")
		t.must(t.P.Interrupt(t.Ctx, name))
		second, err := p.AwaitTurn(t.Ctx, name, first.N)
		if err != nil || second.N != first.N+1 || second.StopReason != "cancelled" {
			t.Fatalf("%+v, %v", second, err)
		}
	}},
	{name: "waiting for idle ends with the turn", needs: []need{prompts}, test: func(t *T) {
		w := extension[runtime.IdleWaitProvider](t)
		name := t.idle()
		t.must(w.WaitForIdle(t.Ctx, name, effectLimit))
		t.question(name, "Red", "Blue")
		if err := w.WaitForIdle(t.Ctx, name, 100*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("with a question: %v", err)
		}
		t.must(t.answer(name, runtime.Answer{Action: "Red"}))
		t.must(w.WaitForIdle(t.Ctx, name, effectLimit))
	}},
	{name: "a conversation has an id", needs: []need{prompts}, test: func(t *T) {
		p := extension[runtime.ConversationProvider](t)
		a, b := t.idle(), t.idle()
		id, err := p.Conversation(t.Ctx, a)
		if err != nil || id == "" {
			t.Fatalf("%q, %v", id, err)
		}
		if again, err := p.Conversation(t.Ctx, a); err != nil || again != id {
			t.Errorf("%q, then %q, %v", id, again, err)
		}
		if other, err := p.Conversation(t.Ctx, b); err != nil || other == id {
			t.Errorf("another session has %q, too (%v)", other, err)
		}
		if _, err := p.Conversation(t.Ctx, t.name()); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Errorf("missing session: %v", err)
		}
	}},
	{name: "mode and model are set by name", needs: []need{prompts}, test: func(t *T) {
		p := extension[runtime.ModeProvider](t)
		name := t.idle()
		t.must(p.SetMode(t.Ctx, name, "code", ""))
		t.must(p.SetMode(t.Ctx, name, "ask", "large"))
		for _, v := range [][2]string{{"nonsense", ""}, {"", "nonsense"}} {
			err := p.SetMode(t.Ctx, name, v[0], v[1])
			if valid := map[bool]string{true: "code", false: "large"}[v[0] != ""]; err == nil || !strings.Contains(err.Error(), valid) {
				t.Errorf("%q: %v, want an error that lists %s", v, err, valid)
			}
		}
		if err := p.SetMode(t.Ctx, t.name(), "code", ""); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Errorf("missing session: %v", err)
		}
	}},
}
