package bench

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// control is a persistent connection to tmux, in control mode.
type control struct {
	b   *testing.B
	in  io.WriteCloser
	out *bufio.Reader
}

// control attaches to tmux's session name in control mode.
func (w *world) control(name string) *control {
	w.b.Helper()
	cmd := w.command(w.tmux, "-L", "bench", "-C", "attach", "-t", name)
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
	w.b.Cleanup(func() { // before the world's: closing the input detaches
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	c := &control{b: w.b, in: in, out: bufio.NewReaderSize(out, 1<<16)}
	c.answer() // to the attach itself
	return c
}

// ask sends commands in one write, reads an answer to each, and returns the
// last.
func (c *control) ask(commands ...string) string {
	c.b.Helper()
	if _, err := io.WriteString(c.in, strings.Join(commands, "\n")+"\n"); err != nil {
		c.b.Fatal(err)
	}
	last := ""
	for range commands {
		last = c.answer()
	}
	return last
}

// answer reads the lines between the next %begin and its %end.
func (c *control) answer() string {
	c.b.Helper()
	var body strings.Builder
	for inside := false; ; {
		line, err := c.out.ReadString('\n')
		if err != nil {
			c.b.Fatalf("tmux control mode: %v", err)
		}
		switch {
		case !inside:
			inside = strings.HasPrefix(line, "%begin ")
		case strings.HasPrefix(line, "%error "):
			c.b.Fatalf("tmux control mode: %s", body.String())
		case strings.HasPrefix(line, "%end "):
			return body.String()
		default:
			body.WriteString(line)
		}
	}
}

// client is a persistent connection to the mux server, which must be running.
func (w *world) client() *client.Client {
	w.b.Helper()
	c, err := client.Dial(context.Background(), w.paths())
	if err != nil {
		w.b.Fatal(err)
	}
	w.b.Cleanup(func() { _ = c.Close() })
	return c
}

// paths returns the paths of the world's server.
func (w *world) paths() api.Paths {
	w.b.Helper()
	p, err := api.DefaultPaths(w.getenv)
	if err != nil {
		w.b.Fatal(err)
	}
	return p
}

func (w *world) getenv(key string) string {
	for _, kv := range w.env {
		if k, v, _ := strings.Cut(kv, "="); k == key {
			return v
		}
	}
	return ""
}

// needTmux ends a benchmark that is meaningless without tmux.
func (w *world) needTmux() {
	w.b.Helper()
	if w.tmux == "" {
		w.b.Skip("tmux is not installed: nothing to compare with")
	}
}

// cpu is the CPU time of processes so far, from their clocks: in nanoseconds,
// including threads that have ended.
func cpu(b *testing.B, pids ...int) (sum time.Duration) {
	b.Helper()
	for _, pid := range pids {
		const scheduled = 2 // CPUCLOCK_SCHED of the kernel, which clock_getcpuclockid(3) makes ids of
		var t unix.Timespec
		if err := unix.ClockGettime(int32(^pid<<3|scheduled), &t); err != nil {
			b.Skipf("no CPU times here: %v", err)
		}
		sum += time.Duration(t.Nano())
	}
	return sum
}
