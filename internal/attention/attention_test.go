package attention

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// acting is a running agent with an activity.
func acting(name string, a runtime.Activity) api.AgentStatus {
	began := at(-60)
	return api.AgentStatus{Name: name, Session: "s-" + name, State: api.StateRunning, Since: &began, Activity: a.State, ActivityInfo: &a}
}

func TestOf(t *testing.T) {
	began := at(1)
	agents := []api.AgentStatus{
		acting("idle", runtime.Activity{State: runtime.ActivityIdle, Since: at(0)}),
		acting("busy", runtime.Activity{State: runtime.ActivityWorking, Since: at(0)}),
		{Name: "resting", State: api.StateSuspended},
		{Name: "off", State: api.StateStopped},
		{Name: "blind", State: api.StateRunning},
		acting("asks", runtime.Activity{State: runtime.ActivityBlocked, Kind: runtime.BlockedPermission, Since: at(9), Pending: &runtime.Interaction{
			RequestID: "r1", Prompt: "run\nrm?", Options: []string{"Yes", "No"},
		}}),
		acting("hints", runtime.Activity{State: runtime.ActivityBlocked, Kind: runtime.BlockedQuestion, Since: at(8), Evidence: "rule menu: 1. Yes"}),
		acting("locked", runtime.Activity{State: runtime.ActivityBlocked, Kind: runtime.BlockedAuth, Since: at(7)}),
		acting("limited", runtime.Activity{State: runtime.ActivityBlocked, Kind: runtime.BlockedRateLimit, Since: at(6), Evidence: "try again at 5pm"}),
		acting("spent", runtime.Activity{State: runtime.ActivityBlocked, Kind: runtime.BlockedRateLimit, Since: at(10), Evidence: "rule usage",
			Limit: &runtime.Limit{Until: at(90), Text: "resets 3pm"}}),
		acting("broke", runtime.Activity{State: runtime.ActivityIdle, Since: at(11), Limit: &runtime.Limit{Text: "spend limit"}}),
		acting("done", runtime.Activity{State: runtime.ActivityDone, Since: at(5)}),
		acting("stuck", runtime.Activity{State: runtime.ActivityStuck, Since: at(4)}),
		acting("error", runtime.Activity{State: runtime.ActivityError, Since: at(3), Evidence: "500"}),
		{Name: "dead", State: api.StateCrashed, Since: &began, Restarts: 2, Error: "cannot start\nit"},
		{Name: "tired", State: api.StateQuarantined, Restarts: 5, LastExit: &runtime.Exit{Code: 3}},
		{Name: "login", State: api.StateStopped, Since: &began, Error: "log in", Hint: "log in, then gc restart login"},
		{Name: "away", Host: "ssh://x", State: api.StateUnknown, Since: &began, Error: "not connected"},
	}
	nudges := []session.Nudge{
		{ID: "7", Agent: "idle", Text: "do\nit", State: session.NudgeDead, Detail: "expired", Created: at(0), Ended: at(2)},
		{ID: "8", Agent: "idle", Text: "later", State: session.NudgeQueued, Created: at(0)},
	}
	ends := []process.Delivery{
		{Event: "e1", Session: "c1", Owner: "s-idle", Progress: delivery.Progress{State: process.Dead, Detail: "no answer\nin a day", Updated: at(12)}},
		{Event: "e2", Session: "c2", Owner: "s-idle", Progress: delivery.Progress{State: process.Delivered}},
		{Event: "e3", Session: "c3", Owner: "another city's", Progress: delivery.Progress{State: process.Dead}},
	}
	want := []api.Attention{
		{ID: "lost/away", Kind: "lost", Agent: "away", Host: "ssh://x", Since: at(1), Text: "not connected", Hint: "gc doctor"},
		{ID: "crashed/dead/2", Kind: "crashed", Agent: "dead", Since: at(1), Text: "cannot start it", Hint: "gc restart dead"},
		{ID: "failing/login/log in", Kind: "failing", Agent: "login", Since: at(1), Text: "log in", Hint: "log in, then gc restart login"},
		{ID: "dead-letter/7", Kind: "dead-letter", Agent: "idle", Since: at(2), Text: `message "do it" was given up: expired`, Hint: "gc nudge drop 7"},
		{Kind: "error", Agent: "error", Since: at(3), Text: "500", Hint: "gc peek error"},
		{Kind: "stuck", Agent: "stuck", Since: at(4), Text: "it says that it works, and nothing moves", Hint: "gc peek stuck"},
		{Kind: "done", Agent: "done", Since: at(5), Text: "nobody has looked at what it did", Hint: "gc peek done"},
		{Kind: "limited", Agent: "limited", Since: at(6), Text: "try again at 5pm", Hint: "gc peek limited"},
		{Kind: "login", Agent: "locked", Since: at(7), Text: "it waits for an answer", Hint: "gc attach locked"},
		{Kind: "question", Agent: "hints", Since: at(8), Text: "rule menu: 1. Yes", Hint: "gc respond hints"},
		{
			ID: "question/asks/r1", Kind: "question", Agent: "asks", Since: at(9), Text: "run rm?", Hint: "gc respond asks",
			Options: []string{"Yes", "No"}, Request: "r1",
		},
		{Kind: "limited", Agent: "spent", Since: at(10), Until: at(90), Text: "resets 3pm", Hint: "gc peek spent"},
		{Kind: "limited", Agent: "broke", Since: at(11), Text: "spend limit", Hint: "gc peek broke"},
		{
			ID: "dead-end/e1", Kind: "dead-end", Agent: "idle", Since: at(12), Hint: "gc process log c1",
			Text: "it was not told that its background command c1 ended: no answer in a day",
		},
		{ID: "quarantined/tired/5", Kind: "quarantined", Agent: "tired", Text: agents[15].LastExit.Text(), Hint: "gc restart tired"},
	}
	got := Of(agents, nudges, ends)
	ids := map[string]bool{}
	for i := range got {
		if ids[got[i].ID] || got[i].ID == "" {
			t.Errorf("the id %q is there twice", got[i].ID)
		}
		ids[got[i].ID] = true
		got[i].Session = ""
		if i < len(want) && want[i].ID == "" {
			want[i].ID = got[i].ID
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestIDs: another occasion has another ID, and the same one keeps its ID while time passes.
func TestIDs(t *testing.T) {
	question := func(id string, since int) string {
		return Of([]api.AgentStatus{acting("a", runtime.Activity{
			State: runtime.ActivityBlocked, Since: at(since), Pending: &runtime.Interaction{RequestID: id, Prompt: "p"},
		})}, nil, nil)[0].ID
	}
	if question("r1", 1) != question("r1", 2) || question("r1", 1) == question("r2", 1) {
		t.Error("a question is its request")
	}
	died := func(exit int) string {
		return Of([]api.AgentStatus{{Name: "a", State: api.StateQuarantined, Restarts: 2, LastExit: &runtime.Exit{Time: at(exit)}}}, nil, nil)[0].ID
	}
	if first := died(1); first != died(1) || first == died(2) {
		t.Error("a death is known by its time")
	}
	done := func(since int) string {
		return Of([]api.AgentStatus{acting("a", runtime.Activity{State: runtime.ActivityDone, Since: at(since)})}, nil, nil)[0].ID
	}
	if first := done(1); first != done(1) || first == done(2) {
		t.Error("work that is done is known by its time")
	}
}
