//go:build agents

package agents

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
)

// turns is how many turns of each agent TestDelays takes.
const turns = 20

// delays is the table of TestDelays, for the report of TestAgents.
var delays string

// stamped runs gc as the hook of an agent, and notes when it began and ended.
const stamped = `#!/bin/sh
began=$(date +%%s%%N)
'%s' "$@"
echo $began $(date +%%s%%N) >>'%s'
`

// TestDelays: what a hook takes, that of the agent before it calls it and that of gc.
func TestDelays(t *testing.T) {
	var b strings.Builder
	b.WriteString("\nWhat the hooks take, medians of " + fmt.Sprint(turns) + " turns: that of the agent, from the end of the model's answer to the start\n" +
		"of its hook's process, and that of gc, from there to the end of the process and to the line of\n`gc events --follow`:\n\n" +
		"| agent | the agent's own | gc: the process | gc: the event | calls, events |\n|---|---|---|---|---|\n")
	for _, a := range agents {
		if a.hook == "" {
			continue
		}
		t.Run(a.preset, func(t *testing.T) {
			j := &journey{world: newWorld(t), agent: a, stub: newStub(t), took: map[string]time.Duration{}, said: map[string]string{}, won: map[string]string{}}
			defer func() {
				if t.Failed() {
					j.dump(j.stub)
				}
			}()
			row := j.delays()
			t.Log(row)
			b.WriteString(row)
		})
	}
	delays = b.String()
}

// delays returns the row of an agent.
func (j *journey) delays() string {
	j.t.Helper()
	stamps := filepath.Join(j.home, "stamps")
	j.program(".stamped/gc", fmt.Sprintf(stamped, gcBin, stamps))
	found, err := filepath.Glob(filepath.Join(programs, "node_modules", ".bin", j.agent.preset))
	if err != nil || len(found) != 1 {
		j.t.Fatal(found, err)
	}
	j.program(".stamped/"+j.agent.preset, fmt.Sprintf("#!/bin/sh\nGC_BIN='%s/.stamped/gc' exec '%s' \"$@\"\n", j.home, found[0]))
	j.env[0] = "PATH=" + filepath.Join(j.home, ".stamped") + ":" + strings.TrimPrefix(j.env[0], "PATH=")
	j.setUp()
	j.gc("start", "--trust")
	j.comesUp("dialogs")
	seen := j.follow()
	var ended []time.Time
	for i := range turns {
		text := fmt.Sprintf("tag-%c please", 'a'+i)
		j.gc("nudge", name, text, "--timeout", "60s")
		j.until(turn, "the model answers "+text, func() bool {
			r, ok := j.stub.asked(text)
			return ok && !r.Ended.IsZero()
		})
		ended = append(ended, j.ended(text))
		j.until(turn, "the call of the hook", func() bool {
			calls := readCalls(j.t, stamps)
			return len(calls) > 0 && calls[len(calls)-1][0].After(ended[i])
		})
		j.rests()
	}
	calls, events := readCalls(j.t, stamps), seen()
	var own, process, event []time.Duration
	for _, at := range ended {
		i := slices.IndexFunc(calls, func(c [2]time.Time) bool { return c[0].After(at) })
		own = append(own, calls[i][0].Sub(at))
	}
	for _, c := range calls {
		process = append(process, c[1].Sub(c[0]))
	}
	for _, at := range events { // each is of the last call before it
		if i := slices.IndexFunc(calls, func(c [2]time.Time) bool { return c[0].After(at) }); i != 0 {
			event = append(event, at.Sub(calls[(i+len(calls)+1)%(len(calls)+1)-1][0]))
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %d, %d |\n", j.agent.preset, median(own), median(process), median(event), len(process), len(event))
}

// program writes a program into the home.
func (w *world) program(path, text string) {
	w.t.Helper()
	w.write(path, text)
	if err := os.Chmod(filepath.Join(w.home, path), 0o700); err != nil {
		w.t.Fatal(err)
	}
}

// follow reads the city's events. seen ends that and returns when those were printed whose
// source is a hook.
func (w *world) follow() (seen func() []time.Time) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	cmd := exec.CommandContext(ctx, gcBin, "--city", w.city, "events", "--follow", "--json", "--kind", "status", "-n", "1")
	cmd.Env, cmd.Dir = w.env, w.home
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	var lines sync.WaitGroup
	var times []time.Time
	first := make(chan struct{})
	lines.Go(func() {
		scan := bufio.NewScanner(out)
		for scan.Scan() {
			at := time.Now()
			var e cityapi.Event
			if json.Unmarshal(scan.Bytes(), &e) != nil {
				continue
			}
			select {
			case <-first:
				if strings.HasSuffix(e.Detail, "from hook") {
					times = append(times, at)
				}
			default:
				close(first) // of the past
			}
		}
	})
	select {
	case <-first:
	case <-time.After(turn):
		w.t.Error("no event is printed")
	}
	return func() []time.Time {
		cancel()
		lines.Wait()
		_ = cmd.Wait()
		return times
	}
}

// readCalls returns when each call of a hook began and ended.
func readCalls(t *testing.T, path string) (calls [][2]time.Time) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var began, ended int64
		if _, err := fmt.Sscan(line, &began, &ended); err == nil {
			calls = append(calls, [2]time.Time{time.Unix(0, began), time.Unix(0, ended)})
		}
	}
	slices.SortFunc(calls, func(a, b [2]time.Time) int { return a[0].Compare(b[0]) })
	return calls
}

func median(all []time.Duration) string {
	if len(all) == 0 {
		return "–"
	}
	slices.Sort(all)
	return fmt.Sprintf("%d ms", all[len(all)/2].Milliseconds())
}
