package controller

import (
	"errors"
	"testing"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
)

// An agent drains and restarts itself; an earlier instance decides nothing.
func TestAnAgentDecidesForItself(t *testing.T) {
	r, c := served(t, "[daemon]\ndrift_drain_timeout = \"1h\"\n"+oneAgent)
	me := func() api.InsideRequest {
		cfg, _ := r.fake.ConfigOf("gc-city-a")
		return api.InsideRequest{Agent: "a", Token: cfg.Env["GC_INSTANCE_TOKEN"]}
	}
	old := me()
	if err := c.AckDrain(t.Context(), old); !errors.Is(err, api.ErrNotDraining) || api.Hint(err) == "" {
		t.Errorf("an ack without a drain: %v", err)
	}
	if err := c.RequestRestart(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if e := until(t, c, api.EventStopping); e.Why != plan.WhyRequested {
		t.Errorf("stopped: %+v", e)
	}
	awaitState(t, c, api.StateRunning, 2)
	for name, err := range map[string]error{
		"drain": c.DrainSelf(t.Context(), old), "restart": c.RequestRestart(t.Context(), old),
		"nobody": c.DrainSelf(t.Context(), api.InsideRequest{Agent: "a"}),
	} {
		if !errors.Is(err, api.ErrEarlierInstance) {
			t.Errorf("%s by an earlier instance: %v", name, err)
		}
	}
	if err := c.DrainSelf(t.Context(), me()); err != nil {
		t.Fatal(err)
	}
	until(t, c, api.EventDraining)
	st := awaitState(t, c, api.StateDraining, 2)
	if d := st.Drain; d == nil || d.Why != plan.WhyAsked || d.Until.Sub(d.Since) != time.Hour || d.Acked {
		t.Errorf("drain %+v", d)
	}
	if err := c.AckDrain(t.Context(), me()); err != nil {
		t.Fatal(err)
	}
	if st := awaitState(t, c, api.StateStopped, 2); st.Drain != nil || st.Restarts != 0 {
		t.Errorf("status %+v", st)
	}
}

// awaitState follows the events until the agent is in a state after so many
// starts.
func awaitState(t *testing.T, c *api.Client, want api.State, starts int) api.AgentStatus {
	t.Helper()
	var last api.AgentStatus
	seen, stop := 0, errors.New("found")
	look := func() bool {
		st, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last = st.Agents[0]
		return last.State == want && seen >= starts
	}
	err := c.Events(t.Context(), 0, true, func(e api.Event) error {
		if e.Kind == api.EventStarted {
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
