package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

func (w *world) exec(c *client.Client, r api.ExecRequest) api.ExecResult {
	w.b.Helper()
	r.Env = os.Environ()
	res, err := c.Exec(context.Background(), r)
	if err != nil {
		w.b.Fatal(err)
	}
	return res
}

// BenchmarkExecTrue: the cost of a foreground command beyond the process
// itself, including its record and its end on disk.
func BenchmarkExecTrue(b *testing.B) {
	const runs = 100
	w := newWorld(b)
	w.session("base", "echo up; exec sleep 1000", "up")
	c := w.client()
	ours, plain := &samples{name: "gc, over a held connection"}, &samples{name: "fork, exec, wait"}
	for b.Loop() {
		for range runs {
			plain.timed(func() {
				if err := exec.Command("true").Run(); err != nil {
					b.Fatal(err)
				}
			})
			ours.timed(func() {
				if r := w.exec(c, api.ExecRequest{Argv: []string{"true"}}); r.ExitCode == nil || *r.ExitCode != 0 {
					b.Fatalf("%+v", r)
				}
			})
		}
	}
	table(b, "exec of true", plain, ours)
	added := ours.median() - plain.median()
	judge(b, target{
		name: "exec of true, added to the process", gc: ms(ours.median()) + " (process " + ms(plain.median()) + ")",
		value: float64(added) / 1e6, unit: "ms", must: 5,
	})
}

// BenchmarkExecMany: 1000 concurrent background commands produce 1000 events
// and 1000 deliveries to their owners.
func BenchmarkExecMany(b *testing.B) {
	const commands, owners = 1000, 20
	w := newWorld(b)
	w.session("base", "echo up; exec sleep 1000", "up")
	c := w.client()
	for b.Loop() {
		ctx, cancel := context.WithCancel(context.Background())
		stream, err := c.Events(ctx, "")
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		start := make(chan int)
		for range 16 {
			go func() {
				for i := range start {
					w.exec(c, api.ExecRequest{Argv: []string{"true"}, Background: true, Owner: fmt.Sprintf("owner-%d", i%owners)})
				}
			}()
		}
		go func() {
			defer close(start)
			for i := range commands {
				start <- i
			}
		}()
		events := 0
		for events < commands {
			e, err := stream.Next()
			if err != nil {
				b.Fatalf("after %d events: %v", events, err)
			}
			if e.Exec != nil && e.Type != "exec.started" {
				events++
			}
		}
		took := time.Since(began)
		cancel()
		stream.Close()
		entries, err := c.Deliveries(context.Background(), "", "pending")
		if err != nil {
			b.Fatal(err)
		}
		judge(b, target{
			name: "1000 background commands at once", gc: fmt.Sprintf("%d events, %d wake entries in %s", events, len(entries), ms(took)),
			value: float64(min(events, len(entries))), unit: "of 1000", must: commands, atLeast: true,
		})
	}
}

// BenchmarkExecLog: a page of a 100 MB log, anywhere in it.
func BenchmarkExecLog(b *testing.B) {
	const pages, turns = 10, 20
	w := newWorld(b)
	w.session("base", "echo up; exec sleep 1000", "up")
	c := w.client()
	r := w.exec(c, api.ExecRequest{Command: "yes 'one line of the output, as long as most are in such a log' | head -c 100000000"})
	ctx := context.Background()
	all, err := c.ProcessLog(ctx, r.ID, api.LogRequest{})
	if err != nil || all.TotalBytes != 100_000_000 {
		b.Fatalf("%+v, %v", all.TotalBytes, err)
	}
	var list []*samples
	for i := range pages {
		list = append(list, &samples{name: fmt.Sprintf("200 lines at %d %%", 100*i/pages)})
	}
	for b.Loop() {
		for range turns {
			for i, s := range list {
				offset := max(1, all.TotalLines*uint64(i)/pages)
				s.timed(func() {
					if _, err := c.ProcessLog(ctx, r.ID, api.LogRequest{Offset: offset, Limit: 200}); err != nil {
						b.Fatal(err)
					}
				})
			}
		}
	}
	table(b, "a page of the log of 100 MB", list...)
	slowest := slices.MaxFunc(list, func(a, b *samples) int { return cmp.Compare(a.median(), b.median()) })
	judge(b, target{
		name: "page of the log of 100 MB, slowest", gc: ms(slowest.median()) + " (" + slowest.name + ")",
		value: float64(slowest.median()) / 1e6, unit: "ms", must: 20,
	})
}
