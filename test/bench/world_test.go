package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// world is a private mux and a private tmux.
type world struct {
	b    *testing.B
	dir  string
	gc   string
	env  []string
	tmux string // "" when tmux is not installed
}

func newWorld(b *testing.B) *world {
	b.Helper()
	dir, err := os.MkdirTemp("", "gc-bench-world-")
	if err != nil {
		b.Fatal(err)
	}
	w := &world{b: b, dir: dir, gc: built(b, "gc")}
	w.tmux, _ = exec.LookPath("tmux")
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/sh", "LANG=C.UTF-8", "TERM=xterm-256color",
		"GC_MUX_SOCKET=" + filepath.Join(dir, "mux.sock"), "TMUX_TMPDIR=" + dir, "GC_TRUST=1",
	}
	b.Cleanup(func() {
		if out, err := w.command(w.gc, "mux", "stop", "--force").CombinedOutput(); err != nil && !strings.Contains(string(out), "no server") {
			b.Errorf("mux stop: %v %s", err, out)
		}
		if w.tmux != "" {
			_ = w.command(w.tmux, "-L", "bench", "kill-server").Run()
		}
		_ = os.RemoveAll(dir)
	})
	return w
}

func (w *world) command(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = w.env, w.dir
	return cmd
}

func (w *world) run(argv ...string) string {
	w.b.Helper()
	out, err := w.command(argv...).CombinedOutput()
	if err != nil {
		w.b.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

// session starts the same command in a session of gc and, if installed, of
// tmux, and waits until its output is on both screens.
func (w *world) session(name, command, shows string) {
	w.b.Helper()
	w.run(w.gc, "session", "new", name, "--", command)
	w.run(w.gc, "session", "wait", name, "--until", "text="+shows, "--timeout", "20s")
	if w.tmux == "" {
		return
	}
	name = strings.ReplaceAll(name, ".", "_") // as tmux names it
	w.run(w.tmux, "-L", "bench", "-f", "/dev/null", "new-session", "-d", "-s", name, "-x", "120", "-y", "40", command)
	w.until("tmux shows "+shows, func() bool {
		return strings.Contains(w.run(w.tmux, "-L", "bench", "capture-pane", "-p", "-t", name), shows)
	})
}

// stop stops both, so that a benchmark can start afresh.
func (w *world) stop() {
	w.b.Helper()
	w.run(w.gc, "mux", "stop", "--force")
	if w.tmux != "" {
		w.run(w.tmux, "-L", "bench", "kill-server")
	}
}

func (w *world) until(what string, ok func() bool) {
	w.b.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			w.b.Fatalf("did not happen: %s", what)
		}
	}
}

// daemons returns the pids of the mux server and its keeper.
func (w *world) daemons() (server, keeper int) {
	w.b.Helper()
	var s struct{ Server, Keeper struct{ PID int } }
	if err := json.Unmarshal([]byte(w.run(w.gc, "mux", "status", "--json")), &s); err != nil {
		w.b.Fatal(err)
	}
	return s.Server.PID, s.Keeper.PID
}

func (w *world) tmuxPID() int {
	w.b.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(w.run(w.tmux, "-L", "bench", "display", "-p", "#{pid}")))
	if err != nil {
		w.b.Fatal(err)
	}
	return pid
}

// memory is a process's resident and proportional set size in bytes. The
// anonymous part of the latter (own) does not change when other processes run
// the same program.
type memory struct{ rss, pss, own, private int64 }

func (m memory) plus(o memory) memory {
	return memory{m.rss + o.rss, m.pss + o.pss, m.own + o.own, m.private + o.private}
}

func (m memory) String() string {
	return fmt.Sprintf("RSS %.1f MB, PSS %.1f MB, private %.1f MB", float64(m.rss)/1e6, float64(m.pss)/1e6, float64(m.private)/1e6)
}

func memoryOf(b *testing.B, pid int) (m memory) {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Skipf("no smaps here: %v", err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		kb, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "Rss:":
			m.rss += kb << 10
		case "Pss:":
			m.pss += kb << 10
		case "Pss_Anon:", "Pss_Shmem:":
			m.own += kb << 10
		case "Private_Clean:", "Private_Dirty:":
			m.private += kb << 10
		}
	}
	return m
}

// waitText waits for a text on a session's screen.
func (w *world) waitText(c *client.Client, name, text string) {
	w.b.Helper()
	r, err := c.Wait(context.Background(), name, api.WaitRequest{Conditions: []api.Condition{{Text: text}}, Timeout: time.Minute})
	if err != nil || r.Met != 0 {
		w.b.Fatalf("%s: wait for %s: %+v, %v", name, text, r, err)
	}
}
