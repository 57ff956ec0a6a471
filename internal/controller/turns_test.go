package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

const speaker = `
[session]
provider = "acp"
[providers.speaker]
command = "speak"
acp_command = "speak --acp"
[[agents]]
name = "a"
provider = "speaker"
`

func hostedByACP(o *Options) { o.ProviderName = "acp" }

// events returns the events of a kind, as "why detail".
func (r *rig) events(kind string) (out []string) {
	r.t.Helper()
	synctest.Wait()
	list, err := r.l.store.Events(0, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range list {
		if e.Kind == kind {
			out = append(out, strings.TrimSpace(e.Why+" "+e.Detail))
		}
	}
	return out
}

// A start continues the conversation that the agent said it is in, also under the
// next controller.
func TestConversationOverACP(t *testing.T) {
	for mode, want := range map[string]string{"resume": "c1", "fresh": ""} {
		bubble(t, speaker+"wake_mode = \""+mode+"\"\n", func(r *rig) {
			resumed := func() string {
				synctest.Wait()
				cfg, _ := r.fake.ConfigOf("gc-city-a")
				return cfg.ResumeID
			}
			r.fake.SetConversation("gc-city-a", "c1")
			r.start(hostedByACP)
			r.wantState("a", api.StateRunning)
			if got := resumed(); got != "" {
				t.Errorf("first start resumes %q", got)
			}
			r.fake.Exit("gc-city-a", 1)
			r.wantState("a", api.StateRunning)
			if got := resumed(); got != want {
				t.Errorf("wake_mode %s: after a crash %q, want %q", mode, got, want)
			}
			r.end()
			r.fake.Exit("gc-city-a", 1)
			r.start(hostedByACP)
			r.wantState("a", api.StateRunning)
			if got := resumed(); got != want {
				t.Errorf("wake_mode %s: under the next controller %q, want %q", mode, got, want)
			}
			r.end()
		})
	}
}

// What followed the turns of an incarnation ends with it, even if a query failed meanwhile.
func TestTurnsAfterARestartAreEventsOnce(t *testing.T) {
	bubble(t, speaker, func(r *rig) {
		r.start(hostedByACP)
		r.wantState("a", api.StateRunning)
		r.fake.FailTimes("AwaitTurn", "gc-city-a", errors.New("no answer"), 1)
		r.fake.EndTurn("gc-city-a", runtime.Turn{ID: "m1", StopReason: "end_turn"})
		synctest.Wait()
		r.fake.Exit("gc-city-a", 1)
		r.wantState("a", api.StateRunning)
		time.Sleep(time.Minute)
		for _, id := range []string{"m2", "m3"} {
			r.fake.EndTurn("gc-city-a", runtime.Turn{ID: id, StopReason: "end_turn"})
			synctest.Wait()
		}
		if got := r.events(api.EventTurn); len(got) != 3 {
			t.Errorf("%d events: %q", len(got), got)
		}
		r.end()
	})
}

// Every end of a turn is an event, once: also for the next controller.
func TestTurnsAreEvents(t *testing.T) {
	bubble(t, speaker, func(r *rig) {
		r.start(hostedByACP)
		r.wantState("a", api.StateRunning)
		r.fake.EndTurn("gc-city-a", runtime.Turn{ID: "m1", StopReason: "end_turn", Duration: clock.Millis(3200 * time.Millisecond)})
		if got := r.events(api.EventTurn); len(got) != 1 || got[0] != "end_turn, 3.2s" {
			t.Errorf("events %q", got)
		}
		list, err := r.l.store.Events(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if last := list[len(list)-1]; last.Turn == nil || last.Turn.ID != "m1" || last.Agent != "a" {
			t.Errorf("event %+v", last)
		}
		r.end()
		r.fake.EndTurn("gc-city-a", runtime.Turn{ID: "m2", StopReason: "refusal", Error: "no\nway", Duration: clock.Millis(50 * time.Millisecond)})
		r.start(hostedByACP)
		r.wantState("a", api.StateRunning)
		if got := r.events(api.EventTurn); len(got) != 2 || !strings.HasPrefix(got[1], "refusal, no") {
			t.Errorf("after the controller's restart: %q", got)
		}
		r.end()
	})
}

// A start without a login is neither a crash nor repeated; a person or a new config
// is a new chance, and the conversation is kept.
func TestStartWithoutLogin(t *testing.T) {
	bubble(t, speaker, func(r *rig) {
		r.fake.SetConversation("gc-city-a", "c1")
		r.start(hostedByACP)
		r.wantState("a", api.StateRunning)
		blocked := &runtime.StartupBlocked{Session: "gc-city-a", Kind: runtime.BlockedAuth, Question: "method key: set THE_KEY", Screen: "no key"}
		r.fake.FailTimes("Start", "gc-city-a", blocked, 1)
		r.fake.Exit("gc-city-a", 1)
		a := r.wantState("a", api.StateStopped)
		if r.starts("gc-city-a") != 2 || !strings.HasSuffix(a.Error, "the agent requires authentication: method key: set THE_KEY") || a.Hint == "" || a.LastScreen != "no key" {
			t.Errorf("%d starts, %+v", r.starts("gc-city-a"), a)
		}
		if a.Activity != runtime.ActivityBlocked || a.ActivityInfo == nil || a.ActivityInfo.Kind != runtime.BlockedAuth {
			t.Errorf("activity %s %+v", a.Activity, a.ActivityInfo)
		}
		if got := r.events(api.EventStartFailed); len(got) != 1 {
			t.Errorf("events %q", got)
		}
		r.end()
		r.start(hostedByACP)
		r.wantState("a", api.StateStopped)
		time.Sleep(time.Hour)
		if r.starts("gc-city-a") != 2 {
			t.Errorf("%d starts without a request", r.starts("gc-city-a"))
		}
		if err := r.l.calls.Restart(context.Background(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		r.wantState("a", api.StateRunning)
		if cfg, _ := r.fake.ConfigOf("gc-city-a"); cfg.ResumeID != "c1" {
			t.Errorf("resumes %q", cfg.ResumeID)
		}
		r.end()
	})
}
