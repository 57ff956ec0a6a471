package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	stoppedBytes  = 20 << 20
	stoppedRounds = 3
)

// side is one of the two sides compared: its server, and the commands for a
// session, whose name comes last (followed by its command).
type side struct {
	pid                        int
	create, attach, wait, kill []string
	rows                       uint16 // of a terminal that shows 40 rows of a session
	end                        string // end of a session's command; %s is its name
}

// cost is the cost of some output: the server's peak memory, and the time.
type cost struct {
	most int64
	took time.Duration
}

// BenchmarkStoppedClient: a session writes 20 MB while an attached client is
// stopped and its terminal is not read. It is compared with the same output
// after the client is gone, in turn, by medians.
func BenchmarkStoppedClient(b *testing.B) {
	w := newWorld(b)
	w.needTmux()
	file := filepath.Join(w.dir, "load")
	writeLoad(b, file, stoppedBytes, plainLine)
	w.session("base", "echo up; exec sleep 1000", "up")
	gc, tmux := w.sides()
	for b.Loop() {
		gone, stopped := w.pastStopped("gc", gc, file)
		goneTmux, stoppedTmux := w.pastStopped("tmux", tmux, file)
		more := func(stopped, gone cost) float64 { return float64(stopped.most-gone.most) / (1 << 20) }
		shown := func(stopped, gone cost) string {
			return fmt.Sprintf("%.2f MiB (%.2f)", more(stopped, gone), float64(gone.most)/(1<<20))
		}
		judge(b, target{
			name: "stopped client, 20 MB: most memory of the server above that without (that)",
			gc:   shown(stopped, gone), tmux: shown(stoppedTmux, goneTmux), value: more(stopped, gone), unit: "MiB", must: 1,
		})
		judge(b, target{ // allow half for noise of a shared machine; a stall would last until the client continues
			name: "stopped client, 20 MB: no stall, time ÷ without", gc: ms(stopped.took) + " ÷ " + ms(gone.took),
			tmux: ms(stoppedTmux.took) + " ÷ " + ms(goneTmux.took), value: ratio(stopped.took, gone.took), unit: "× of itself", must: 1.5,
		})
	}
}

func (w *world) sides() (gc, tmux side) {
	w.b.Helper()
	of := func(words ...string) []string { return append([]string{w.gc, "session"}, words...) }
	server, _ := w.daemons()
	gc = side{
		pid: server, create: of("new"), attach: of("attach"), wait: of("wait", "--until", "exit", "--timeout", "60s"), kill: of("kill"), rows: 40,
	}
	of = func(words ...string) []string { return append([]string{w.tmux, "-L", "bench"}, words...) }
	tmux = side{
		pid: w.tmuxPID(), create: of("new-session", "-d", "-x", "120", "-y", "40", "-s"), attach: of("attach", "-t"), wait: of("wait-for"),
		rows: 41, end: "; exec tmux wait-for -S %s", // tmux uses one row itself; a session ends with its command
	}
	return gc, tmux
}

// pastStopped has sessions of one side write the file, with and without a
// stopped client, and returns the medians.
func (w *world) pastStopped(prefix string, s side, file string) (gone, stopped cost) {
	w.b.Helper()
	var all [2][]cost
	for round := range 1 + stoppedRounds {
		for i := range all {
			c := w.writes(fmt.Sprintf("%s%d-%d", prefix, round, i), s, file, i == 1)
			if round > 0 { // the first one warms up the others
				all[i] = append(all[i], c)
			}
		}
	}
	w.b.Logf("%s: without a client %v, with a stopped one %v", prefix, all[0], all[1])
	return medianCost(all[0]), medianCost(all[1])
}

func medianCost(all []cost) cost {
	var most []int64
	var took []time.Duration
	for _, c := range all {
		most, took = append(most, c.most), append(took, c.took)
	}
	slices.Sort(most)
	return cost{most[len(most)/2], median(took)}
}

// writes has a session write the file while its client is stopped, or after it
// is gone.
func (w *world) writes(name string, s side, file string, stopped bool) cost {
	w.b.Helper()
	path := filepath.Join(w.dir, name)
	if err := unix.Mkfifo(path, 0o600); err != nil {
		w.b.Fatal(err)
	}
	gate, err := os.OpenFile(path, os.O_RDWR, 0) // for both directions: opening does not block
	if err != nil {
		w.b.Fatal(err)
	}
	defer func() { _ = gate.Close() }()
	command := fmt.Sprintf("echo ready; read x < %s; cat %s", path, file)
	if s.end != "" {
		command += fmt.Sprintf(s.end, name)
	}
	w.run(append(slices.Clone(s.create), name, "--", command)...)
	client, tty := w.attached(s.rows, append(slices.Clone(s.attach), name)...)
	leave := func() {
		_ = client.Process.Kill()
		_ = client.Wait()
		_ = tty.Close()
	}
	if stopped {
		w.stopProcess(client)
		defer leave()
	} else {
		leave()
	}
	wait := w.command(append(slices.Clone(s.wait), name)...)
	if err := wait.Start(); err != nil {
		w.b.Fatal(err)
	}
	c := w.costs(s.pid, wait, func() { _, err = gate.WriteString("go\n") })
	if err != nil {
		w.b.Fatal(err)
	}
	if stopped && !isStopped(client) {
		w.b.Fatal("the client went on")
	}
	if s.kill != nil {
		w.run(append(slices.Clone(s.kill), name)...)
	}
	return c
}

// costs begins something and samples a server until a process that waits for
// its end has ended.
func (w *world) costs(server int, wait *exec.Cmd, begin func()) (c cost) {
	w.b.Helper()
	ended := make(chan error, 1)
	start := time.Now()
	go func() { ended <- wait.Wait() }()
	begin()
	often := time.NewTicker(2 * time.Millisecond)
	defer often.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				w.b.Fatalf("%v: %v", wait.Args, err)
			}
			c.took = time.Since(start)
			return c
		case <-often.C:
			c.most = max(c.most, memoryOf(w.b, server).own)
		}
	}
}

func (w *world) stopProcess(cmd *exec.Cmd) {
	w.b.Helper()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		w.b.Fatal(err)
	}
	w.until("it is stopped", func() bool { return isStopped(cmd) })
}

func isStopped(cmd *exec.Cmd) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid)) // proc_pid_stat(5)
	return err == nil && strings.Contains(string(stat), ") T ")
}
