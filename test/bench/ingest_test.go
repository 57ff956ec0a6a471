package bench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// ingestRounds is how often each workload is fed to both.
const ingestRounds = 3

// words make up the workloads; wide ones have two columns per character.
var (
	words = []string{"session", "terminal", "agent", "the", "of", "server.go", "passed", "0.042s", "func", "return", "error", "main", "build", "ok"}
	wide  = []string{"終端", "会話", "作業者", "完了しました", "错误", "文件", "测试通过", "한국어"}
)

// plainLine is a line of words without any escape sequence.
func plainLine(r *rand.Rand, out *bytes.Buffer) {
	for n := 40 + r.IntN(60); n > 0; {
		word := words[r.IntN(len(words))]
		out.WriteString(word)
		out.WriteByte(' ')
		n -= len(word) + 1
	}
	out.WriteByte('\n')
}

// colourLine is an entry of `ls -l --color`.
func colourLine(r *rand.Rand, out *bytes.Buffer) {
	colours := []string{"01;34", "01;32", "01;36", "40;33;01", "0"}
	fmt.Fprintf(out, "-rw-r--r-- 1 root root %8d Mar %2d 12:%02d \x1b[0m\x1b[%sm%s\x1b[0m\n",
		r.IntN(1<<24), 1+r.IntN(28), r.IntN(60), colours[r.IntN(len(colours))], words[r.IntN(len(words))])
}

// wideLine is a line in which about 30 % of the characters are not ASCII.
func wideLine(r *rand.Rand, out *bytes.Buffer) {
	for n := 20 + r.IntN(30); n > 0; n -= 6 {
		if r.IntN(100) < 45 {
			out.WriteString(wide[r.IntN(len(wide))])
		} else {
			out.WriteString(words[r.IntN(len(words))])
		}
		out.WriteByte(' ')
	}
	out.WriteByte('\n')
}

// BenchmarkIngest: bytes of output per second of server CPU. For gc that is
// server and keeper together.
func BenchmarkIngest(b *testing.B) {
	for _, load := range []struct {
		name       string
		line       func(*rand.Rand, *bytes.Buffer)
		bytes      int
		must, goal float64
	}{
		{"plain", plainLine, 40 << 20, 1.5, 2},
		{"SGR", colourLine, 30 << 20, 3, 5},
		{"30 % non-ASCII", wideLine, 20 << 20, 4, 8},
	} {
		b.Run(load.name, func(b *testing.B) {
			w := newWorld(b)
			w.needTmux()
			file := filepath.Join(w.dir, "load")
			writeLoad(b, file, load.bytes, load.line)
			w.session("base", "echo up; exec sleep 1000", "up")
			for b.Loop() {
				ours, theirs := w.ingest(file)
				rate := func(d time.Duration) float64 { return float64(load.bytes) / 1e6 / d.Seconds() }
				b.ReportMetric(rate(median(ours)), "gc-MB/cpu-s")
				b.ReportMetric(rate(median(theirs)), "tmux-MB/cpu-s")
				shown := func(all []time.Duration) string {
					return fmt.Sprintf("%.1f MB/s (best %.1f)", rate(median(all)), rate(slices.Min(all)))
				}
				judge(b, target{
					name: "ingest, " + load.name, gc: shown(ours), tmux: shown(theirs), unit: "×",
					value: ratio(median(theirs), median(ours)), must: load.must, goal: load.goal, atLeast: true,
				})
			}
		})
	}
}

// writeLoad writes size bytes of lines, the same in every run.
func writeLoad(b *testing.B, path string, size int, line func(*rand.Rand, *bytes.Buffer)) {
	b.Helper()
	var out bytes.Buffer
	for r := rand.New(rand.NewPCG(1, 2)); out.Len() < size; {
		line(r, &out)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
}

// ingest has both show the file in turn, each with its default history, and
// returns the CPU times.
func (w *world) ingest(file string) (ours, theirs []time.Duration) {
	w.b.Helper()
	server, keeper := w.daemons()
	tmux := w.tmuxPID()
	c := w.client()
	for i := range ingestRounds {
		name := fmt.Sprintf("load-%d", i)
		before := cpu(w.b, server, keeper)
		w.create(c, name, "exec cat "+file)
		w.waitExit(c, name)
		ours = append(ours, cpu(w.b, server, keeper)-before)

		before = cpu(w.b, tmux)
		w.run(w.tmux, "-L", "bench", "new-session", "-d", "-s", name, "-x", "120", "-y", "40", "cat "+file+"; exec tmux wait-for -S "+name)
		w.run(w.tmux, "-L", "bench", "wait-for", name)
		theirs = append(theirs, cpu(w.b, tmux)-before)
	}
	return ours, theirs
}

// create starts a session of 120x40 over an existing connection.
func (w *world) create(c *client.Client, name, command string) {
	w.b.Helper()
	r := api.CreateRequest{Name: name, Command: command, WorkDir: w.dir, Env: w.env, Cols: 120, Rows: 40}
	if _, err := c.Create(context.Background(), r); err != nil {
		w.b.Fatal(err)
	}
}

// waitExit returns when all of a session's output is on its screen.
func (w *world) waitExit(c *client.Client, name string) {
	w.b.Helper()
	r := api.WaitRequest{Conditions: []api.Condition{{Exit: true}}, Timeout: time.Minute}
	got, err := c.Wait(context.Background(), name, r)
	if err != nil || got.TimedOut || got.Exit == nil || got.Exit.Code != 0 {
		w.b.Fatalf("wait for the end of %s: %+v, %v", name, got, err)
	}
}

func median(all []time.Duration) time.Duration { return (&samples{all: all}).median() }
