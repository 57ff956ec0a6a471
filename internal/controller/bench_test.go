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
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	muxapi "gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
	"gascity.dev/gc/runtime/runtimefake"
)

// reconcileLimit is the target for a reconcile of 1000 unchanged agents.
const reconcileLimit = 50 * time.Millisecond

// faults counts the page faults of all children that ended (getrusage(2),
// RUSAGE_CHILDREN): every process causes some.
func faults(b *testing.B) int64 {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used); err != nil {
		b.Fatal(err)
	}
	return int64(used.Minflt)
}

// thousand is a city of 1000 agents and its loop over a provider. start makes
// their sessions.
func thousand(b *testing.B, p runtime.Provider, command, process string, start func([]*agent.Spec)) *loop {
	b.Helper()
	dir := b.TempDir()
	var text strings.Builder
	text.WriteString("[workspace]\nname = \"bench\"\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "[[agents]]\nname = \"a%d\"\nstart_command = %q\nprocess_names = [%q]\n", i, command, process)
	}
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	c, err := config.Load(dir)
	if err != nil {
		b.Fatal(err)
	}
	specs, err := agent.Build(c, agent.BuildOptions{Environ: os.Environ()})
	if err != nil {
		b.Fatal(err)
	}
	start(specs)
	if _, err := api.MakeStateDir(c.Dir); err != nil {
		b.Fatal(err)
	}
	l, err := newLoop(Options{City: c, Provider: p}, specs)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.store.Close() })
	l.ops.ctx, l.ops.cancel = context.WithCancel(context.Background())
	l.timer = time.NewTimer(time.Hour)
	b.Cleanup(func() {
		l.ops.cancel()
		close(l.done) // the inbox is not read
		l.ops.Wait()
		l.timer.Stop()
	})
	return l
}

// reconcile observes everything and plans; there is nothing to do.
func reconcile(b *testing.B, l *loop) {
	var qs []probe
	known := map[string]bool{}
	for name, ag := range l.agents.all {
		qs, known[name] = append(qs, l.observer.probeOf(ag)), true
	}
	l.observer.inFlight = true
	l.observer.apply(observeAll(b.Context(), l.p, l.o.City.Dir, qs, known))
	if acts := plan.Make(l.agents.desired(), l.agents.actual(), time.Now()); len(acts) != 0 {
		b.Fatalf("%d actions, first %+v", len(acts), acts[0])
	}
}

// judge fails a benchmark whose reconciles took too long or started processes
// since began.
func judge(b *testing.B, began int64) {
	b.Helper()
	if took := b.Elapsed() / time.Duration(b.N); took > reconcileLimit {
		b.Errorf("a reconcile took %v, at most %v", took, reconcileLimit)
	}
	if faults(b) != began {
		b.Error("a reconcile started processes")
	}
}

// BenchmarkReconcile observes 1000 unchanged agents and plans for them, without
// the backend's own time.
func BenchmarkReconcile(b *testing.B) {
	fake := runtimefake.New()
	l := thousand(b, fake, "agent", "agent", func(specs []*agent.Spec) {
		for _, s := range specs {
			inst := agent.NewInstance(1, time.Now())
			cfg, err := s.StartConfig(inst)
			if err == nil {
				err = fake.Start(b.Context(), s.Session, cfg)
			}
			if err == nil {
				err = s.Mark(b.Context(), fake, inst)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	reconcile(b, l) // the first observation adopts
	fake.ForgetCalls()
	began := faults(b)
	for b.Loop() {
		reconcile(b, l)
		b.StopTimer()
		fake.ForgetCalls()
		b.StartTimer()
	}
	judge(b, began)
}

// BenchmarkReconcileNative does so over 1000 live processes in the multiplexer.
func BenchmarkReconcileNative(b *testing.B) {
	dir, err := os.MkdirTemp("", "gc") // a socket's path must be short
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	paths, err := muxapi.DefaultPaths(func(k string) string { return map[string]string{"GC_MUX_SOCKET": filepath.Join(dir, "s")}[k] })
	if err != nil {
		b.Fatal(err)
	}
	p, err := native.New(native.Options{Paths: paths, Version: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	client, err := p.EnsureClient(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := client.Shutdown(context.Background(), true); err != nil {
			b.Error(err)
		}
		p.Close()
	})
	l := thousand(b, p, "exec sleep 100000", "sleep", func(specs []*agent.Spec) {
		parallel(len(specs), func(i int) {
			s := specs[i]
			inst := agent.NewInstance(1, time.Now())
			meta := map[string]string{
				agent.MetaCityPath: s.City.Dir, agent.MetaAgent: s.Name(), agent.MetaSessionID: inst.ID, agent.MetaEpoch: "1",
				agent.MetaToken: inst.Token, agent.MetaLaunchHash: s.Hashes.Launch, agent.MetaProvisionHash: s.Hashes.Provision,
				agent.MetaLiveHash: s.Hashes.Live, agent.MetaConfigHash: s.Hashes.Core,
			}
			_, err := client.Create(b.Context(), muxapi.CreateRequest{
				ID: inst.ID, Name: s.Session, Argv: []string{"sleep", "100000"}, Env: os.Environ(), Meta: meta, ScrollbackLines: 100,
			})
			if err != nil {
				b.Error(err)
			}
		})
	})
	reconcile(b, l)
	began := faults(b)
	least := time.Hour
	for b.Loop() {
		start := time.Now()
		reconcile(b, l)
		least = min(least, time.Since(start))
	}
	b.Logf("least: %v", least)
	judge(b, began)
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
