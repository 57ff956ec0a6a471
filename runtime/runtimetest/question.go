package runtimetest

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gascity.dev/gc/runtime"
)

// asks starts an agent that asks for one of two colours.
func (t *T) asks() (name, dir string) {
	t.Helper()
	dir = t.TempDir()
	name = t.start(runtime.Config{WorkDir: dir, Command: t.script("a", dialogAgent) + " 0 'Which colour do you want?' 'Red' 'Blue'"})
	t.shows(name, "Enter to confirm")
	return name, dir
}

var questionCases = []testCase{
	{name: "a question on the screen is reported, with its options", needs: []need{programs, keys, exactPeek}, test: func(t *T) {
		p := extension[runtime.InteractionProvider](t)
		name, _ := t.asks()
		q, err := p.Pending(t.Ctx, name)
		t.must(err)
		if q == nil || q.Prompt != "Which colour do you want?" || !slices.Equal(q.Options, []string{"Red", "Blue"}) || q.RequestID == "" || q.Metadata["marked"] != "Red" {
			t.Fatalf("%+v", q)
		}
		a, err := extension[runtime.ActivityProvider](t).Activity(t.Ctx, name)
		if err != nil || a.State != runtime.ActivityBlocked || a.Pending == nil || a.Pending.RequestID != q.RequestID || !strings.Contains(a.Evidence, "colour") {
			t.Fatalf("%+v, %v", a, err)
		}
		plain := t.idle()
		if q, err := p.Pending(t.Ctx, plain); q != nil || err != nil {
			t.Fatalf("of cat: %+v, %v", q, err)
		}
		if _, err := p.Pending(t.Ctx, t.name()); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Fatalf("missing session: %v", err)
		}
	}},
	{name: "a question is answered, and no other one", needs: []need{programs, keys, exactPeek}, test: func(t *T) {
		p := extension[runtime.InteractionProvider](t)
		name, dir := t.asks()
		q, err := p.Pending(t.Ctx, name)
		t.must(err)
		for what, a := range map[string]runtime.Answer{
			"another question": {RequestID: "another", Action: "Blue"}, "no such option": {RequestID: q.RequestID, Action: "Green"},
		} {
			if err := p.Respond(t.Ctx, name, a); err == nil {
				t.Errorf("%s was answered", what)
			}
		}
		t.must(p.Respond(t.Ctx, name, runtime.Answer{RequestID: q.RequestID, Action: "Blue"}))
		if got := t.file(filepath.Join(dir, "answer")); got != "Blue" {
			t.Fatalf("answered %q", got)
		}
		if got := t.file(filepath.Join(dir, "keys")); strings.Count(got, "key:") != 2 {
			t.Fatalf("keys %q: one down, and Enter", got)
		}
		if err := p.Respond(t.Ctx, name, runtime.Answer{Action: "Red"}); err == nil {
			t.Error("nothing was asked, and it was answered")
		}
	}},
	{name: "an agent at its prompt is idle, with the reason", needs: []need{programs, keys, exactPeek}, test: func(t *T) {
		p := extension[runtime.ActivityProvider](t)
		name := t.start(runtime.Config{ReadyPromptPrefix: "agent> ", Command: "printf 'agent> '; exec cat"})
		t.eventually("idle", func() error {
			a, err := p.Activity(t.Ctx, name)
			if err == nil && a.State != runtime.ActivityIdle {
				err = fmt.Errorf("%+v", a)
			}
			return err
		})
		busy := t.start(runtime.Config{ReadyPromptPrefix: "agent> ", Command: "while :; do printf '\\ragent> '; sleep 0.1; done"})
		t.shows(busy, "agent>")
		if a, err := p.Activity(t.Ctx, busy); err != nil || a.State == runtime.ActivityIdle {
			t.Fatalf("one that prints: %+v, %v", a, err)
		}
	}},
}
