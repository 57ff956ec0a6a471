package bench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/mux/api"
)

// BenchmarkMemory: server and keeper idle without sessions, and the increase
// for sessions that each have shown one screen of text.
func BenchmarkMemory(b *testing.B) {
	const sessions, cols, rows = 200, 120, 40
	w := newWorld(b)
	w.needTmux()
	file := filepath.Join(w.dir, "screen")
	writeLoad(b, file, rows*(cols+1), textLine(cols))
	for b.Loop() {
		w.session("base", "echo up; exec sleep 1000", "up")
		server, keeper := w.daemons()
		pid := w.tmuxPID()
		w.run(w.gc, "session", "kill", "base")
		empty, emptyTmux := w.atRest(server, keeper), memoryOf(b, pid)
		b.Logf("no session; %s\n  server  %v\n  keeper  %v\n  both    %v\n  tmux    %v",
			machine(), memoryOf(b, server), memoryOf(b, keeper), empty, emptyTmux)
		judge(b, target{
			name: "memory, server + keeper, no session", gc: mb(empty.pss), tmux: mb(emptyTmux.pss) + " (one session)",
			value: float64(empty.pss) / 1e6, unit: "MB", must: 10, goal: 6,
		})
		w.screens(sessions, file)
		full, fullTmux := w.atRest(server, keeper), memoryOf(b, pid)
		each := func(full, empty int64) float64 { return float64(full-empty) / sessions / 1e3 }
		ours := each(full.own, empty.own) // pages of the program come and go
		b.Logf("%d sessions: %v; all memory of their journals, mapped or not: %.1f kB each", sessions, full, each(journals(b, keeper), 0))
		judge(b, target{
			name: fmt.Sprintf("memory of a session after one screen, of %d", sessions), gc: fmt.Sprintf("%.1f kB (%.1f with pages of the program)", ours, each(full.pss, empty.pss)),
			tmux: fmt.Sprintf("%.1f kB", each(fullTmux.pss, emptyTmux.pss)), value: ours, unit: "kB", must: 16, goal: 12,
		})
		w.stop()
	}
}

// screens starts sessions in both that show the file, without its last newline,
// and sleep; it returns when all do.
func (w *world) screens(count int, file string) {
	w.b.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		w.b.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	last := lines[len(lines)-1]
	command := fmt.Sprintf(`printf %%s "$(cat %s)"; exec sleep 1000`, file)
	c := w.client()
	defer func() { _ = c.Close() }()
	name := func(i int) string { return fmt.Sprintf("s%d", i) }
	var asked []api.PeekRequest
	for i := range count {
		asked = append(asked, api.PeekRequest{Name: name(i), Screen: true})
		w.create(c, name(i), command)
		w.run(w.tmux, "-L", "bench", "new-session", "-d", "-s", name(i), "-x", "120", "-y", "40", command)
	}
	w.until("gc shows the screens", func() bool {
		got, err := c.PeekMany(context.Background(), asked)
		return err == nil && !slices.ContainsFunc(got, func(r api.PeekResult) bool { return !strings.Contains(r.Text, last) })
	})
	for i := range count {
		w.until("tmux shows the screen", func() bool {
			return strings.Contains(w.run(w.tmux, "-L", "bench", "capture-pane", "-p", "-t", name(i)), last)
		})
	}
}

// textLine makes lines of the given width: words, and numbers unique to each
// line.
func textLine(cols int) func(*rand.Rand, *bytes.Buffer) {
	return func(r *rand.Rand, out *bytes.Buffer) {
		end := out.Len() + cols
		for out.Len() < end {
			if r.IntN(4) == 0 {
				fmt.Fprintf(out, "%d ", r.IntN(1e6))
			} else {
				out.WriteString(words[r.IntN(len(words))] + " ")
			}
		}
		out.Truncate(end - 1)
		out.WriteString(".\n")
	}
}

// journals is the memory of all journals held by a keeper. Parts that a server
// has not mapped are in no process's PSS.
func journals(b *testing.B, keeper int) (bytes int64) {
	b.Helper()
	held, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", keeper))
	if err != nil || len(held) == 0 {
		b.Fatalf("no descriptors of the keeper: %v", err)
	}
	for _, fd := range held {
		to, err := os.Readlink(fd)
		if err == nil && strings.HasPrefix(to, "/memfd:gc-journal") {
			bytes += allocatedBytes(b, fd)
		}
	}
	return bytes
}

// allocatedBytes is a file's size without its holes.
func allocatedBytes(b *testing.B, path string) int64 {
	b.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		b.Fatal(err)
	}
	return st.Blocks * 512 // stat(2)
}

func mb(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
