package controller

import (
	"errors"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/plan"
)

// An agent drains and restarts itself; one whose instance has ended decides
// nothing.
func TestAnAgentDecidesForItself(t *testing.T) {
	r, c := served(t, "[daemon]\ndrift_drain_timeout = \"1h\"\n"+oneAgent)
	me := func() InsideRequest {
		cfg, _ := r.fake.ConfigOf("gc-city-a")
		return InsideRequest{Agent: "a", Token: cfg.Env["GC_INSTANCE_TOKEN"]}
	}
	old := me()
	if err := c.AckDrain(t.Context(), old); !errors.Is(err, ErrNotDraining) || Hint(err) == "" {
		t.Errorf("an ack without a drain: %v", err)
	}
	if err := c.RequestRestart(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if e := until(t, c, EventStopping); e.Why != plan.WhyRequested {
		t.Errorf("stopped: %+v", e)
	}
	awaitState(t, c, StateRunning, 2)
	for name, err := range map[string]error{
		"drain": c.DrainSelf(t.Context(), old), "restart": c.RequestRestart(t.Context(), old),
		"nobody": c.DrainSelf(t.Context(), InsideRequest{Agent: "a"}),
	} {
		if !errors.Is(err, ErrEarlierInstance) {
			t.Errorf("%s by an earlier instance: %v", name, err)
		}
	}
	if err := c.DrainSelf(t.Context(), me()); err != nil {
		t.Fatal(err)
	}
	until(t, c, EventDraining)
	st := awaitState(t, c, StateDraining, 2)
	if d := st.Drain; d == nil || d.Why != plan.WhyAsked || d.Until.Sub(d.Since) != time.Hour || d.Acked {
		t.Errorf("drain %+v", d)
	}
	if err := c.AckDrain(t.Context(), me()); err != nil {
		t.Fatal(err)
	}
	if st := awaitState(t, c, StateStopped, 2); st.Drain != nil || st.Restarts != 0 {
		t.Errorf("status %+v", st)
	}
}

// awaitState follows the events until the agent is in a state after so many
// starts.
func awaitState(t *testing.T, c *Client, want State, starts int) AgentStatus {
	t.Helper()
	var last AgentStatus
	seen, stop := 0, errors.New("found")
	look := func() bool {
		st, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last = st.Agents[0]
		return last.State == want && seen >= starts
	}
	err := c.Events(t.Context(), 0, true, func(e Event) error {
		if e.Kind == EventStarted {
			seen++
		}
		if look() {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Fatalf("it is %s, want %s: %v", last.State, want, err)
	}
	return last
}
