package bench

import (
	"context"
	"math"
	"testing"
)

// BenchmarkVersion: `gc version` may cost twice as much as a hello-world Go
// program.
func BenchmarkVersion(b *testing.B) {
	w := newWorld(b)
	hello := built(b, "hello")
	names, argvs := []string{"hello", "gc version"}, [][]string{{hello}, {w.gc, "version"}}
	if w.tmux != "" {
		names, argvs = append(names, "tmux -V"), append(argvs, []string{w.tmux, "-V"})
	}
	alternate(b, 3, w.env, names, argvs...) // warm the caches
	var list []*samples
	for b.Loop() {
		list = alternate(b, rounds, w.env, names, argvs...)
	}
	table(b, "start-up", list...)
	metrics(b, "version", list[1])
	b.ReportMetric(ratio(list[1].median(), list[0].median()), "version/hello")
}

// BenchmarkPeek: a process that requests one screen, as in a script.
func BenchmarkPeek(b *testing.B) {
	w := newWorld(b)
	w.session("p", "seq 1 500; echo ready; exec sleep 1000", "ready")
	names := []string{"hello", "gc peek"}
	argvs := [][]string{{built(b, "hello")}, {w.gc, "session", "peek", "p"}}
	if w.tmux != "" {
		names = append(names, "tmux capture-pane")
		argvs = append(argvs, []string{w.tmux, "-L", "bench", "capture-pane", "-p", "-t", "p"})
	}
	alternate(b, 3, w.env, names, argvs...)
	var list []*samples
	for b.Loop() {
		list = alternate(b, rounds, w.env, names, argvs...)
	}
	table(b, "peek by one process", list...)
	metrics(b, "peek", list[1])
	b.ReportMetric(ratio(list[1].median(), list[0].median()), "peek/hello")
	t := target{
		name: "peek, one process (goal: 2 × hello, " + ms(list[0].median()) + ")", gc: ms(list[1].median()) + " (least " + ms(list[1].min()) + ")",
		value: float64(list[1].median()) / 1e6, unit: "ms", must: 3, goal: hundredths(2 * float64(list[0].median()) / 1e6),
	}
	if len(list) > 2 {
		b.ReportMetric(ratio(list[1].median(), list[2].median()), "peek/tmux")
		t.tmux = ms(list[2].median()) + " (least " + ms(list[2].min()) + ")"
	}
	judge(b, t)
}

// hundredths rounds to the precision of the table.
func hundredths(v float64) float64 { return math.Round(v*100) / 100 }

// BenchmarkReport: a hook of an agent may cost twice as much as a hello-world Go program.
func BenchmarkReport(b *testing.B) {
	w := newWorld(b)
	w.session("p", "echo ready; exec sleep 1000", "ready")
	names := []string{"hello", "gc report", "gc report --hook"}
	argvs := [][]string{{built(b, "hello")}, {w.gc, "report", "working"}, {w.gc, "report", "--hook", "pi", `{"event":"working"}`}}
	info, err := w.client().Get(context.Background(), "p")
	if err != nil {
		b.Fatal(err)
	}
	// A hook outside the session is refused, after the same request.
	env := append(w.env, "GC_SESSION_ID="+info.ID)
	alternate(b, 3, env, names, argvs...)
	var list []*samples
	for b.Loop() {
		list = alternate(b, rounds, env, names, argvs...)
	}
	table(b, "a report by one process", list...)
	for i, s := range list[1:] {
		metrics(b, []string{"report", "hook"}[i], s)
		b.ReportMetric(ratio(s.median(), list[0].median()), []string{"report", "hook"}[i]+"/hello")
		judge(b, target{
			name: names[i+1] + " (2 × hello, " + ms(list[0].median()) + ")", gc: ms(s.median()) + " (least " + ms(s.min()) + ")",
			value: float64(s.median()) / 1e6, unit: "ms", must: hundredths(2 * float64(list[0].median()) / 1e6),
		})
	}
}
