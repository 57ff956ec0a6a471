package acp_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// TestMultiplexerReachesTheAgent: whoever knows only the multiplexer's API sees the
// agent's status and questions, and talks to the agent, not to its terminal.
func TestMultiplexerReachesTheAgent(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	p, name := agentOf(t, b)
	c, err := client.Dial(t.Context(), b.paths)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	nudge := func(id, text string, now bool) api.Receipt {
		t.Helper()
		r, err := c.Nudge(t.Context(), name, api.NudgeRequest{ID: id, Text: text, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	wait := func(cond api.Condition) {
		t.Helper()
		r, err := c.Wait(t.Context(), name, api.WaitRequest{Conditions: []api.Condition{cond}, Timeout: 10 * time.Second})
		if err != nil || r.Met != 0 {
			a, _ := c.Activity(t.Context(), name)
			t.Fatalf("wait for %+v: %+v, %v; %+v", cond, r, err, a)
		}
	}
	wait(api.Condition{Idle: true})
	for range 2 { // the second time it is the first outcome
		if r := nudge("one", "only once", false); r.State != api.Submitted {
			t.Fatalf("%+v", r)
		}
		b.killServer(t)
	}
	if r := nudge("ask", "ASK permission Red Blue", false); r.State != api.Submitted {
		t.Fatalf("%+v", r)
	}
	wait(api.Condition{Blocked: true})
	a, err := c.Question(t.Context(), name)
	if err != nil || a.Kind != "permission" || a.Pending == nil || !slices.Equal(a.Pending.Options, []string{"Red", "Blue"}) {
		t.Fatalf("%+v, %v", a, err)
	}
	if q, err := p.Pending(t.Context(), name); err != nil || q.RequestID != a.Pending.ID {
		t.Errorf("the provider's question is %+v, %v", q, err)
	}
	if r := nudge("now", "too early", true); r.State != api.Blocked || r.By != api.ByQuestion {
		t.Errorf("%+v", r)
	}
	if err := c.Respond(t.Context(), name, api.RespondRequest{Action: "Green"}); !errors.Is(err, api.ErrQuestion) || !strings.Contains(err.Error(), "Red, Blue") {
		t.Errorf("an unknown label: %v", err)
	}
	queued, err := c.Enqueue(t.Context(), api.QueueRequest{Target: name, Text: "queued text"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Respond(t.Context(), name, api.RespondRequest{ID: a.Pending.ID, Action: "Blue"}); err != nil {
		t.Fatal(err)
	}
	if queued, err = c.AwaitQueued(t.Context(), queued.ID); err != nil || queued.State != api.QueueDelivered {
		t.Fatalf("%+v, %v", queued, err)
	}
	if r := nudge("hold", "HOLD", false); r.State != api.Submitted {
		t.Fatalf("%+v", r)
	}
	await(t, "the turn", is(t, p, name, "working"))
	if err := c.Interrupt(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	wait(api.Condition{Idle: true})
	screen := ""
	await(t, "the screen", func() bool {
		screen, _ = p.Peek(t.Context(), name, 0)
		return strings.Contains(screen, "queued text") && strings.Contains(screen, "chose Blue")
	})
	if !regexp.MustCompile(`permission: Blue \((person|process \d+|session .+)\)`).MatchString(screen) {
		t.Errorf("the answer has no author: %q", screen)
	}
	if n := strings.Count(screen, "› only once"); n != 1 {
		t.Errorf("the message arrived %d times: %q", n, screen)
	}
}
