package controller

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/runtime"
)

// reconcileLimit is the target for a reconcile of 1000 unchanged agents.
const reconcileLimit = 50 * time.Millisecond

// faults counts the page faults of all children that ended (getrusage(2),
// RUSAGE_CHILDREN): no process runs without one.
func faults(b *testing.B) int64 {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used); err != nil {
		b.Fatal(err)
	}
	return int64(used.Minflt)
}

// BenchmarkReconcile is one look at 1000 unchanged agents and the plan for
// them, without the backend's own time.
func BenchmarkReconcile(b *testing.B) {
	dir := b.TempDir()
	var text strings.Builder
	text.WriteString("[workspace]\nname = \"bench\"\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "[[agents]]\nname = \"a%d\"\nstart_command = \"agent\"\nprocess_names = [\"agent\"]\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	c, err := config.Load(dir)
	if err != nil {
		b.Fatal(err)
	}
	specs, err := agent.Build(c, agent.BuildOptions{})
	if err != nil {
		b.Fatal(err)
	}
	fake := runtime.NewFake()
	for _, s := range specs {
		if err := agent.Bind(s, fake).Start(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := makeStateDir(c.Dir); err != nil {
		b.Fatal(err)
	}
	l, err := newLoop(Options{City: c, Provider: fake}, specs)
	if err != nil {
		b.Fatal(err)
	}
	defer l.book.Close()
	l.opCtx, l.timer = context.Background(), time.NewTimer(time.Hour)
	defer l.timer.Stop()
	once := func() {
		var qs []question
		known := map[string]bool{}
		for name, m := range l.members {
			qs, known[name] = append(qs, l.question(m)), true
		}
		l.looking = true
		l.found(lookAt(b.Context(), fake, c.Dir, qs, known))
		if acts := Plan(l.desired(), l.actual(), time.Now()); len(acts) != 0 {
			b.Fatalf("%d actions, first %+v", len(acts), acts[0])
		}
	}
	once() // the first look adopts
	fake.ForgetCalls()
	began := faults(b)
	for b.Loop() {
		once()
		b.StopTimer()
		fake.ForgetCalls()
		b.StartTimer()
	}
	if took := b.Elapsed() / time.Duration(b.N); took > reconcileLimit {
		b.Errorf("a reconcile took %v, at most %v", took, reconcileLimit)
	}
	if faults(b) != began {
		b.Error("a reconcile started processes")
	}
}

// BenchmarkLoad reads and resolves a city of 100 agents.
func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	var text strings.Builder
	text.WriteString("[workspace]\nname = \"bench\"\nprovider = \"claude\"\n")
	for i := range 100 {
		fmt.Fprintf(&text, "[[agents]]\nname = \"a%d\"\nargs = [\"--id={{.Session}}\"]\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c, err := config.Load(dir)
		if err == nil {
			_, err = agent.Build(c, agent.BuildOptions{Environ: os.Environ()})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
