//go:build e2e

package web

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// BenchmarkWeb measures gc web with 100 agents, ten of which print, all thumbnails
// that fit a wide window shown: the CPU of its server, the frames of the page, and
// the echo of a typed key beside that of gc attach.
func BenchmarkWeb(b *testing.B) {
	w := newPlace(b)
	for i := range 100 {
		script := "echo ready; exec sleep 100000"
		if i < 10 {
			script = "i=0; while :; do i=$((i+1)); echo line $i of output that goes on; sleep 0.05; done"
		}
		w.run("session", "new", fmt.Sprintf("a%02d", i), "--size", "100x30", "--", "sh", "-c", script)
	}
	w.run("session", "new", "echo", "--", "sh", "-c", "stty -icanon; exec cat >/dev/null")
	w.serve()
	p := open(b, w.first, wide)
	p.to("fleet")
	p.wait(`[...document.querySelectorAll('canvas.cells')].filter((c) => c.width > 300).length >= 10`)
	const seconds = 8
	before := cpu(b, w.web.Process.Pid)
	frames := eval[float64](p, fmt.Sprintf(`new Promise((done) => { let n = 0; const end = performance.now() + %d000;
		const f = () => { n++; if (performance.now() < end) requestAnimationFrame(f); else done(n); }; requestAnimationFrame(f); })`, seconds))
	used := cpu(b, w.web.Process.Pid) - before
	b.ReportMetric(100*used.Seconds()/seconds, "%core")
	b.ReportMetric(frames/seconds, "frames/s")

	p.to("agent/echo")
	p.on("")
	p.wait(`window.gc.view.terminal.size`)
	p.keys("t")
	p.see("Release control")
	p.wait(`window.gc.view.terminal.term.cols !== 120`)
	browser := eval[float64](p, `(async () => { const t = window.gc.view.terminal, all = [];
		await new Promise((r) => setTimeout(r, 1000));
		for (let i = 0; i < 60; i++) {
			const began = performance.now();
			const shown = new Promise((done) => { const d = t.term.onWriteParsed(() => { d.dispose(); done(); }); });
			t.press('x');
			await shown;
			all.push(performance.now() - began);
			await new Promise((r) => setTimeout(r, 20));
		}
		return all.sort((a, b) => a - b)[30]; })()`)
	native := nativeEcho(b, w)
	b.ReportMetric(browser, "ms-echo")
	b.ReportMetric(native, "ms-attach")
	for range b.N {
	}
}

// cpu is what a process has used.
func cpu(b *testing.B, pid int) time.Duration {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+2:]))
	var ticks int
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// nativeEcho is the median of the same keys typed into gc attach.
func nativeEcho(b *testing.B, w *town) float64 {
	b.Helper()
	tty, err := pty.StartWithSize(w.command("session", "attach", "echo"), &pty.Winsize{Cols: 120, Rows: 40})
	if err != nil {
		b.Fatal(err)
	}
	defer tty.Close()
	got := make(chan string, 100)
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := tty.Read(buf)
			if err != nil {
				return
			}
			got <- string(buf[:n])
		}
	}()
	for quiet := false; !quiet; {
		select {
		case <-got:
		case <-time.After(time.Second):
			quiet = true
		}
	}
	var all []float64
	for range 60 {
		began := time.Now()
		if _, err := tty.Write([]byte("y")); err != nil {
			b.Fatal(err)
		}
		for !strings.Contains(<-got, "y") {
		}
		all = append(all, float64(time.Since(began).Microseconds())/1000)
	}
	slices.Sort(all)
	return all[30]
}
