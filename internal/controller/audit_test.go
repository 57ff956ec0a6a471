package controller

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// audited returns the events of kinds, as "kind why: detail, by who".
func (r *rig) audited(kinds ...string) (out []string) {
	r.t.Helper()
	synctest.Wait()
	list, err := r.l.store.Events(0, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range list {
		if slices.Contains(kinds, e.Kind) {
			out = append(out, e.Kind+" "+e.Why+": "+e.Detail+", by "+e.By)
		}
	}
	return out
}

func wantLines(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// Whoever acts on an agent is named as far as the backend proves it; a blocked
// message that is tried again counts once.
func TestActsOnAgentsAreRecordedWithTheirActors(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		emit := func(e runtime.Event) { e.Session = "gc-city-a"; r.fake.Emit(e) }
		blocked := runtime.Event{
			Kind: runtime.EventNudged, Text: "hi", By: runtime.Actor{Terminal: "pts/3"}, Receipt: &runtime.Receipt{State: runtime.Blocked, By: "dialog"},
		}
		emit(blocked)
		emit(blocked)
		sent := blocked
		sent.Receipt = &runtime.Receipt{State: runtime.Submitted}
		emit(sent)
		emit(runtime.Event{Kind: runtime.EventInterrupted, By: runtime.Actor{Session: "gc-city-a", PID: 1}})
		emit(runtime.Event{Kind: runtime.EventInterrupted, By: runtime.Actor{PID: os.Getpid()}})
		emit(runtime.Event{Kind: runtime.EventAnswered, Text: "Yes", By: runtime.Actor{Session: "other"}})
		emit(runtime.Event{Kind: runtime.EventAnswered, Text: "No"})
		wantLines(t, r.audited(api.EventNudge, api.EventInterrupted, api.EventAnswered), []string{
			`nudge blocked: "hi", by terminal pts/3`,
			`nudge submitted: "hi", by terminal pts/3`,
			`interrupted : , by agent a`,
			`interrupted : , by controller`,
			`answered : "Yes", by session other`,
			`answered : "No", by unknown`,
		})
		r.end()
	})
}

// changing is a fake that reports a change every second.
type changing struct{ *runtimefake.Prompts }

func (changing) WaitFor(ctx context.Context, _ string, _ []runtime.Condition) (int, error) {
	return 0, clock.Sleep(ctx, time.Second)
}

// A question is recorded once, and what became of it: answered by someone, or gone.
func TestStatusAndQuestionsAreRecorded(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		p := runtimefake.NewPrompts()
		r.fake = p.Fake
		r.start(func(o *Options) { o.Provider = changing{p} })
		time.Sleep(time.Minute)
		if _, err := p.Nudge(t.Context(), "gc-city-a", runtime.TextContent("ASK execute Red Blue")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := p.Respond(t.Context(), "gc-city-a", runtime.Answer{Action: "Red"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		got := strings.Join(r.audited(api.EventStatus, api.EventQuestion), "\n")
		for _, want := range []string{"status blocked (execute): was idle", "question asked: ", "(Red | Blue), by ", "question gone: ", ", by unknown", "status idle: was "} {
			if strings.Count(got, want) == 0 {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
		if n := strings.Count(got, "question asked"); n != 1 {
			t.Errorf("the question was asked %d times:\n%s", n, got)
		}
		r.end()
	})
}

// An agent that was restarted has its changes recorded once: what followed its earlier
// incarnations has ended.
func TestChangesAfterRestartsAreRecordedOnce(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		p := runtimefake.NewPrompts()
		r.fake = p.Fake
		r.start(func(o *Options) { o.Provider = changing{p} })
		for range 3 {
			time.Sleep(time.Minute)
			r.fake.Exit("gc-city-a", 1)
		}
		time.Sleep(time.Minute)
		if n := r.starts("gc-city-a"); n != 4 {
			t.Fatalf("%d starts", n)
		}
		if _, err := p.Nudge(t.Context(), "gc-city-a", runtime.TextContent("ASK execute Red Blue")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		got := strings.Join(r.audited(api.EventStatus, api.EventQuestion), "\n")
		if n := strings.Count(got, "question asked"); n != 1 {
			t.Errorf("the question was asked %d times:\n%s", n, got)
		}
		if n := strings.Count(got, "status blocked"); n != 1 {
			t.Errorf("it was blocked %d times:\n%s", n, got)
		}
		r.end()
	})
}

// brief is a fake whose question comes and is answered at once, half a pause after the
// status was first queried: nothing changes later.
type brief struct {
	*runtimefake.Prompts
	asked *time.Time
}

func (b brief) Activity(context.Context, string) (runtime.Activity, error) {
	is := runtime.Activity{State: runtime.ActivityIdle, Source: "acp"}
	if b.asked.IsZero() {
		*b.asked = time.Now()
	}
	if time.Since(*b.asked) > statusPause/2 {
		is.Answered = &runtime.Answered{RequestID: "1", Option: "No", By: "person in attach"}
	}
	return is, nil
}

func (brief) WaitFor(ctx context.Context, _ string, _ []runtime.Condition) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// A question that was answered between two queries has its answer recorded.
func TestABriefQuestionIsRecorded(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		p := runtimefake.NewPrompts()
		r.fake = p.Fake
		r.start(func(o *Options) { o.Provider = brief{p, new(time.Time)} })
		time.Sleep(5 * time.Second)
		wantLines(t, r.audited(api.EventAnswered), []string{`answered : "No", by person in attach`})
		r.end()
	})
}
