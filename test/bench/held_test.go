package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
)

// screenful fills a screen of 40 rows, and stays.
const screenful = "seq 1 500; echo ready; exec sleep 1000"

// BenchmarkPeekHeld: one screen over an existing connection.
func BenchmarkPeekHeld(b *testing.B) {
	const calls = 2000
	w := newWorld(b)
	w.needTmux()
	w.session("p", screenful, "ready")
	c, t := w.client(), w.control("p")
	ours, theirs := &samples{name: "gc"}, &samples{name: "tmux"}
	gc := func() {
		if _, err := c.Peek(context.Background(), api.PeekRequest{Name: "p", Screen: true}); err != nil {
			b.Fatal(err)
		}
	}
	tmux := func() { t.ask("capture-pane -p -t p") }
	gc()
	tmux()
	for b.Loop() {
		for range calls {
			theirs.timed(tmux)
			ours.timed(gc)
		}
	}
	table(b, "peek over a held connection", theirs, ours)
	server, keeper := w.daemons()
	pid := w.tmuxPID()
	b.Logf("server CPU of one: gc %v, tmux %v",
		cpuOf(b, calls, gc, server, keeper), cpuOf(b, calls, tmux, pid))
	judge(b, target{
		name: "peek, held connection", gc: us(ours.median()) + " (least " + us(ours.min()) + ")",
		tmux:  us(theirs.median()) + " (least " + us(theirs.min()) + ")",
		value: ratio(ours.median(), theirs.median()), unit: "×", must: 2, goal: 1,
	})
}

// BenchmarkPeekMany: the screens of 100 sessions in one request, changed and
// unchanged, compared with 100 captures written at once.
func BenchmarkPeekMany(b *testing.B) {
	const sessions, calls = 100, 50
	w := newWorld(b)
	w.needTmux()
	w.session("p", screenful, "ready")
	c, t := w.client(), w.control("p")
	var asked []api.PeekRequest
	var captures []string
	for i := range sessions {
		name := fmt.Sprintf("s%d", i)
		w.create(c, name, screenful)
		t.ask(fmt.Sprintf("new-session -d -s %s -x 120 -y 40 '%s'", name, screenful))
		asked = append(asked, api.PeekRequest{Name: name, Screen: true})
		captures = append(captures, "capture-pane -p -t "+name)
	}
	for i := range sessions {
		w.run(w.gc, "session", "wait", asked[i].Name, "--until", "text=ready", "--timeout", "20s")
		w.until("tmux shows it", func() bool { return len(t.ask(captures[i])) > 100 })
	}
	peek := func() []api.PeekResult {
		got, err := c.PeekMany(context.Background(), asked)
		if err != nil || len(got) != sessions {
			b.Fatalf("%d screens, %v", len(got), err)
		}
		return got
	}
	theirs, all, same := &samples{name: "100 captures"}, &samples{name: "100 screens"}, &samples{name: "100 unchanged"}
	for b.Loop() {
		for range calls {
			theirs.timed(func() { t.ask(captures...) })
			var got []api.PeekResult
			all.timed(func() { got = peek() })
			for i := range got {
				asked[i].IfRevision = got[i].Revision
			}
			same.timed(func() { got = peek() })
			for i := range got {
				if !got[i].Unchanged {
					b.Fatalf("%s changed", got[i].Name)
				}
				asked[i].IfRevision = 0
			}
		}
	}
	table(b, "100 sessions", theirs, all, same)
	for _, m := range []struct {
		s    *samples
		name string
		must float64
	}{{all, "peek of 100 sessions", 0.7}, {same, "peek of 100, nothing changed", 0.15}} {
		judge(b, target{
			name: m.name, gc: us(m.s.median()) + " (least " + us(m.s.min()) + ")",
			tmux:  us(theirs.median()) + " (least " + us(theirs.min()) + ")",
			value: ratio(m.s.median(), theirs.median()), unit: "×", must: m.must,
		})
	}
}

// timed adds the duration of f.
func (s *samples) timed(f func()) {
	start := time.Now()
	f()
	s.add(time.Since(start))
}

// cpuOf is the CPU time of the processes per call.
func cpuOf(b *testing.B, calls int, f func(), pids ...int) time.Duration {
	b.Helper()
	before := cpu(b, pids...)
	for range calls {
		f()
	}
	return (cpu(b, pids...) - before) / time.Duration(calls)
}

func us(d time.Duration) string { return fmt.Sprintf("%.0f µs", float64(d)/1e3) }
