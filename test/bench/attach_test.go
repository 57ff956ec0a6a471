package bench

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/creack/pty"
)

// BenchmarkAttach: from the start of the attaching process until the last line
// of the session's screen has reached its terminal.
func BenchmarkAttach(b *testing.B) {
	w := newWorld(b)
	w.needTmux()
	w.session("p", screenful, "ready")
	ours, theirs := &samples{name: "gc"}, &samples{name: "tmux"}
	for b.Loop() {
		for range rounds {
			theirs.add(w.attach(41, w.tmux, "-L", "bench", "attach", "-t", "p")) // tmux uses one row itself
			ours.add(w.attach(40, w.gc, "session", "attach", "p"))
		}
	}
	table(b, "attach to full screen", theirs, ours)
	judge(b, target{
		name: "attach to full screen", gc: ms(ours.median()) + " (least " + ms(ours.min()) + ")",
		tmux:  ms(theirs.median()) + " (least " + ms(theirs.min()) + ")",
		value: ratio(ours.median(), theirs.median()), unit: "×", must: 1, goal: 0.5,
	})
}

// attach runs a command on a terminal until it shows "ready", and then closes
// the terminal. It returns the time up to "ready".
func (w *world) attach(rows uint16, argv ...string) time.Duration {
	w.b.Helper()
	start := time.Now()
	cmd, tty := w.attached(rows, argv...)
	took := time.Since(start)
	_ = tty.Close()
	_ = cmd.Wait() // the hangup ends it: ignore the status
	return took
}

// attached runs a command on a terminal, and returns when it shows "ready".
func (w *world) attached(rows uint16, argv ...string) (*exec.Cmd, *os.File) {
	w.b.Helper()
	cmd := w.command(argv...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 120, Rows: rows})
	if err != nil {
		w.b.Fatal(err)
	}
	var shown bytes.Buffer
	for buf := make([]byte, 1<<15); !bytes.Contains(shown.Bytes(), []byte("ready")); {
		n, err := tty.Read(buf)
		if err != nil {
			w.b.Fatalf("%v: %v after %q", argv, err, shown.Bytes())
		}
		shown.Write(buf[:n])
	}
	return cmd, tty
}
