package server

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// awaitGot waits until the agent has got n lines.
func awaitGot(t *testing.T, out string, n int) []string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if lines := got(t, out); len(lines) >= n && lines[0] != "" {
			return lines
		}
	}
	t.Fatalf("the agent got %q, want %d lines", got(t, out), n)
	return nil
}

// awaitWaiting waits until n messages wait for the end of the agent's turn.
func awaitWaiting(t *testing.T, c *client.Client, name string, n int) {
	t.Helper()
	h := dialControl(t, c, name)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		st, err := h.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Queue) == n {
			return
		}
	}
	t.Fatalf("%d messages never wait", n)
}

// TestControlNudge: a message goes to the agent's host, with its receipt, and nothing is
// typed.
func TestControlNudge(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	_, out := startControlHost(t, c, "agent", "on")
	nudge := func(r api.NudgeRequest) api.Receipt {
		t.Helper()
		rec, err := c.Nudge(t.Context(), "agent", r)
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	tell(t, c, "agent", "idle")
	awaitState(t, c, "agent", api.ActivityIdle)
	screen := screenText(t, c, "agent")
	if r := nudge(api.NudgeRequest{ID: "1", Text: "one\ntwo"}); r.State != api.Submitted || r.Detail != "read by the agent" {
		t.Errorf("idle: %+v", r)
	}
	if r := nudge(api.NudgeRequest{ID: "1", Text: "one\ntwo"}); r.State != api.Submitted {
		t.Errorf("the same id: %+v", r)
	}
	if now := screenText(t, c, "agent"); now != screen {
		t.Errorf("something was typed:\n%s", now)
	}
	tell(t, c, "agent", "working")
	awaitState(t, c, "agent", api.ActivityWorking)
	if r := nudge(api.NudgeRequest{ID: "2", Text: "too early", Timeout: 50 * time.Millisecond}); r.State != api.Blocked || r.By != api.ByTurn {
		t.Errorf("working: %+v", r)
	}
	if r := nudge(api.NudgeRequest{ID: "3", Text: "at once", Now: true}); r.State != api.Blocked || r.By != api.ByTurn {
		t.Errorf("working, now: %+v", r)
	}
	tell(t, c, "agent", "ask run ls?")
	awaitState(t, c, "agent", api.ActivityBlocked)
	if r := nudge(api.NudgeRequest{ID: "4", Text: "meanwhile", Timeout: 50 * time.Millisecond}); r.State != api.Blocked || r.By != api.ByQuestion {
		t.Errorf("asking: %+v", r)
	}
	waits := make(chan api.Receipt, 1)
	go func() {
		r, err := c.Nudge(t.Context(), "agent", api.NudgeRequest{ID: "2", Text: "in time"})
		if err != nil {
			t.Error(err)
		}
		waits <- r
	}()
	awaitWaiting(t, c, "agent", 1)
	tell(t, c, "agent", "idle")
	if r := <-waits; r.State != api.Submitted {
		t.Errorf("at the end of the turn: %+v", r)
	}
	if lines := got(t, out); !slices.Equal(lines, []string{`"one\ntwo"`, `"in time"`}) {
		t.Errorf("the agent got %q", lines)
	}
	if _, err := c.Nudge(t.Context(), "agent", api.NudgeRequest{Text: strings.Repeat("x", 1<<20+1)}); !errors.Is(err, api.ErrTooLarge) {
		t.Errorf("too long: %v", err)
	}
	if err := c.Signal(t.Context(), "agent", "KILL"); err != nil {
		t.Fatal(err)
	}
	awaitExit(t, c, "agent")
	if r := nudge(api.NudgeRequest{Text: "too late"}); r.State != api.Dead {
		t.Errorf("after the end: %+v", r)
	}
}

// TestControlNudgeAcrossKills: whenever the server is killed, a message arrives once, and
// its sender learns the first outcome.
func TestControlNudgeAcrossKills(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	_, out := startControlHost(t, c, "agent", "on")
	var all sync.WaitGroup
	send := func(id, text string) {
		all.Go(func() {
			r, err := c.Nudge(t.Context(), "agent", api.NudgeRequest{ID: id, Text: text})
			if err != nil || r.State != api.Submitted {
				t.Errorf("%s: %+v, %v", text, r, err)
			}
		})
	}
	send("held", "hold it") // it was sent; its receipt is outstanding
	awaitGot(t, out, 1)
	killServer(t, c)
	tell(t, c, "agent", "go")
	all.Wait()
	tell(t, c, "agent", "working")
	awaitState(t, c, "agent", api.ActivityWorking)
	for i := range 4 {
		send(fmt.Sprint(i), fmt.Sprintf("message %d", i))
	}
	awaitWaiting(t, c, "agent", 4)
	killServer(t, c)
	tell(t, c, "agent", "idle")
	all.Wait()
	killServer(t, c)
	send("held", "hold it")
	send("0", "message 0")
	all.Wait()
	lines := got(t, out)
	slices.Sort(lines)
	if want := []string{`"hold it"`, `"message 0"`, `"message 1"`, `"message 2"`, `"message 3"`}; !slices.Equal(lines, want) {
		t.Errorf("the agent got %q", lines)
	}
}

// TestControlQueue: queued messages wait for the status that the host reports, and arrive
// once although the server is killed with one under way.
func TestControlQueue(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	_, out := startControlHost(t, c, "agent", "on")
	add := func(policy, text string) api.QueueItem {
		t.Helper()
		it, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "agent", Text: text, Policy: policy})
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	tell(t, c, "agent", "working")
	awaitState(t, c, "agent", api.ActivityWorking)
	one := add(api.PolicyImmediate, "hold one") // refused by the turn, then it waits for its end
	two := add(api.PolicyWaitIdle, "two")
	for blocked := false; !blocked; time.Sleep(5 * time.Millisecond) {
		items, err := c.Queue(t.Context(), "agent")
		if err != nil || len(items) != 2 || t.Context().Err() != nil {
			t.Fatalf("%+v, %v", items, err)
		}
		rec := items[0].Receipt
		blocked = rec != nil && rec.State == api.Blocked && rec.By == api.ByTurn && items[0].State == api.QueueWaiting
	}
	tell(t, c, "agent", "idle")
	awaitGot(t, out, 1)
	killServer(t, c)
	tell(t, c, "agent", "go")
	for _, id := range []string{one.ID, two.ID} {
		it, err := c.AwaitQueued(t.Context(), id)
		if err != nil || it.State != api.QueueDelivered {
			t.Fatalf("%+v, %v", it, err)
		}
	}
	if lines := got(t, out); !slices.Equal(lines, []string{`"hold one"`, `"two"`}) {
		t.Errorf("the agent got %q", lines)
	}
}

// TestControlQueueRefusal: what the agent itself refused is not offered again.
func TestControlQueueRefusal(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	_, out := startControlHost(t, c, "agent", "on")
	tell(t, c, "agent", "idle")
	it, err := c.Enqueue(t.Context(), api.QueueRequest{Target: "agent", Text: "bad"})
	if err != nil {
		t.Fatal(err)
	}
	it, err = c.AwaitQueued(t.Context(), it.ID)
	if err != nil || it.State != api.QueueDead || it.Tries != 1 || !strings.Contains(it.Detail, "the agent refused it") {
		t.Errorf("%+v, %v", it, err)
	}
	if lines := got(t, out); !slices.Equal(lines, []string{`"bad"`}) {
		t.Errorf("the agent got %q", lines)
	}
}

// TestControlQuestion: the host's question is shown, and answered by its label.
func TestControlQuestion(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	_, out := startControlHost(t, c, "agent", "on")
	if err := c.Respond(t.Context(), "agent", api.RespondRequest{Action: "Allow"}); !errors.Is(err, api.ErrQuestion) {
		t.Errorf("without a question: %v", err)
	}
	tell(t, c, "agent", "ask run ls?")
	awaitState(t, c, "agent", api.ActivityBlocked)
	a, err := c.Question(t.Context(), "agent")
	if err != nil || a.Pending == nil || a.Pending.ID != "q-run ls?" || a.Pending.Prompt != "run ls?" || !slices.Equal(a.Pending.Options, []string{"Allow", "Reject"}) {
		t.Fatalf("question %+v, %v", a.Pending, err)
	}
	for _, r := range []api.RespondRequest{{ID: "q-older", Action: "Allow"}, {Action: "Always"}, {Action: "Al"}} {
		if err := c.Respond(t.Context(), "agent", r); !errors.Is(err, api.ErrQuestion) || !strings.Contains(err.Error(), "Allow, Reject") {
			t.Errorf("%+v: %v", r, err)
		}
	}
	killServer(t, c)
	if err := c.Respond(t.Context(), "agent", api.RespondRequest{ID: a.Pending.ID, Action: "Reject"}); err != nil {
		t.Fatal(err)
	}
	if a := awaitState(t, c, "agent", api.ActivityWorking); a.Pending != nil {
		t.Errorf("%+v", a)
	}
	if err := c.Interrupt(t.Context(), "agent"); err != nil {
		t.Fatal(err)
	}
	awaitState(t, c, "agent", api.ActivityIdle)
	if lines := got(t, out); !slices.Equal(lines, []string{"answer Reject", "interrupt"}) {
		t.Errorf("the agent got %q", lines)
	}
}

// TestControlWake: the end of a background command reaches the agent's host once, also if
// the server is killed at the delivery or while the message waits for the end of a turn.
func TestControlWake(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"", "leased", "injecting", "typed", "delivered", "waiting"} {
		t.Run("killed "+step, func(t *testing.T) {
			t.Parallel()
			c := startServer(t)
			info, out := startControlHost(t, c, "owner", "on")
			waiting := step == "waiting"
			if waiting {
				tell(t, c, "owner", "hide") // the report and the agent differ
			}
			tell(t, c, "owner", "idle")
			awaitState(t, c, "owner", api.ActivityIdle)
			first, err := c.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			dies := step != "" && !waiting
			if dies {
				if err := os.WriteFile(c.Paths().Dir+"/fault", []byte(step), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			id := background(t, c, "sleep 0.2; echo the output")
			if waiting {
				awaitWaiting(t, c, "owner", 1)
				killServer(t, c)
				tell(t, c, "owner", "idle")
			}
			awaitDeliveries(t, c, process.Delivered, id)
			if dies { // perhaps only now, after it has told of the delivery
				awaitSuccessor(t, c, first.Server.PID)
			}
			if n := strings.Count(strings.Join(got(t, out), "\n"), process.Tag(id+"/exit")); n != 1 {
				t.Errorf("%s got the end %d times: %q", info.Name, n, got(t, out))
			}
		})
	}
}
