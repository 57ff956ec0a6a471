package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// served runs a whole controller in this process and connects to it.
func served(t *testing.T, toml string) (*rig, *api.Client) {
	t.Helper()
	r := newRig(t, toml)
	ctx, cancel := context.WithCancel(context.Background())
	ready, result := make(chan api.Status, 1), make(chan error, 1)
	o := r.options()
	o.Ready = func(st api.Status) { ready <- st }
	go func() { result <- Run(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		<-result
	})
	select {
	case <-ready:
	case err := <-result:
		result <- err
		t.Fatal(err)
	}
	c, err := api.Dial(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return r, c
}

// until follows the events to the first of a kind.
func until(t *testing.T, c *api.Client, kind string) api.Event {
	t.Helper()
	var found api.Event
	stop := errors.New("found")
	err := c.Events(t.Context(), 0, true, func(e api.Event) error {
		if e.Kind == kind {
			found = e
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Fatalf("no event %s: %v", kind, err)
	}
	return found
}

func TestClientQueuesAndFollows(t *testing.T) {
	r, c := served(t, oneAgent)
	n, err := c.Queue(t.Context(), api.QueueRequest{Agent: "a", Text: "hello", Immediate: true})
	if err != nil || n.ID == "" {
		t.Fatalf("queue: %+v, %v", n, err)
	}
	if e := until(t, c, api.EventNudge); e.Agent != "a" || e.Why != string(session.NudgeDelivered) {
		t.Errorf("event %+v", e)
	}
	list, err := c.Nudges(t.Context())
	if err != nil || len(list) != 1 || list[0].State != session.NudgeDelivered || list[0].Text != "hello" {
		t.Errorf("nudges %+v, %v", list, err)
	}
	if err := c.DropNudge(t.Context(), n.ID); err != nil {
		t.Error(err)
	}
	if err := c.DropNudge(t.Context(), n.ID); err == nil {
		t.Error("dropped twice")
	}
	if _, err := c.Queue(t.Context(), api.QueueRequest{Agent: "x", Text: "y"}); !errors.Is(err, api.ErrUnknownAgent) || api.Hint(err) == "" {
		t.Errorf("queue for nobody: %v", err)
	}
	r.fake.Exit("gc-city-a", 3)
	if e := until(t, c, api.EventCrashed); e.Exit == nil || e.Exit.Code != 3 {
		t.Errorf("event %+v", e)
	}
	var seqs []uint64
	if err := c.Events(t.Context(), 1, false, func(e api.Event) error { seqs = append(seqs, e.Seq); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(seqs) < 3 || seqs[0] != 2 || !slices.IsSorted(seqs) {
		t.Errorf("numbers after 1: %v", seqs)
	}
}

func TestClientStoresWaits(t *testing.T) {
	_, c := served(t, oneAgent)
	w, err := c.StoreWait(t.Context(), api.WaitRequest{Agent: "a", Until: "exit", Wake: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := c.Waits(t.Context()); err != nil || len(list) != 1 || list[0].ID != w.ID {
		t.Errorf("waits %+v, %v", list, err)
	}
	if err := c.DropWait(t.Context(), w.ID); err != nil {
		t.Error(err)
	}
	if list, err := c.Waits(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("waits %+v, %v", list, err)
	}
	if _, err := c.StoreWait(t.Context(), api.WaitRequest{Agent: "a", Until: "sometime", Wake: "a"}); err == nil || api.Hint(err) == "" {
		t.Errorf("a wait for nonsense: %v", err)
	}
}

func TestClientReloadsAndCommands(t *testing.T) {
	r, c := served(t, "[daemon]\nshutdown_timeout = \"20ms\"\n"+oneAgent)
	r.write("[[agents]]\nnme = \"a\"\n")
	if err := c.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), `unknown key "nme"`) || api.Hint(err) == "" {
		t.Errorf("a broken file: %v", err)
	}
	r.write("[daemon]\nshutdown_timeout = \"20ms\"\n" + oneAgent)
	if err := c.Reload(t.Context()); err != nil {
		t.Errorf("the repaired file: %v", err)
	}
	if err := errors.Join(c.Poke(t.Context()), c.StopAgents(t.Context(), "a")); err != nil {
		t.Fatal(err)
	}
	if list, _ := r.fake.ListRunning(t.Context(), ""); len(list) != 0 {
		t.Errorf("running after the stop: %v", list)
	}
	if err := errors.Join(c.Suspend(t.Context()), c.Resume(t.Context()), c.Restart(t.Context(), "a")); err != nil {
		t.Fatal(err)
	}
	st, err := c.Status(t.Context())
	if err != nil || st.Agents[0].State != api.StateRunning || st.Seq == 0 || !st.Reconciled {
		t.Errorf("status %+v, %v", st, err)
	}
	if err := c.Restart(t.Context(), "a", "b"); !errors.Is(err, api.ErrUnknownAgent) {
		t.Errorf("restart of nobody: %v", err)
	}
	r.fake.Fail("Start", "", runtime.ErrBackendUnreachable)
	if err := c.Restart(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "cannot reach") {
		t.Errorf("a restart that fails: %v", err)
	}
	if err := c.Stop(t.Context(), api.StopRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(t.Context()); !errors.Is(err, api.ErrNoController) {
		t.Errorf("after the stop: %v", err)
	}
}

// A second Run of a city, in any process, fails and names the holder's pid; a
// city without a controller can still be stopped.
func TestOneControllerPerCity(t *testing.T) {
	r, c := served(t, oneAgent)
	if err := Run(t.Context(), r.options()); !errors.Is(err, api.ErrControllerRunning) || !strings.Contains(err.Error(), "pid ") {
		t.Errorf("second controller: %v", err)
	}
	if err := StopCity(t.Context(), r.options()); !errors.Is(err, api.ErrControllerRunning) {
		t.Errorf("stop around the controller: %v", err)
	}
	if _, err := DryRun(t.Context(), r.options()); !errors.Is(err, api.ErrControllerRunning) {
		t.Errorf("dry run beside the controller: %v", err)
	}
	if _, err := c.Status(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStopCityWithoutAController(t *testing.T) {
	r := newRig(t, "[daemon]\nshutdown_timeout = \"10ms\"\n"+oneAgent)
	o := r.options()
	o.Once = true
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if list, _ := r.fake.ListRunning(t.Context(), ""); len(list) != 1 {
		t.Fatalf("running after --once: %v", list)
	}
	if err := StopCity(t.Context(), r.options()); err != nil {
		t.Fatal(err)
	}
	if list, _ := r.fake.ListRunning(t.Context(), ""); len(list) != 0 {
		t.Errorf("left: %v", list)
	}
	if n := r.starts(""); n != 1 {
		t.Errorf("a stop started something: %d starts", n)
	}
}

// TestAnEndedCallNeverRuns: a caller that gave up reads its variables, so the
// loop must not write them later.
func TestAnEndedCallNeverRuns(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		busy, release := make(chan struct{}), make(chan struct{})
		r.l.post(func() { close(busy); <-release })
		<-busy
		ctx, cancel := context.WithCancel(context.Background())
		ran, result := false, make(chan error)
		go func() { result <- r.l.do(ctx, func() { ran = true }) }()
		synctest.Wait() // it is in the inbox
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) || ran {
			t.Fatalf("%v, ran %v", err, ran)
		}
		close(release)
		synctest.Wait()
		if ran {
			t.Error("it ran after its caller had gone")
		}
		r.end()
	})
}
