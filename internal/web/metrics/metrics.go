// Package metrics shows a fleet in Prometheus' text format, for gc web --metrics.
// It counts and never names: whoever may scrape learns how many agents there are,
// not which. It asks the fleet when it is scraped, and keeps only the latencies of
// the pages' calls. cmd/gc-ui makes one.
package metrics

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gascity.dev/gc/internal/fleet"
)

// maxWait is how long a scrape waits for the fleet.
const maxWait = 5 * time.Second

// Metrics are the metrics of one fleet.
type Metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.HistogramVec
	nudges   *prometheus.CounterVec
}

// New returns the metrics of a fleet.
func New(f fleet.Fleet) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gc_web_call_seconds", Help: "Latency of the calls of pages.", Buckets: []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30},
		}, []string{"method", "outcome"}),
		nudges: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gc_web_nudges_total", Help: "Messages typed for pages, by receipt.",
		}, []string{"receipt"}),
	}
	m.registry.MustRegister(m.calls, m.nudges, &collector{fleet: f}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// Observe counts a call of a page. The outcome of a nudge is its receipt.
func (m *Metrics) Observe(method, outcome string, took time.Duration) {
	if method == "nudge" {
		m.nudges.WithLabelValues(outcome).Inc()
	}
	m.calls.WithLabelValues(method, outcome).Observe(took.Seconds())
}

// collector asks the fleet at each scrape.
type collector struct{ fleet fleet.Fleet }

var (
	up        = prometheus.NewDesc("gc_fleet_up", "Whether the fleet answers.", nil, nil)
	agents    = prometheus.NewDesc("gc_agents", "Agents by state and status.", []string{"state", "status"}, nil)
	restarts  = prometheus.NewDesc("gc_agent_restarts", "Restarts of the agents there are, together.", nil, nil)
	attention = prometheus.NewDesc("gc_attention", "What needs somebody, by kind.", []string{"kind"}, nil)
	waiting   = prometheus.NewDesc("gc_attention_oldest_seconds", "How long the oldest of it has waited; 0 if nothing does.", nil, nil)
	messages  = prometheus.NewDesc("gc_messages", "Messages in queues and dead letters, by state.", []string{"state"}, nil)
	attached  = prometheus.NewDesc("gc_attached_terminals", "Terminals attached to sessions of the multiplexer.", nil, nil)
	output    = prometheus.NewDesc("gc_mux_output_bytes_total", "Output of all sessions of the multiplexer, since its server started.", nil, nil)
	waits     = prometheus.NewDesc("gc_mux_waits", "Requests that wait for something of a session.", nil, nil)
	memory    = prometheus.NewDesc("gc_mux_memory_bytes", "Resident memory by process: the server has the screens of all sessions.", []string{"process"}, nil)
	blocked   = prometheus.NewDesc("gc_agents_waiting", "Agents that wait for an answer.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{up, agents, restarts, attention, waiting, messages, attached, blocked, output, waits, memory} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	s, ok := c.snapshot(ctx)
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if !ok || s.Lost != "" {
		gauge(up, 0)
		return
	}
	gauge(up, 1)
	type pair struct{ state, status string }
	byState, byKind, byMessage := map[pair]int{}, map[string]int{}, map[string]int{}
	var restarted, asking int
	for _, a := range s.Agents {
		byState[pair{a.State, a.Status}]++
		restarted += a.Restarts
		if a.Question != nil {
			asking++
		}
	}
	oldest := 0.0
	for _, a := range s.Attention {
		byKind[a.Kind]++
		if !a.Since.IsZero() {
			oldest = max(oldest, time.Since(a.Since).Seconds())
		}
	}
	for _, m := range s.Messages {
		byMessage[m.State]++
	}
	for p, n := range byState {
		gauge(agents, float64(n), p.state, p.status)
	}
	for k, n := range byKind {
		gauge(attention, float64(n), k)
	}
	for state, n := range byMessage {
		gauge(messages, float64(n), state)
	}
	gauge(restarts, float64(restarted))
	gauge(blocked, float64(asking))
	gauge(waiting, oldest)
	l, err := c.fleet.Load(ctx)
	if err != nil {
		return // it is not known: an older controller
	}
	out <- prometheus.MustNewConstMetric(output, prometheus.CounterValue, float64(l.Output))
	gauge(waits, float64(l.Waits))
	gauge(attached, float64(l.Attached))
	gauge(memory, float64(l.Server), "server")
	gauge(memory, float64(l.Keeper), "keeper")
}

// snapshot returns the first state that the fleet shows.
func (c *collector) snapshot(ctx context.Context) (fleet.Snapshot, bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var first fleet.Snapshot
	var once sync.Once
	shown := false
	c.fleet.Watch(ctx, func(s fleet.Snapshot) {
		once.Do(func() {
			first, shown = s, true
			cancel()
		})
	})
	return first, shown
}
