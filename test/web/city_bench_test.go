//go:build e2e

package web

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/creack/pty"

	"gascity.dev/gc/vt"
)

// BenchmarkCity is gc ui and gc web over a city of 100 and of 500 agents that do nothing: how long
// until the first picture has them all, a filter, a grid; and what each process uses meanwhile.
func BenchmarkCity(b *testing.B) {
	for _, n := range []int{100, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { crowd(b, n) })
	}
}

func crowd(b *testing.B, n int) {
	w := newPlace(b)
	config := fmt.Sprintf("[workspace]\nname = \"town\"\n[[agents]]\nname = \"w\"\nstart_command = \"echo ready; read x\"\n[agents.pool]\nmin = %[1]d\nmax = %[1]d\n", n)
	if err := os.WriteFile(filepath.Join(w.dir, "city.toml"), []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	w.run("start")
	b.Cleanup(func() { w.run("stop") })
	var city struct {
		Controller struct{ PID int }
		Agents     []struct{ State string }
	}
	await(b, "agents that run", 5*time.Minute, func() bool {
		if err := json.Unmarshal([]byte(w.run("status", "--json")), &city); err != nil {
			b.Fatal(err)
		}
		up := 0
		for _, a := range city.Agents {
			if a.State == "running" {
				up++
			}
		}
		return up == n
	})
	var mux struct{ Server, Keeper struct{ PID int } }
	if err := json.Unmarshal([]byte(w.run("mux", "status", "--json")), &mux); err != nil {
		b.Fatal(err)
	}
	w.serve()
	c := &costs{b, map[string][]int{"controller": {city.Controller.PID}, "mux": {mux.Server.PID}, "keeper": {mux.Keeper.PID}, "web": {w.web.Process.Pid}}}
	c.settle()
	b.ReportMetric(load(b), "load")
	c.idle("-alone")
	w.crowdInTerminal(b, n, c)
	w.crowdInBrowser(b, n, c)
	for range b.N {
	}
}

// crowdInTerminal measures gc ui.
func (w *town) crowdInTerminal(b *testing.B, n int, c *costs) {
	all := fmt.Sprintf(" %d agents", n)
	var first []float64
	for range 4 { // the first one also reads the program from the disk
		t := w.sits(b)
		first = append(first, t.until(func(s string) bool { return strings.Contains(s, all) }))
		t.types("q")
		t.ends()
	}
	slices.Sort(first[1:])
	b.ReportMetric(first[2], "ms-ui-list")
	t := w.sits(b)
	t.until(func(s string) bool { return strings.Contains(s, all) && strings.Contains(s, "│ready") })
	c.pids["ui"] = family(b, t.pid)
	c.idle("-ui")
	delete(c.pids, "ui")
	t.types(fmt.Sprintf("/w-%d", n))
	b.ReportMetric(t.until(func(s string) bool {
		return strings.Count(s, " w-") <= 3 && strings.Contains(s, fmt.Sprintf("w-%d ", n))
	}), "ms-ui-filter")
	t.types("\r")
	t.until(func(s string) bool { return !strings.Contains(s, "enter keep") })
	t.types("\x1b")
	t.until(func(s string) bool { return strings.Count(s, " w-") > 20 })
	t.types("g")
	b.ReportMetric(t.until(func(s string) bool { return strings.Count(s, "ready") >= 4 && !strings.Contains(s, "pool w") }), "ms-ui-grid")
	t.types("q")
	t.types("q")
	t.ends()
}

// crowdInBrowser measures gc web.
func (w *town) crowdInBrowser(b *testing.B, n int, c *costs) {
	p := open(b, w.first, wide)
	p.to("fleet")
	listed := fmt.Sprintf(`document.querySelectorAll('[data-agent]').length === %d`, n)
	p.wait(listed)
	var first []float64
	for range 3 {
		p.do(chromedp.Reload())
		first = append(first, eval[float64](p, fmt.Sprintf(`new Promise((end) => { const look = () => { if (%s) end(performance.now()); else requestAnimationFrame(look); }; look(); })`, listed)))
	}
	slices.Sort(first)
	b.ReportMetric(first[1], "ms-web-list")
	p.run(`window.gc.view.resize('large'); 0`)
	p.wait(`[...document.querySelectorAll('canvas.cells')].filter((c) => c.width > 300).length >= 8`)
	c.idle("-web")
	p = open(b, "http://"+w.address+"/#token="+w.link(), wide) // a page has a minute
	p.to("fleet")
	p.wait(listed)
	took := func(change, done string) float64 {
		return eval[float64](p, fmt.Sprintf(`new Promise((end) => { const began = performance.now(); %s;
			const look = () => { if (%s) end(performance.now() - began); else requestAnimationFrame(look); }; look(); })`, change, done))
	}
	b.ReportMetric(took(fmt.Sprintf(`const f = window.gc.view.filter; f.value = 'w-%d'; f.dispatchEvent(new Event('input'))`, n),
		`document.querySelectorAll('[data-agent]').length === 1`), "ms-web-filter")
	b.ReportMetric(took(`const f = window.gc.view.filter; f.value = ''; f.dispatchEvent(new Event('input'))`, listed), "ms-web-unfilter")
	b.ReportMetric(took(`window.gc.view.resize('grid3')`,
		`[...document.querySelectorAll('canvas.cells')].filter((c) => c.width > 300).length >= 9`), "ms-web-grid")
}

// costs are the processes whose CPU time is measured.
type costs struct {
	b    *testing.B
	pids map[string][]int
}

func (c *costs) used() map[string]time.Duration {
	out := map[string]time.Duration{}
	for name, pids := range c.pids {
		for _, pid := range pids {
			out[name] += exactCPU(c.b, pid)
		}
	}
	return out
}

// settle waits until what a start leaves to do, such as compacting memory, has ended.
func (c *costs) settle() {
	await(c.b, "processes that rest", 2*time.Minute, func() bool {
		before := c.used()
		time.Sleep(3 * time.Second)
		for name, used := range c.used() {
			if used-before[name] > 10*time.Millisecond {
				return false
			}
		}
		return true
	})
}

// idle reports what the processes use while nothing changes.
func (c *costs) idle(what string) {
	const seconds = 30           // the controller's patrol comes once in them
	time.Sleep(12 * time.Second) // the multiplexer releases memory for ten seconds after a read
	before := c.used()
	time.Sleep(seconds * time.Second) // the time is what is measured
	for name, used := range c.used() {
		c.b.ReportMetric(100*(used-before[name]).Seconds()/seconds, "%core-"+name+what)
	}
}

func await(b *testing.B, what string, limit time.Duration, ok func() bool) {
	b.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("no %s", what)
		}
	}
}

// load is how many processes wanted a processor in the last minute.
func load(b *testing.B) (one float64) {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		b.Fatal(err)
	}
	fmt.Sscan(string(data), &one)
	return one
}

// family is a process and its descendants.
func family(b *testing.B, pid int) (all []int) {
	all = []int{pid}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if err != nil {
			continue // it ended
		}
		for _, field := range strings.Fields(string(data)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, family(b, child)...)
		}
	}
	return all
}

// sitting is a person at a terminal with gc ui.
type sitting struct {
	b   *testing.B
	tty *os.File
	pid int

	ended chan struct{}
	mu    sync.Mutex // guards all below
	term  *vt.Terminal
	began time.Time // of what the next wait is for
	shown chan struct{}
}

func (w *town) sits(b *testing.B) *sitting {
	b.Helper()
	term, err := vt.New(vt.Options{Cols: 120, Rows: 40})
	if err != nil {
		b.Fatal(err)
	}
	s := &sitting{b: b, term: term, began: time.Now(), ended: make(chan struct{}), shown: make(chan struct{}, 1)}
	cmd := w.command("ui")
	if s.tty, err = pty.StartWithSize(cmd, &pty.Winsize{Cols: 120, Rows: 40}); err != nil {
		b.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	go func() {
		defer close(s.ended)
		defer cmd.Wait()
		buf := make([]byte, 64<<10)
		for {
			n, err := s.tty.Read(buf)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.term.Write(buf[:n])
			replies := s.term.TakeReplies()
			s.mu.Unlock()
			s.tty.Write(replies)
			select {
			case s.shown <- struct{}{}:
			default:
			}
		}
	}()
	return s
}

// types types keys; the next wait measures from here.
func (s *sitting) types(keys string) {
	s.began = time.Now()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.b.Fatal(err)
	}
}

// until returns after how many milliseconds the screen is as wanted.
func (s *sitting) until(ok func(screen string) bool) float64 {
	s.b.Helper()
	limit := time.After(time.Minute)
	for {
		s.mu.Lock()
		screen := s.term.ScreenText()
		s.mu.Unlock()
		if ok(screen) {
			return float64(time.Since(s.began).Microseconds()) / 1000
		}
		select {
		case <-s.shown:
		case <-limit:
			s.b.Fatalf("gc ui shows\n%s", screen)
		}
	}
}

// ends waits until gc ui has ended.
func (s *sitting) ends() {
	<-s.ended
	s.tty.Close()
}
