package runtimetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
)

// fleet is how many agents the benchmarks start.
const fleet = 20

// Benchmark measures what a city does with a provider: start and stop a fleet, one
// nudge, and the queries of a tick. open returns an empty backend; starting its
// server counts as part of the start.
func Benchmark(b *testing.B, open func(b *testing.B) runtime.Provider) {
	b.Run("StartStop20", func(b *testing.B) {
		var start, stop time.Duration
		for range b.N {
			p := open(b)
			begin := time.Now()
			each(b, func(name string) error { return p.Start(b.Context(), name, benchConfig(b)) })
			start += time.Since(begin)
			begin = time.Now()
			each(b, func(name string) error { return p.Stop(b.Context(), name) })
			stop += time.Since(begin)
		}
		b.ReportMetric(float64(start.Milliseconds())/float64(b.N), "ms/start20")
		b.ReportMetric(float64(stop.Milliseconds())/float64(b.N), "ms/stop20")
	})
	p := open(b)
	each(b, func(name string) error { return p.Start(b.Context(), name, benchConfig(b)) })
	name := benchName(0)
	query := func(what string, f func(context.Context) error) {
		b.Run(what, func(b *testing.B) {
			for b.Loop() {
				if err := f(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	query("IsRunning", func(ctx context.Context) error { _, err := p.IsRunning(ctx, name); return err })
	query("ProcessAlive", func(ctx context.Context) error {
		_, err := p.ProcessAlive(ctx, name, []string{"cat"})
		return err
	})
	query("Peek", func(ctx context.Context) error { _, err := p.Peek(ctx, name, 50); return err })
	query("ListRunning", func(ctx context.Context) error { _, err := p.ListRunning(ctx, ""); return err })
	sent := 0
	query("Nudge", func(ctx context.Context) error {
		sent++
		r, err := p.Nudge(ctx, name, runtime.TextContent(fmt.Sprintf("message %d of many", sent)))
		if err == nil && r.State != runtime.Submitted {
			err = fmt.Errorf("receipt %+v", r)
		}
		return err
	})
	each(b, func(name string) error { return p.Stop(context.WithoutCancel(b.Context()), name) })
}

func benchName(i int) string { return fmt.Sprintf("bench-%d", i) }

// benchConfig is an agent that shows a prompt.
func benchConfig(b *testing.B) runtime.Config {
	return runtime.Config{
		WorkDir: b.TempDir(), Command: "printf 'agent> '; exec cat",
		ReadyPromptPrefix: "agent> ", ProcessNames: []string{"cat"},
	}
}

// each calls f concurrently for the whole fleet.
func each(b *testing.B, f func(name string) error) {
	b.Helper()
	var wg sync.WaitGroup
	for i := range fleet {
		wg.Go(func() {
			if err := f(benchName(i)); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}
