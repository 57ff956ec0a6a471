package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/vt"
)

// coreBytes is the size of each workload; coreChunk is the most that one read
// of a PTY returns.
const (
	coreBytes = 16 << 20
	coreChunk = 4096
)

// cjkLine is a line of ideographs with some fullwidth punctuation.
func cjkLine(r *rand.Rand, out *bytes.Buffer) {
	for n := 5 + r.IntN(40); n > 0; n-- {
		out.WriteRune(0x4e00 + rune(r.IntN(0x5000)))
		if r.IntN(12) == 0 {
			out.WriteString("，")
		}
	}
	out.WriteByte('\n')
}

// agentFrame is one repaint of an agent's box and status line, in a
// synchronized update.
func agentFrame(r *rand.Rand, out *bytes.Buffer) {
	out.WriteString("\x1b[?2026h\x1b[?25l\x1b[10;1H\x1b[J")
	for range 4 {
		fmt.Fprintf(out, "\x1b[38;2;%d;%d;%dm●\x1b[39m \x1b[1m%s\x1b[22m", r.IntN(8)*32, r.IntN(8)*32, 200, words[r.IntN(len(words))])
		for range r.IntN(9) {
			fmt.Fprintf(out, " %s", words[r.IntN(len(words))])
		}
		out.WriteByte('\n')
	}
	rule := strings.Repeat("─", 60)
	fmt.Fprintf(out, "\x1b[2m╭%s╮\x1b[22m\n\x1b[2m│\x1b[22m > \x1b[7m \x1b[27m%56s\x1b[2m│\x1b[22m\n\x1b[2m╰%s╯\x1b[22m\n", rule, "", rule)
	fmt.Fprintf(out, "\x1b[38;5;%dm⠋\x1b[39m Working… (%ds)\x1b[K\x1b[?25h\x1b[?2026l", 208+r.IntN(4), r.IntN(90))
}

// BenchmarkCore compares the emulator alone with tmux, which can only be fed
// through its PTY: bytes per second of CPU at 80x24, each with its default
// history. tmux's figure includes reading the PTY.
func BenchmarkCore(b *testing.B) {
	for _, load := range []struct {
		name       string
		line       func(*rand.Rand, *bytes.Buffer)
		must, goal float64
	}{
		{"plain", plainLine, 5, 8},
		{"ls", colourLine, 8, 12},
		{"CJK", cjkLine, 10, 17},
		{"agent UI", agentFrame, 7, 12},
	} {
		b.Run(load.name, func(b *testing.B) {
			w := newWorld(b)
			w.needTmux()
			file := filepath.Join(w.dir, "load")
			writeLoad(b, file, coreBytes, load.line)
			data, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				ours, theirs := w.core(file, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
				rate := func(d time.Duration) float64 { return float64(len(data)) / 1e6 / d.Seconds() }
				shown := func(all []time.Duration) string {
					return fmt.Sprintf("%.1f MB/s (best %.1f)", rate(median(all)), rate(slices.Min(all)))
				}
				judge(b, target{
					name: "core, " + load.name, gc: shown(ours), tmux: shown(theirs), unit: "×",
					value: ratio(median(theirs), median(ours)), must: load.must, goal: load.goal, atLeast: true,
				})
			}
		})
	}
}

// core feeds both in turn and returns the CPU times: of this process for the
// emulator, which does nothing else meanwhile, and of tmux's server.
func (w *world) core(file string, data []byte) (ours, theirs []time.Duration) {
	w.b.Helper()
	w.run(w.tmux, "-L", "bench", "new-session", "-d", "-s", "base", "sleep 1000")
	defer w.run(w.tmux, "-L", "bench", "kill-session", "-t", "base")
	tmux := w.tmuxPID()
	for i := range ingestRounds {
		term, err := vt.New(vt.Options{Cols: 80, Rows: 24})
		if err != nil {
			w.b.Fatal(err)
		}
		began := ownCPU(w.b)
		for part := range slices.Chunk(data, coreChunk) {
			_, _ = term.Write(part)
		}
		ours = append(ours, ownCPU(w.b)-began)

		name := fmt.Sprintf("core-%d", i)
		before := cpu(w.b, tmux)
		w.run(w.tmux, "-L", "bench", "new-session", "-d", "-s", name, "-x", "80", "-y", "24", "cat "+file+"; exec tmux wait-for -S "+name)
		w.run(w.tmux, "-L", "bench", "wait-for", name)
		theirs = append(theirs, cpu(w.b, tmux)-before)
	}
	return ours, theirs
}

// ownCPU is this process's user and system time so far, getrusage(2).
func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
