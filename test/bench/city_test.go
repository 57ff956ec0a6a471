package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shutdown is the shutdown_timeout of these cities.
const shutdown = time.Second

// city writes a city of n identical agents.
func (w *world) city(name string, n int, agent string) string {
	w.b.Helper()
	dir := filepath.Join(w.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		w.b.Fatal(err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "[workspace]\nname = %q\n[daemon]\nshutdown_timeout = %q\n", name, shutdown)
	for i := range n {
		fmt.Fprintf(&text, "[[agents]]\nname = \"a%d\"\n%s\n", i, agent)
	}
	if err := os.WriteFile(filepath.Join(dir, "city.toml"), []byte(text.String()), 0o600); err != nil {
		w.b.Fatal(err)
	}
	return dir
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// within judges the median wall time of whole commands.
func within(b *testing.B, name string, s *samples, must time.Duration) {
	b.Helper()
	metrics(b, strings.ReplaceAll(name, " ", "-"), s)
	judge(b, target{name: name, gc: ms(s.median()), value: float64(s.median()) / 1e6, unit: "ms", must: float64(must) / 1e6})
}

// BenchmarkCity starts and stops cities of 50 agents: shells, programs that end
// on Ctrl-C, and programs that ignore it. Figures are wall times of the whole
// command, from the controller's start to its end.
func BenchmarkCity(b *testing.B) {
	const agents = 50
	w := newWorld(b)
	w.run(w.gc, "session", "new", "warm", "--", "exec sleep 100000") // start the mux
	start, obey, ignore := &samples{name: "start"}, &samples{name: "stop, obeyed"}, &samples{name: "stop, ignored"}
	shells := w.city("shells", agents, `provider = "shell"`)
	sleeps := w.city("sleeps", agents, `start_command = "exec sleep 100000"`)
	deaf := w.city("deaf", agents, `start_command = "trap '' INT; while :; do sleep 100000; done"`)
	for b.Loop() {
		start.add(timed(func() { w.run(w.gc, "start", shells) }))
		w.run(w.gc, "stop", shells)
		w.run(w.gc, "start", sleeps)
		obey.add(timed(func() { w.run(w.gc, "stop", sleeps) }))
		w.run(w.gc, "start", deaf)
		ignore.add(timed(func() { w.run(w.gc, "stop", deaf) }))
	}
	table(b, "cities of 50 agents", start, obey, ignore)
	within(b, "gc start of 50 shells", start, time.Second)
	within(b, "gc stop of 50 that obey", obey, 500*time.Millisecond)
	within(b, "gc stop of 50 that ignore Ctrl-C (timeout 1 s)", ignore, shutdown+time.Second)
}

// BenchmarkStatus is gc status of 100 agents, the whole process.
func BenchmarkStatus(b *testing.B) {
	w := newWorld(b)
	city := w.city("status", 100, `start_command = "echo ready; exec sleep 100000"`)
	w.run(w.gc, "start", city)
	b.Cleanup(func() { w.run(w.gc, "stop", city) })
	text, data := &samples{name: "gc status"}, &samples{name: "gc status --json"}
	for b.Loop() {
		for range 10 {
			text.add(timed(func() { w.run(w.gc, "--city", city, "status") }))
			data.add(timed(func() { w.run(w.gc, "--city", city, "status", "--json") }))
		}
	}
	table(b, "status of 100 agents", text, data)
	within(b, "gc status of 100 agents", text, 15*time.Millisecond)
}
