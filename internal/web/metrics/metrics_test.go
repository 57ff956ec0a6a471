package metrics

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/fleetfake"
)

func TestMetricsCountAndNeverName(t *testing.T) {
	var f fleetfake.Fleet
	f.Set(fleet.Snapshot{
		Agents: []fleet.Agent{
			{ID: "secret-project", Name: "secret-project", State: "running", Status: "blocked", Restarts: 2, Attached: 1, Question: &fleet.Question{}},
			{ID: "b", State: "running", Status: "idle", Restarts: 1}, {ID: "c", State: "running", Status: "idle"},
		},
		Attention: []fleet.Attention{{Kind: "question", Agent: "secret-project", Since: time.Now().Add(-time.Hour)}},
		Messages:  []fleet.Message{{State: "dead"}},
	})
	f.Carried = fleet.Load{Output: 4096, Waits: 3, Attached: 1, Server: 1 << 20, Keeper: 2 << 20}
	m := New(&f)
	m.Observe("nudge", "submitted", 20*time.Millisecond)
	text := scrape(m)
	for _, want := range []string{
		"gc_fleet_up 1", `gc_agents{state="running",status="idle"} 2`, `gc_agents{state="running",status="blocked"} 1`, "gc_agent_restarts 3",
		`gc_attention{kind="question"} 1`, `gc_messages{state="dead"} 1`, "gc_attached_terminals 1", "gc_agents_waiting 1",
		`gc_web_nudges_total{receipt="submitted"} 1`, `gc_web_call_seconds_bucket{method="nudge",outcome="submitted",le="0.03"} 1`, "gc_attention_oldest_seconds 36",
		"gc_mux_output_bytes_total 4096", "gc_mux_waits 3", `gc_mux_memory_bytes{process="server"} 1.048576e+06`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Error("the name of an agent is shown")
	}
}

func TestFleetAwayIsSaid(t *testing.T) {
	var f fleetfake.Fleet
	f.Set(fleet.Snapshot{Lost: "connection refused", Agents: []fleet.Agent{{State: "running"}}})
	text := scrape(New(&f))
	if !strings.Contains(text, "gc_fleet_up 0") || strings.Contains(text, "gc_agents{") {
		t.Errorf("old numbers are shown as today's:\n%s", text)
	}
}

func scrape(m *Metrics) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}
