package bench

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkHistory: the size of a line of 100 columns in the history, in memory
// and, for gc, on disk. The default keeps 100,000 lines.
func BenchmarkHistory(b *testing.B) {
	const lines, cols = 90_000, 100
	w := newWorld(b)
	w.needTmux()
	file := filepath.Join(w.dir, "lines")
	writeLoad(b, file, lines*(cols+1), textLine(cols))
	for b.Loop() {
		w.session("base", "echo up; exec sleep 1000", "up")
		w.run(w.tmux, "-L", "bench", "set-option", "-g", "history-limit", strconv.Itoa(2*lines))
		server, keeper := w.daemons()
		pid := w.tmuxPID()
		empty, emptyTmux := w.atRest(server, keeper), memoryOf(b, pid)
		w.session("h", "cat "+file+"; echo ready; exec sleep 1000", "ready")
		full, fullTmux := w.atRest(server, keeper), memoryOf(b, pid)
		each := func(n int64) float64 { return float64(n) / lines }
		ours := each(full.own - empty.own) // pages of the program come and go
		disk := w.historyOnDisk()
		b.Logf("%d lines: %v, of none %v; %d bytes on disk; all memory of the journals, mapped or not: %.1f B a line",
			lines, full, empty, disk, each(journals(b, keeper)))
		w.keepsAll(lines)
		judge(b, target{
			name: fmt.Sprintf("memory of a history line of %d columns, of %d", cols, lines),
			gc:   fmt.Sprintf("%.1f B (on disk %.1f B)", ours, each(disk)), tmux: fmt.Sprintf("%.0f B", each(fullTmux.own-emptyTmux.own)),
			value: ours, unit: "B", must: 60, goal: 20,
		})
		w.stop()
	}
}

// historyOnDisk is the size of the histories of all sessions.
func (w *world) historyOnDisk() (bytes int64) {
	w.b.Helper()
	files, err := filepath.Glob(filepath.Join(w.paths().Dir, "history", "*"))
	if err != nil || len(files) == 0 {
		w.b.Fatalf("no history on disk: %v", err)
	}
	for _, f := range files {
		bytes += allocatedBytes(w.b, f)
	}
	return bytes
}

// keepsAll fails unless both still have every line of session h.
func (w *world) keepsAll(lines int) {
	w.b.Helper()
	if n := strings.Count(w.run(w.gc, "session", "peek", "h", "--all"), "\n"); n < lines {
		w.b.Fatalf("gc has %d of %d lines", n, lines)
	}
	size := strings.TrimSpace(w.run(w.tmux, "-L", "bench", "display", "-p", "-t", "h", "#{history_size}"))
	if n, err := strconv.Atoi(size); err != nil || n < lines-40 {
		w.b.Fatalf("tmux has %q of %d lines", size, lines)
	}
}
