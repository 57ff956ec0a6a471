package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// limit is the maximum time until a killed agent's restart begins.
const limit = 20 * time.Millisecond

const cityFile = `[workspace]
name = "bench"

[daemon]
max_restarts = 0

[[agents]]
name = "victim"
start_command = "exec %s %s"
prompt_mode = "none"
`

// BenchmarkRestart kills an agent repeatedly, and measures from just before
// SIGKILL to the first instruction of its successor's main, including the death
// and the start of the process.
func BenchmarkRestart(b *testing.B) {
	w := newWorld(b)
	city := filepath.Join(w.dir, "city")
	fifo := filepath.Join(w.dir, "started")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		b.Fatal(err)
	}
	if err := os.Mkdir(city, 0o700); err != nil {
		b.Fatal(err)
	}
	config := fmt.Sprintf(cityFile, built(b, "victim"), fifo)
	if err := os.WriteFile(filepath.Join(city, "city.toml"), []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	// Open for both directions: victims come and go, and this end never sees
	// EOF.
	reports, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = reports.Close() }()
	lines := bufio.NewScanner(reports)

	w.run(w.gc, "start", city)
	b.Cleanup(func() { w.run(w.gc, "stop", city) })
	restart := &samples{name: "restart"}
	pid, _ := report(b, lines)
	for b.Loop() {
		for range rounds {
			w.until("the agent runs", func() bool { return w.agentRuns(city, pid) })
			died := time.Now()
			kill(b, pid)
			var started time.Time
			pid, started = report(b, lines)
			restart.add(started.Sub(died))
		}
	}
	table(b, "restart of a killed agent", restart)
	metrics(b, "restart", restart)
	if restart.median() > limit {
		b.Errorf("the median is over the limit of %v", limit)
	}
}

// report reads the next victim's report of its start.
func report(b *testing.B, lines *bufio.Scanner) (pid int, started time.Time) {
	b.Helper()
	var ns int64
	if !lines.Scan() {
		b.Fatal(lines.Err())
	}
	if _, err := fmt.Sscan(lines.Text(), &pid, &ns); err != nil {
		b.Fatal(err)
	}
	return pid, time.Unix(0, ns)
}

// kill ends a process, but not another one that reused its pid.
func kill(b *testing.B, pid int) {
	b.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.PidfdSendSignal(fd, syscall.SIGKILL, nil, 0); err != nil {
		b.Fatal(err)
	}
}

// agentRuns reports whether the controller knows the running agent.
func (w *world) agentRuns(city string, pid int) bool {
	var s struct{ Agents []struct{ State string } }
	if err := json.Unmarshal([]byte(w.run(w.gc, "--city", city, "status", "--json")), &s); err != nil {
		w.b.Fatal(err)
	}
	return len(s.Agents) == 1 && s.Agents[0].State == "running"
}
