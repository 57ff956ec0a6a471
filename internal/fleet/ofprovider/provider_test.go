package ofprovider

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/fleetfake"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// asking is a provider whose session asks a question.
type asking struct {
	*runtimefake.Fake
	question *runtime.Interaction
	answered []runtime.Answer
}

func (a *asking) Pending(context.Context, string) (*runtime.Interaction, error) {
	return a.question, nil
}

func (a *asking) Respond(_ context.Context, _ string, answer runtime.Answer) error {
	if answer.Text != "" {
		return runtime.ErrInteractionUnsupported
	}
	a.answered = append(a.answered, answer)
	return nil
}

func sessions(t *testing.T) (*asking, *Sessions) {
	t.Helper()
	p := &asking{Fake: runtimefake.New()}
	if err := p.Start(t.Context(), "s", runtime.Config{Command: "x"}); err != nil {
		t.Fatal(err)
	}
	return p, Open(p, new(fleetfake.Fleet))
}

func rowText(l screens.Row) (s string) {
	for _, r := range l.Line.Runs {
		s += r.Text
	}
	return s
}

// TestTextScreens: the screen of a session outside a multiplexer is text, read only while
// somebody looks, twice a second at most.
func TestTextScreens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := sessions(t)
		defer s.Close()
		p.SetPeek("s", "one\n漢\tx\x1b[31m")
		v, err := s.Screens(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Look([]screens.Look{{ID: "s"}}); err != nil {
			t.Fatal(err)
		}
		u, err := v.Next()
		if err != nil || !u.Plain || u.State != screens.Running || rowText(u.Changed[0]) != "one" || !strings.HasPrefix(rowText(u.Changed[1]), "漢") || strings.Contains(rowText(u.Changed[1]), "\x1b") {
			t.Fatalf("%+v, %v", u, err)
		}
		p.ForgetCalls()
		p.SetPeek("s", "two\n漢\tx")
		if u, err := v.Next(); err != nil || len(u.Changed) != 2 || rowText(u.Changed[0]) != "two" {
			t.Errorf("%+v, %v", u, err)
		}
		time.Sleep(10 * time.Second)
		if n := len(p.CallsOf("Peek", "s")); n < 10 || n > 25 {
			t.Errorf("%d reads in 10 s", n)
		}
		if err := p.Stop(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if u, err := v.Next(); err != nil || u.State != screens.Gone {
			t.Errorf("%+v, %v", u, err)
		}
		v.Close()
		synctest.Wait()
		p.ForgetCalls()
		time.Sleep(time.Minute)
		if calls := p.Calls(); len(calls) > 0 {
			t.Errorf("nobody looks: %+v", calls)
		}
	})
}

// TestAnswer: an answer reaches the question it is for, and no other.
func TestAnswer(t *testing.T) {
	p, s := sessions(t)
	defer s.Close()
	a := fleet.Answer{Request: "1", Option: "Yes"}
	if err := s.Answer(t.Context(), "s", a); !errors.Is(err, fleet.ErrChanged) {
		t.Errorf("no question: %v", err)
	}
	p.question = &runtime.Interaction{RequestID: "2", Prompt: "delete it?"}
	if err := s.Answer(t.Context(), "s", a); !errors.Is(err, fleet.ErrChanged) || !strings.Contains(err.Error(), "delete it?") {
		t.Errorf("another question: %v", err)
	}
	if len(p.answered) > 0 {
		t.Errorf("answered: %+v", p.answered)
	}
	a.Request = "2"
	if err := s.Answer(t.Context(), "s", a); err != nil || len(p.answered) != 1 || p.answered[0].RequestID != "2" || p.answered[0].Action != "Yes" {
		t.Errorf("%+v, %v", p.answered, err)
	}
	text := fleet.Answer{Request: "2", Text: "blue"}
	if err := s.Answer(t.Context(), "s", text); err != nil || len(p.CallsOf("Nudge", "s")) != 1 {
		t.Errorf("a text is typed: %v", err)
	}
	p.SetReceipt("s", runtime.Receipt{State: runtime.Drafted, Detail: "busy"})
	if err := s.Answer(t.Context(), "s", text); !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), "drafted") {
		t.Errorf("a text that is not submitted: %v", err)
	}
}

// TestCallsReachTheProvider: nudges, interrupts, histories; what needs a multiplexer says
// so.
func TestCallsReachTheProvider(t *testing.T) {
	p, s := sessions(t)
	defer s.Close()
	p.SetPeek("s", "a\nb\nc")
	if r, err := s.Nudge(t.Context(), "s", "hello"); err != nil || r.State != fleet.Submitted {
		t.Errorf("%+v, %v", r, err)
	}
	if err := s.Do(t.Context(), "s", fleet.Interrupt); err != nil {
		t.Error(err)
	}
	p.SetPeek("s", "a\nb\nc")
	h, err := s.History(t.Context(), "s", fleet.Page{Lines: 2})
	if err != nil || len(h.Lines) != 2 || h.Lines[1].N != 3 || !h.More {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := s.Recording(t.Context(), "s"); !errors.Is(err, fleet.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := s.Nudge(t.Context(), "none", "x"); !errors.Is(err, fleet.ErrNotFound) {
		t.Error(err)
	}
	var did []string
	for _, c := range p.Calls() {
		did = append(did, c.Method)
	}
	if !slices.Contains(did, "Nudge") || !slices.Contains(did, "Interrupt") {
		t.Errorf("%q", did)
	}
}

// TestAttach: a provider's terminal is a stream, whose Close detaches.
func TestAttach(t *testing.T) {
	p, s := sessions(t)
	defer s.Close()
	p.SetPeek("s", "the screen")
	term, err := s.Attach(t.Context(), "s", fleet.AttachOptions{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	if n, err := term.Read(buf); err != nil || string(buf[:n]) != "the screen" {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	if err := term.Resize(100, 30); err != nil {
		t.Error(err)
	}
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Attach(t.Context(), "none", fleet.AttachOptions{}); !errors.Is(err, fleet.ErrNotFound) {
		t.Error(err)
	}
}
