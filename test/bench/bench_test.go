package bench

import (
	"testing"
)

// BenchmarkVersion: `gc version` may cost twice a hello-world Go program.
func BenchmarkVersion(b *testing.B) {
	w := newWorld(b)
	hello := built(b, "hello")
	names, argvs := []string{"hello", "gc version"}, [][]string{{hello}, {w.gc, "version"}}
	if w.tmux != "" {
		names, argvs = append(names, "tmux -V"), append(argvs, []string{w.tmux, "-V"})
	}
	alternate(b, 3, w.env, names, argvs...) // to fill the caches
	var list []*samples
	for b.Loop() {
		list = alternate(b, rounds, w.env, names, argvs...)
	}
	table(b, "start-up", list...)
	metrics(b, "version", list[1])
	b.ReportMetric(ratio(list[1].median(), list[0].median()), "version/hello")
}

// BenchmarkPeek: one process that asks for one screen, as a script does.
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
	if len(list) > 2 {
		b.ReportMetric(ratio(list[1].median(), list[2].median()), "peek/tmux")
	}
}

// BenchmarkMemory: server and keeper at rest with no session (10 MB at most),
// and what an idle session adds.
func BenchmarkMemory(b *testing.B) {
	const sessions = 50
	w := newWorld(b)
	for b.Loop() {
		w.session("first", "echo up; exec sleep 1000", "up")
		server, keeper := w.daemons()
		w.run(w.gc, "session", "kill", "first")
		empty := w.atRest(server, keeper)
		b.Logf("no session; %s\n  server  %v\n  keeper  %v\n  both    %v", machine(), memoryOf(b, server), memoryOf(b, keeper), empty)
		b.ReportMetric(float64(empty.pss)/1e6, "empty-PSS-MB")
		b.ReportMetric(float64(empty.rss)/1e6, "empty-RSS-MB")
		if w.tmux != "" {
			b.Logf("tmux, one session: %v", memoryOf(b, w.tmuxPID()))
		}
		for i := range sessions {
			w.run(w.gc, "session", "new", "idle-"+string(rune('A'+i%26))+string(rune('a'+i/26)), "--", "sleep 1000")
		}
		full := w.atRest(server, keeper)
		b.Logf("%d idle sessions: %v", sessions, full)
		b.ReportMetric(float64(full.pss-empty.pss)/sessions/1e3, "kB/idle-session")
		w.run(w.gc, "mux", "stop", "--force")
		if w.tmux != "" {
			w.run(w.tmux, "-L", "bench", "kill-server")
		}
	}
}
