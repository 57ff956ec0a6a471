package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
	"gascity.dev/gc/runtime/tmux"
)

const (
	fleetSize   = 20
	fleetRounds = 5
	askRounds   = 200 // queries of each kind
)

// fleetProvider is a backend without a server, with a function to remove it.
type fleetProvider struct {
	name string
	open func() (p runtime.Provider, end func(context.Context) error)
}

func (w *world) fleetProviders() []fleetProvider {
	w.b.Helper()
	n := 0
	fresh := func() string { n++; return filepath.Join(w.dir, fmt.Sprint("fleet", n)) }
	list := []fleetProvider{{"native", func() (runtime.Provider, func(context.Context) error) {
		dir := fresh()
		p, err := native.New(native.Options{Paths: api.Paths{Dir: dir, Socket: dir + ".sock"}, Version: "bench", Environ: w.env})
		if err != nil {
			w.b.Fatal(err)
		}
		return p, p.TeardownServer
	}}}
	if w.tmux != "" {
		list = append(list, fleetProvider{"tmux", func() (runtime.Provider, func(context.Context) error) {
			p, err := tmux.New(tmux.Options{Socket: fresh(), Binary: w.tmux, Environ: w.env})
			if err != nil {
				w.b.Fatal(err)
			}
			return p, func(ctx context.Context) error {
				err := p.TeardownServer(ctx)
				if cerr := p.Close(); err == nil {
					err = cerr
				}
				return err
			}
		}})
	}
	return list
}

// forks is the kernel's count of processes and threads ever created
// (proc_stat(5), "processes"). It covers the whole machine: the minimum of
// several rounds on a quiet one is what the work itself creates.
func forks(b *testing.B) int {
	b.Helper()
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		b.Skipf("no count of forks here: %v", err)
	}
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, "processes "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(v))
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatal("no count of forks in /proc/stat")
	return 0
}

// fleetResult is the cost of one backend.
type fleetResult struct {
	start, nudge, stop         *samples
	started, stopped, perAsked int // forks; the minimum
}

// BenchmarkFleet: twenty agents with a prompt, started concurrently from
// nothing, one nudge, the queries of a tick, and stopped concurrently.
func BenchmarkFleet(b *testing.B) {
	w := newWorld(b)
	for b.Loop() {
		var starts, nudges, stops []*samples
		for _, f := range w.fleetProviders() {
			r := w.fleet(f)
			starts, nudges, stops = append(starts, r.start), append(nudges, r.nudge), append(stops, r.stop)
			b.Logf("%s: forks and threads: %d to start %d agents, %d to stop them, %d for %d queries",
				f.name, r.started, fleetSize, r.stopped, r.perAsked, 4*askRounds)
			b.ReportMetric(float64(r.started)/fleetSize, f.name+"-forks/start")
			b.ReportMetric(float64(r.perAsked)/(4*askRounds), f.name+"-forks/query")
			metrics(b, f.name+"-start20", r.start)
			metrics(b, f.name+"-nudge", r.nudge)
			metrics(b, f.name+"-stop20", r.stop)
		}
		table(b, fmt.Sprintf("%d agents started from nothing", fleetSize), starts...)
		table(b, "one nudge", nudges...)
		table(b, fmt.Sprintf("%d agents stopped", fleetSize), stops...)
	}
}

func (w *world) fleet(f fleetProvider) fleetResult {
	w.b.Helper()
	ctx := context.Background()
	r := fleetResult{start: &samples{name: f.name}, nudge: &samples{name: f.name}, stop: &samples{name: f.name}}
	least := func(to *int, n int, first bool) {
		if first || n < *to {
			*to = n
		}
	}
	for round := range fleetRounds {
		p, end := f.open()
		cfg := runtime.Config{WorkDir: w.dir, Command: "printf 'agent> '; exec cat", ReadyPromptPrefix: "agent> ", ProcessNames: []string{"cat"}}
		before, begin := forks(w.b), time.Now()
		w.each(func(name string) error { return p.Start(ctx, name, cfg) })
		r.start.add(time.Since(begin))
		least(&r.started, forks(w.b)-before, round == 0)

		begin = time.Now()
		receipt, err := p.Nudge(ctx, agentName(0), runtime.TextContent("please look at the tests"))
		if err != nil || receipt.State != runtime.Submitted {
			w.b.Fatalf("nudge: %+v, %v", receipt, err)
		}
		r.nudge.add(time.Since(begin))

		before = forks(w.b)
		w.ask(ctx, p)
		least(&r.perAsked, forks(w.b)-before, round == 0)

		before, begin = forks(w.b), time.Now()
		w.each(func(name string) error { return p.Stop(ctx, name) })
		r.stop.add(time.Since(begin))
		least(&r.stopped, forks(w.b)-before, round == 0)
		if err := end(ctx); err != nil {
			w.b.Fatal(err)
		}
	}
	return r
}

// ask makes the queries of a tick, many times.
func (w *world) ask(ctx context.Context, p runtime.Provider) {
	w.b.Helper()
	for i := range askRounds {
		name := agentName(i % fleetSize)
		_, err := p.IsRunning(ctx, name)
		if err == nil {
			_, err = p.ProcessAlive(ctx, name, []string{"cat"})
		}
		if err == nil {
			_, err = p.Peek(ctx, name, 50)
		}
		if err == nil {
			_, err = p.ListRunning(ctx, "")
		}
		if err != nil {
			w.b.Fatal(err)
		}
	}
}

func agentName(i int) string { return fmt.Sprint("agent-", i) }

// each calls f for the whole fleet concurrently.
func (w *world) each(f func(name string) error) {
	w.b.Helper()
	var all sync.WaitGroup
	for i := range fleetSize {
		all.Go(func() {
			if err := f(agentName(i)); err != nil {
				w.b.Error(err)
			}
		})
	}
	all.Wait()
}
