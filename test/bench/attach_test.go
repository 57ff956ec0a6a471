package bench

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/creack/pty"
)

// BenchmarkAttach: from the start of the process that attaches until the last
// line of the session's screen has reached its terminal.
func BenchmarkAttach(b *testing.B) {
	w := newWorld(b)
	w.needTmux()
	w.session("p", screenful, "ready")
	ours, theirs := &samples{name: "gc"}, &samples{name: "tmux"}
	for b.Loop() {
		for range rounds {
			theirs.add(w.attach(41, w.tmux, "-L", "bench", "attach", "-t", "p")) // one row is tmux's own
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

// attach runs a command on a terminal until "ready" is shown, and then lets it
// die with that terminal. It returns the time up to there, without the dying.
func (w *world) attach(rows uint16, argv ...string) time.Duration {
	w.b.Helper()
	start := time.Now()
	cmd, tty := w.attached(rows, argv...)
	took := time.Since(start)
	_ = tty.Close()
	_ = cmd.Wait() // the hangup is its end, so the status says nothing
	return took
}

// attached runs a command on a terminal, and returns when "ready" was shown.
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
