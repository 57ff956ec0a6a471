package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/far"
	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/testenv/sshd"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/many"
	"gascity.dev/gc/runtime/native"
)

const (
	farAgents = 50
	farCalls  = 500
	farKeys   = 200
	farIdle   = 10 * time.Second
)

// farWorld is a world with another machine, which a real sshd serves.
type farWorld struct {
	*world
	host *sshd.Host
}

func newFarWorld(b *testing.B) *farWorld {
	b.Helper()
	w := &farWorld{newWorld(b), sshd.Start(b, sshd.Options{GC: built(b, "gc")})}
	w.env = append(w.env, "GC_SSH="+w.host.SSH())
	return w
}

// remote is the client's side of a connection to the multiplexer there, over a
// link as a controller holds it.
func (w *farWorld) remote() *client.Client {
	w.b.Helper()
	h, err := client.ParseHost(w.host.URL())
	if err != nil {
		w.b.Fatal(err)
	}
	h.Program, h.Bin = w.host.SSH(), w.host.GC
	l := link.New(w.host.URL(), h.Stream, many.Hello{Version: "bench"})
	p, err := native.New(native.Options{Version: "bench", Machine: far.NewClient(w.host.URL(), l)})
	if err != nil {
		w.b.Fatal(err)
	}
	w.b.Cleanup(func() { p.Close(); l.Close() })
	c, err := p.Client(context.Background())
	if err != nil {
		w.b.Fatal(err)
	}
	return c
}

// sshArgs is a command line of plain ssh to the host.
func (w *farWorld) sshArgs(words ...string) []string {
	return append(strings.Fields(w.host.SSH()), words...)
}

// bare returns a function that sends a line over an ssh of its own and waits
// until cat there has sent it back: the round trip of the way.
func (w *farWorld) bare() func() {
	w.b.Helper()
	cmd := w.command(w.sshArgs("-T", w.host.Name, "exec cat")...)
	in, err := cmd.StdinPipe()
	if err != nil {
		w.b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.b.Fatal(err)
	}
	w.b.Cleanup(func() { // the end of its input ends it
		_ = in.Close()
		_ = cmd.Wait()
	})
	buf := make([]byte, 8)
	return func() {
		if _, err := in.Write(buf); err != nil {
			w.b.Fatal(err)
		}
		if _, err := io.ReadFull(out, buf); err != nil {
			w.b.Fatal(err)
		}
	}
}

// BenchmarkFarCall: one call over a held stream to another machine, compared with
// the same call here and the round trip of the way.
func BenchmarkFarCall(b *testing.B) {
	w := newFarWorld(b)
	w.session("p", screenful, "ready")
	w.run(w.gc, "session", "new", "p", "--host", w.host.URL(), "--", screenful)
	w.run(w.gc, "session", "wait", "p", "--host", w.host.URL(), "--until", "text=ready", "--timeout", "20s")
	near, there, trip := w.client(), w.remote(), w.bare()
	peek := func(c *client.Client) func() {
		return func() {
			if _, err := c.Peek(context.Background(), api.PeekRequest{Name: "p", Screen: true}); err != nil {
				b.Fatal(err)
			}
		}
	}
	local, remote, way := &samples{name: "here"}, &samples{name: "there"}, &samples{name: "round trip"}
	peek(near)()
	peek(there)()
	trip()
	for b.Loop() {
		for range farCalls {
			local.timed(peek(near))
			way.timed(trip)
			remote.timed(peek(there))
		}
	}
	table(b, "peek over a held stream", local, way, remote)
	sum := local.median() + way.median()
	judge(b, target{
		name:  "far peek, held stream ÷ (here + round trip)",
		gc:    us(remote.median()) + " ÷ (" + us(local.median()) + " + " + us(way.median()) + ")",
		value: ratio(remote.median(), sum), unit: "× of itself", must: 1.5, goal: 1,
	})
	judge(b, target{
		name: "far peek, held stream", gc: us(remote.median()) + " (least " + us(remote.min()) + ")",
		value: float64(remote.median()) / 1e6, unit: "ms", must: 1,
	})
}

// BenchmarkFarCommand: a process that prints a screen of another machine: an agent's
// through the controller, a session's by an ssh of its own, and tmux's by ssh.
func BenchmarkFarCommand(b *testing.B) {
	w := newFarWorld(b)
	w.needTmux()
	city := w.farCity(1, "echo ready; exec sleep 100000")
	w.run(w.gc, "session", "new", "p", "--host", w.host.URL(), "--", screenful)
	w.host.Run("tmux -L bench -f /dev/null new-session -d -s p -x 120 -y 40 " + "'" + screenful + "'")
	var list []*samples
	for b.Loop() {
		list = alternate(b, rounds/2, w.env, []string{"ssh host tmux capture-pane", "gc session peek --host", "gc peek"},
			w.sshArgs("-T", w.host.Name, "tmux -L bench capture-pane -p -t p"),
			[]string{w.gc, "session", "peek", "p", "--host", w.host.URL()},
			[]string{w.gc, "--city", city, "peek", "a0"})
	}
	table(b, "a screen of another machine by one process", list...)
	for i, must := range map[int]float64{1: 1.5, 2: 0.1} {
		judge(b, target{
			name: list[i].name + ", one process", gc: ms(list[i].median()), tmux: ms(list[0].median()),
			value: ratio(list[i].median(), list[0].median()), unit: "×", must: must,
		})
	}
}

// BenchmarkFarEcho: from a key to its echo, for an attached agent on another machine
// and for the same program under plain ssh.
func BenchmarkFarEcho(b *testing.B) {
	const program = "echo ready; exec cat"
	w := newFarWorld(b)
	city := w.farCity(1, program)
	plain := w.typist(w.sshArgs("-t", w.host.Name, program)...)
	attached := w.typist(w.gc, "--city", city, "attach", "a0")
	theirs, ours := &samples{name: "ssh -t"}, &samples{name: "gc attach"}
	plain()
	attached()
	for b.Loop() {
		for range farKeys {
			theirs.timed(plain)
			ours.timed(attached)
		}
	}
	table(b, "echo of a key", theirs, ours)
	judge(b, target{
		name: "far attach, echo of a key above ssh -t", gc: us(ours.median()) + " – " + us(theirs.median()),
		value: float64(ours.median()-theirs.median()) / 1e6, unit: "ms", must: 1,
	})
}

// typist starts a command on a terminal and returns a function that types a key and
// waits for its echo.
func (w *farWorld) typist(argv ...string) func() {
	w.b.Helper()
	cmd, tty := w.attached(40, argv...)
	w.b.Cleanup(func() {
		_ = tty.Close() // the hangup ends it
		_ = cmd.Wait()
	})
	_ = pty.Setsize(tty, &pty.Winsize{Cols: 200, Rows: 40}) // fewer lines wrap
	const key = '#'                                         // in no control sequence here
	buf := make([]byte, 1<<15)
	return func() {
		if _, err := tty.Write([]byte{key}); err != nil {
			w.b.Fatal(err)
		}
		for {
			n, err := tty.Read(buf)
			if err != nil {
				w.b.Fatal(err)
			}
			if bytes.IndexByte(buf[:n], key) >= 0 {
				return
			}
		}
	}
}

// farCity starts a city of agents that live on the other machine.
func (w *farWorld) farCity(agents int, command string) string {
	w.b.Helper()
	city := w.city("far", agents, fmt.Sprintf("session = %q\nwork_dir = %q\nstart_command = %q",
		w.host.URL(), filepath.Join(w.host.Home, "work"), command))
	w.run(w.gc, "--city", city, "start")
	w.b.Cleanup(func() { w.run(w.gc, "--city", city, "stop") })
	w.until("all run", func() bool {
		for _, a := range w.status(city).Agents {
			if a.State != cityapi.StateRunning {
				return false
			}
		}
		return true
	})
	return city
}

func (w *farWorld) status(city string) (st cityapi.Status) {
	w.b.Helper()
	if err := json.Unmarshal([]byte(w.run(w.gc, "--city", city, "status", "--json")), &st); err != nil {
		w.b.Fatal(err)
	}
	return st
}

// BenchmarkFarIdle: what fifty agents on another machine cost while nothing happens.
func BenchmarkFarIdle(b *testing.B) {
	w := newFarWorld(b)
	city := w.farCity(farAgents, "echo ready; exec sleep 100000")
	controller := w.status(city).Controller.PID
	var there api.ServerStatus
	if err := json.Unmarshal([]byte(w.host.Run("gc mux status --json")), &there); err != nil {
		b.Fatal(err)
	}
	w.until("only the controller's connection is left", func() bool { return w.host.Connections() <= 1 })
	ssh, relays := w.carriers(controller)
	w.atRest(controller, there.Server.PID)
	for b.Loop() {
		// Three times, so that one has a patrol: a city's patrol_interval is 30 s. Most
		// of the time is without one, so the median is judged, and the mean beside it.
		var busy, busyWay []time.Duration
		servers, carriers := []int{controller, there.Server.PID, there.Keeper.PID}, slices.Concat(ssh, relays)
		for range 3 {
			before, beforeWay := cpu(b, servers...), cpu(b, carriers...)
			<-time.After(farIdle)
			busy, busyWay = append(busy, cpu(b, servers...)-before), append(busyWay, cpu(b, carriers...)-beforeWay)
		}
		percent := func(d time.Duration) float64 { return 100 * ratio(d, farIdle) }
		b.Logf("in %v: controller and the server there %v, what carries the stream (%d processes) %v", farIdle, busy, len(carriers), busyWay)
		judge(b, target{
			name: fmt.Sprintf("%d far agents: idle CPU of controller and server there", farAgents),
			gc:   fmt.Sprintf("%.3f %%", percent(median(busy))), value: percent(median(busy)), unit: "%", must: 0.05,
		})
		judge(b, target{
			name: fmt.Sprintf("%d far agents: idle CPU of ssh, sshd and gc mux dial", farAgents),
			gc:   fmt.Sprintf("%.3f %%", percent(median(busyWay))), value: percent(median(busyWay)), unit: "%", must: 0.05,
		})
		judge(b, target{
			name: fmt.Sprintf("%d far agents: the same of all these, mean of 30 s", farAgents),
			gc:   fmt.Sprintf("%.3f %%", percent(mean(busy)+mean(busyWay))), value: percent(mean(busy) + mean(busyWay)), unit: "%", must: 0.05,
		})
		judge(b, target{
			name: fmt.Sprintf("%d far agents: ssh processes", farAgents),
			gc:   fmt.Sprint(len(ssh)), value: float64(len(ssh)), unit: "", must: 1,
		})
	}
}

func mean(all []time.Duration) (sum time.Duration) {
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(len(all))
}

// carriers returns the ssh processes that a controller started, and the processes
// that serve them there.
func (w *farWorld) carriers(controller int) (ssh, there []int) {
	w.b.Helper()
	all, err := proctree.Table()
	if err != nil {
		w.b.Fatal(err)
	}
	for _, p := range all {
		if p.PPID == controller && !p.Zombie() {
			ssh = append(ssh, p.PID)
		}
	}
	procs, err := w.host.Processes()
	if err != nil {
		w.b.Fatal(err)
	}
	for _, p := range procs {
		argv, err := proctree.Cmdline(p.PID)
		if line := strings.Join(argv, " "); err == nil && (strings.HasPrefix(line, "sshd") || strings.Contains(line, "dial")) {
			there = append(there, p.PID)
		}
	}
	return ssh, there
}
