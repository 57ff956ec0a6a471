package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkFirstHour measures what a person waits for in the first hour: the
// city made by gc init, from gc start to its prompt, and the end of 20 shells
// at their prompts. Figures are wall times of the whole command.
func BenchmarkFirstHour(b *testing.B) {
	const shells = 20
	w := newWorld(b)
	w.run(w.gc, "init", "town")
	town := filepath.Join(w.dir, "town")
	w.run(w.gc, "start", town, "--trust") // exclude the multiplexer's own start
	w.run(w.gc, "stop", town)
	city := w.city("shells", shells, `provider = "shell"`)
	start, stop := &samples{name: "start"}, &samples{name: "stop"}
	for b.Loop() {
		start.add(timed(func() {
			w.run(w.gc, "start", town)
			w.run(w.gc, "--city", town, "wait", "hello", "--until", "text=[$#]", "--timeout", "20s")
		}))
		w.run(w.gc, "stop", town)
		w.run(w.gc, "start", city)
		stop.add(timed(func() { w.run(w.gc, "stop", city) }))
	}
	table(b, "the first hour", start, stop)
	within(b, "gc start of the default city to its prompt", start, 500*time.Millisecond)
	within(b, "gc stop of 20 shells", stop, 500*time.Millisecond)
}

// BenchmarkDemo is make demo in a clean clone with an empty build cache, then
// make demo-stop. The modules are already downloaded.
func BenchmarkDemo(b *testing.B) {
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		b.Fatal(err)
	}
	w := newWorld(b)
	start, stop := &samples{name: "make demo"}, &samples{name: "make demo-stop"}
	for b.Loop() {
		clone := filepath.Join(w.dir, "clone")
		w.run("git", "clone", "-q", strings.TrimSpace(string(root)), clone)
		make := func(target string) func() {
			return func() {
				cmd := w.command("make", "-C", clone, target)
				cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(w.dir, "cache"))
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("make %s: %v\n%s", target, err, out)
				}
			}
		}
		start.add(timed(make("demo")))
		stop.add(timed(make("demo-stop")))
		w.run("rm", "-rf", clone, filepath.Join(w.dir, "cache"))
	}
	table(b, "the demo, first time", start, stop)
	within(b, "make demo in a clean clone, nothing built", start, time.Minute)
	within(b, "make demo-stop", stop, 2*time.Second)
}
