package bench

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// recoveryRounds is how often the server is killed.
const recoveryRounds = 7

// BenchmarkKillServer: from just before SIGKILL of the server until every
// session's screen was returned, in one request, over a new connection.
func BenchmarkKillServer(b *testing.B) {
	for _, load := range []struct {
		name       string
		sessions   int
		command    string
		must, goal time.Duration
	}{
		{"100 sessions back after kill -9", 100, screenful, 50 * time.Millisecond, 0},
		{"1000 sessions back after kill -9", 1000, screenful, 0, 100 * time.Millisecond},
		{"8 sessions of 7 MB of output back", 8, "seq 1 1000000; echo ready; exec sleep 1000", 50 * time.Millisecond, 0},
	} {
		b.Run(load.name, func(b *testing.B) {
			w := newWorld(b)
			w.run(w.gc, "session", "new", "first", "--", "sleep 1000")
			c := w.client()
			var asked []api.PeekRequest
			for i := range load.sessions {
				name := fmt.Sprintf("s%d", i)
				w.create(c, name, load.command)
				asked = append(asked, api.PeekRequest{Name: name, Screen: true})
			}
			for _, r := range asked {
				w.waitText(c, r.Name, "ready")
			}
			took := &samples{name: load.name}
			for b.Loop() {
				for range recoveryRounds {
					server := w.grown()
					start := time.Now()
					kill(b, server)
					w.allReady(server, asked)
					took.add(time.Since(start))
				}
			}
			table(b, "recovery", took)
			must := load.must
			if must == 0 {
				must = load.goal
			}
			judge(b, target{
				name: load.name, gc: ms(took.median()) + " (least " + ms(took.min()) + ")",
				value: float64(took.median()) / 1e6, unit: "ms", must: float64(must) / 1e6, goal: float64(load.goal) / 1e6,
			})
		})
	}
}

// grown returns the server's pid once it has outlived the time after which the
// keeper considers it healthy: the keeper delays restarts after several early
// deaths.
func (w *world) grown() int {
	w.b.Helper()
	c := w.client()
	var s api.ServerStatus
	w.until("a server lives for a second", func() bool {
		var err error
		s, err = c.Status(context.Background())
		return err == nil && time.Since(s.Server.Since) > 1100*time.Millisecond
	})
	return s.Server.PID
}

// allReady returns when the server after the one with that pid shows what every
// session showed.
func (w *world) allReady(old int, asked []api.PeekRequest) {
	w.b.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		c, err := client.Dial(context.Background(), w.paths())
		if err != nil {
			continue // between two servers
		}
		got, err := c.PeekMany(context.Background(), asked)
		c.Close()
		if err != nil {
			continue
		}
		for _, r := range got {
			if !strings.Contains(r.Text, "ready") {
				w.b.Fatalf("%s after the kill of %d: %q %+v", r.Name, old, r.Text, r.Error)
			}
		}
		return
	}
	w.b.Fatal("no server came")
}
