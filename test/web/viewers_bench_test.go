//go:build e2e

package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/creack/pty"
)

// floodScript prints a file for each line that it reads, and says how many nanoseconds that took.
const floodScript = `while read -r n; do a=$(date +%s%N); cat flood; b=$(date +%s%N); echo $((b - a)) >took; mv took "took-$n"; done`

// BenchmarkViewerCost is what viewers cost the agent that they look at: how long a program takes
// to print 16 MiB while they do, beside how long it takes alone; 1 is no cost. Slow viewers are a
// page and a terminal that read nothing; live ones are Chromium and gc attach, which need CPU time
// themselves, on a machine with few cores also the program's.
func BenchmarkViewerCost(b *testing.B) {
	w := newPlace(b)
	line := strings.Repeat("0123456789", 10) + "\n"
	if err := os.WriteFile(filepath.Join(w.dir, "flood"), []byte(strings.Repeat(line, 16<<20/len(line))), 0o600); err != nil {
		b.Fatal(err)
	}
	w.run("session", "new", "flood", "--size", "120x40", "--", "sh", "-c", floodScript)
	w.serve()
	b.Run("slow", func(b *testing.B) { w.viewerCost(b, w.slowViewers) })
	b.Run("live", func(b *testing.B) { w.viewerCost(b, w.liveViewers) })
}

// viewerCost measures pairs: alone, and with viewers.
func (w *town) viewerCost(b *testing.B, viewers func(*testing.B) (leave func())) {
	const pairs = 7
	w.flood(b) // the first one warms up
	var alone, watched, ratios []float64
	for range pairs {
		alone = append(alone, w.flood(b))
		leave := viewers(b)
		watched = append(watched, w.flood(b))
		leave()
		ratios = append(ratios, watched[len(watched)-1]/alone[len(alone)-1])
	}
	for unit, all := range map[string][]float64{"ms-alone": alone, "ms-watched": watched, "ratio": ratios} {
		slices.Sort(all)
		b.ReportMetric(all[pairs/2], unit)
	}
	for range b.N {
	}
}

// flood returns how many milliseconds the program takes to print its file.
func (w *town) flood(b *testing.B) float64 {
	b.Helper()
	path := filepath.Join(w.dir, "took-x")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		b.Fatal(err)
	}
	w.run("session", "keys", "flood", "x", "Enter")
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if data, err := os.ReadFile(path); err == nil {
			ns, err := strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
			if err != nil {
				b.Fatal(err)
			}
			return ns / 1e6
		}
	}
	b.Fatal("the program prints nothing")
	return 0
}

// slowViewers attaches a page that looks at the agent, and a terminal; neither reads what it gets.
func (w *town) slowViewers(b *testing.B) (leave func()) {
	b.Helper()
	ws := w.sleepingPage(b, `{"op":"look","looks":[{"id":"flood","rate":60}]}`, `{"op":"attach","n":1,"id":"flood","cols":120,"rows":40}`)
	tty := w.attached(b, "flood")
	return func() {
		ws.CloseNow()
		tty.Close()
	}
}

// attached is a terminal on an agent, of which one byte was read.
func (w *town) attached(b *testing.B, name string) *os.File {
	b.Helper()
	tty, err := pty.StartWithSize(w.command("session", "attach", name), &pty.Winsize{Cols: 120, Rows: 40})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := tty.Read(make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
	return tty
}

// liveViewers opens a page on the agent, and attaches a terminal that is read.
func (w *town) liveViewers(b *testing.B) (leave func()) {
	b.Helper()
	p := open(b, "http://"+w.address+"/#token="+w.link(), laptop)
	p.to("agent/flood")
	p.wait(`window.gc.view.terminal.size`)
	tty := w.attached(b, "flood")
	go io.Copy(io.Discard, tty) // until it is closed
	return func() {
		p.do(chromedp.Navigate("about:blank"))
		tty.Close()
	}
}

// BenchmarkIdlePage is what the servers use while a page shows 100 agents that do nothing, and
// before it does.
func BenchmarkIdlePage(b *testing.B) {
	w := newPlace(b)
	for i := range 100 {
		w.run("session", "new", fmt.Sprintf("a%02d", i), "--size", "100x30", "--", "sh", "-c", "echo ready; exec sleep 100000")
	}
	w.serve()
	var status struct{ Server, Keeper struct{ PID int } }
	if err := json.Unmarshal([]byte(w.run("mux", "status", "--json")), &status); err != nil {
		b.Fatal(err)
	}
	const seconds = 20
	processes := map[string]int{"web": w.web.Process.Pid, "mux": status.Server.PID, "keeper": status.Keeper.PID}
	measure := func(what string) {
		time.Sleep(15 * time.Second) // the multiplexer releases memory for ten seconds after a read
		before := map[string]time.Duration{}
		for name, pid := range processes {
			before[name] = exactCPU(b, pid)
		}
		time.Sleep(seconds * time.Second) // the time is what is measured
		for name, pid := range processes {
			used := exactCPU(b, pid) - before[name]
			b.ReportMetric(100*used.Seconds()/seconds, "%core-"+name+what)
		}
	}
	measure("-alone")
	p := open(b, w.first, wide)
	p.to("fleet")
	p.wait(`[...document.querySelectorAll('canvas.cells')].filter((c) => c.width > 300).length >= 10`)
	measure("")
	for range b.N {
	}
}

// exactCPU is what a process has used, to the nanosecond.
func exactCPU(b *testing.B, pid int) time.Duration {
	b.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		b.Fatalf("process %d: %v", pid, err)
	}
	var sum time.Duration
	for _, task := range tasks {
		var ns int64
		if data, err := os.ReadFile(task); err == nil {
			fmt.Sscan(string(data), &ns) // a thread that has ended used none
		}
		sum += time.Duration(ns)
	}
	return sum
}
