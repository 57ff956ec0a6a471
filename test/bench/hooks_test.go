package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
)

const (
	hookAgents = 100
	hookRounds = 10 // each is a call for working and one for done
)

// callsHooks is an agent that calls its hooks at every line that is typed, and notes when.
const callsHooks = `start_command = '''echo up; while read -r x; do for i in 0 1 2 3 4 5 6 7 8 9; do for state in working done; do
	date +%s%N >>"$HOME/stamps.$GC_AGENT"; "$GC_BIN" report --hook pi "{\"event\":\"$state\"}"; sleep 0.4
done; done; echo end; done'''`

// BenchmarkHooks: 100 agents of a city that call their hooks. What a call costs the
// multiplexer and the controller, beside the call itself, and how soon gc events shows one.
func BenchmarkHooks(b *testing.B) {
	w := newWorld(b)
	dir := w.city("hooks", hookAgents, callsHooks)
	ctx := context.Background()
	for b.Loop() {
		w.run(w.gc, "start", dir)
		server, keeper := w.daemons()
		var st struct{ Controller struct{ PID int } }
		if err := json.Unmarshal([]byte(w.run(w.gc, "--city", dir, "status", "--json")), &st); err != nil || st.Controller.PID == 0 {
			b.Fatal(err, st)
		}
		c := w.client()
		for i := range hookAgents {
			w.waitText(c, fmt.Sprintf("gc-hooks-a%d", i), "up")
		}
		const events = hookAgents * hookRounds * 2
		seen := w.statusEvents(dir, "a0")
		began, before, controller := time.Now(), cpu(b, server, keeper), cpu(b, st.Controller.PID)
		for i := range hookAgents {
			if err := c.Keys(ctx, fmt.Sprintf("gc-hooks-a%d", i), []string{"Enter"}, false); err != nil {
				b.Fatal(err)
			}
		}
		var all sync.WaitGroup
		for i := range hookAgents {
			all.Go(func() {
				r, err := c.Wait(ctx, fmt.Sprintf("gc-hooks-a%d", i), api.WaitRequest{Conditions: []api.Condition{{Text: "^end$"}}, Timeout: time.Minute})
				if err != nil || r.Met != 0 {
					b.Error(r, err)
				}
			})
		}
		all.Wait()
		perEvent := (cpu(b, server, keeper) - before) / events
		perEventThere := (cpu(b, st.Controller.PID) - controller) / events
		b.Logf("%d calls in %v", events, time.Since(began).Round(time.Millisecond))
		delay := &samples{name: "gc events"}
		stamps, shown := w.stamps("a0"), seen()
		if len(stamps) != len(shown) {
			b.Skipf("%d events of %d calls: the machine is too busy to tell which is whose", len(shown), len(stamps))
		}
		for i, at := range shown {
			delay.add(at.Sub(stamps[i]))
		}
		table(b, "from a hook's start to gc events, 100 agents", delay)
		judge(b, target{
			name: "a hook is shown, 100 agents", gc: ms(delay.median()), value: float64(delay.median()) / 1e6, unit: "ms", must: 50,
		})
		own := w.cpuOfCall(b, w.gc, "report", "--hook", "pi", `{"event":"working"}`)
		judge(b, target{
			name: fmt.Sprintf("CPU of a hook beside its call (%s)", us(own)), gc: us(perEvent) + " multiplexer, " + us(perEventThere) + " controller",
			value: ratio(perEvent+perEventThere, own), unit: "×", must: 1,
		})
		w.run(w.gc, "stop", dir)
	}
}

// statusEvents follows the status events of an agent; seen ends that and returns when each was
// printed.
func (w *world) statusEvents(city, agent string) (seen func() []time.Time) {
	w.b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, w.gc, "--city", city, "events", "--follow", "--json", "--agent", agent, "-n", "1")
	cmd.Env, cmd.Dir = w.env, w.dir
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan() // of the past: it follows
	var all []time.Time
	var reads sync.WaitGroup
	reads.Go(func() {
		for lines.Scan() {
			if at := time.Now(); strings.Contains(lines.Text(), `"kind":"status"`) {
				all = append(all, at)
			}
		}
	})
	return func() []time.Time {
		cancel()
		reads.Wait()
		_ = cmd.Wait()
		return all
	}
}

// stamps returns when an agent called its hooks.
func (w *world) stamps(agent string) (all []time.Time) {
	w.b.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "stamps."+agent))
	if err != nil {
		w.b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var at int64
		if _, err := fmt.Sscan(line, &at); err != nil {
			w.b.Fatal(err)
		}
		all = append(all, time.Unix(0, at))
	}
	return all
}

// cpuOfCall is the CPU time of a command, the median of rounds.
func (w *world) cpuOfCall(b *testing.B, argv ...string) time.Duration {
	b.Helper()
	s := &samples{}
	for range rounds {
		cmd := w.command(argv...)
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		s.add(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
	}
	return s.median()
}
