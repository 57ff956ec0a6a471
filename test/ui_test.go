//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/testenv"
)

// placedUI puts gc-ui next to the binary under test, once: the built one, or built now.
var placedUI = sync.OnceValue(func() error {
	path := filepath.Join(filepath.Dir(gcBin), "gc-ui")
	if built := os.Getenv("GC_E2E_BIN"); built != "" {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(built), "gc-ui"))
		if err != nil {
			return fmt.Errorf("make build makes it: %w", err)
		}
		return testenv.WriteProgram(path, data)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", path, "gascity.dev/gc/cmd/gc-ui")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build gc-ui: %w\n%s", err, out)
	}
	return nil
})

// viewer is gc ui in a session of our own multiplexer: its screen is what a person sees.
type viewer struct {
	*box
	name string
}

// views starts gc ui in a shell, so that what is left after its end can be seen.
func (b *box) views(size string, args ...string) *viewer {
	b.t.Helper()
	if err := placedUI(); err != nil {
		b.t.Fatal(err)
	}
	v := &viewer{b, "viewer"}
	b.gc("session", "new", "--size", size, v.name, "--", "bash", "--noprofile", "--norc", "-i")
	v.line("PS1='ready> '; clear")
	v.sees(`^ready>`)
	v.line(strings.Join(append([]string{gcBin}, args...), " ") + "; echo \"ended with $?\"")
	return v
}

func (v *viewer) line(text string) {
	v.t.Helper()
	v.gc("session", "keys", v.name, "--literal", "--", text)
	v.presses("Enter")
}

// presses presses keys by name; what begins with a quote is typed.
func (v *viewer) presses(keys ...string) {
	v.t.Helper()
	for _, k := range keys {
		if text, ok := strings.CutPrefix(k, "'"); ok {
			v.gc("session", "keys", v.name, "--literal", "--", text)
			continue
		}
		v.gc("session", "keys", v.name, k)
	}
}

func (v *viewer) screen() string {
	v.t.Helper()
	return trim(v.gc("session", "peek", v.name))
}

// sees waits for each of the patterns.
func (v *viewer) sees(patterns ...string) {
	v.t.Helper()
	for _, p := range patterns {
		re := regexp.MustCompile("(?m)" + p)
		eventually(v.t, func() string { return "no " + p + " in\n" + v.screen() }, func() bool { return re.MatchString(v.screen()) })
	}
}

// seesNot waits until none of the patterns is there.
func (v *viewer) seesNot(patterns ...string) {
	v.t.Helper()
	for _, p := range patterns {
		re := regexp.MustCompile("(?m)" + p)
		eventually(v.t, func() string { return p + " in\n" + v.screen() }, func() bool { return !re.MatchString(v.screen()) })
	}
}

// selects selects an agent, by the filter. Its facts are above its screen.
func (v *viewer) selects(agent string) {
	v.t.Helper()
	v.presses("/", "'"+agent, "Enter")
	v.sees(`^ gc .*/`+agent, `^ . `+agent+` `)
	v.presses("Home", "Escape")
	v.seesNot(`^ gc .*/`)
}

var uiSizes = []string{"80x24", "120x40", "200x60"}

// shellPrompt is a shell that is quiet about itself.
func (b *box) shells(names ...string) {
	b.t.Helper()
	for _, n := range names {
		b.gc("session", "new", "--size", "100x30", n, "--", "sh", "-c", "echo I am "+n+"; exec cat")
	}
}

func TestUIKeys(t *testing.T) {
	for _, size := range uiSizes {
		t.Run(size, func(t *testing.T) {
			b := newBox(t)
			b.shells("alpha", "beta")
			v := b.views(size, "ui")
			v.sees(`^ gc .* 3 agents, nothing needs you`, `alpha +`, `beta +`, `quit`)
			narrow := size == "80x24"
			v.selects("alpha")
			if narrow {
				v.presses("Tab")
			}
			v.sees(`100×30`, `I am alpha`)
			if narrow {
				v.presses("Tab")
			}
			v.presses("j")
			if !narrow {
				v.sees(`I am beta`)
			}
			v.presses("/", "'alp")
			v.seesNot(`^ . beta`)
			v.presses("Escape")
			v.sees(`^ . beta`)
			v.presses("f")
			v.sees("only: needs you", "nothing matches the filter")
			v.presses("Escape", "o")
			v.sees("by since")
			v.presses("o", "o", "?")
			v.sees("The selected agent", "attach; the detach keys")
			v.presses("Escape", "g")
			v.sees("I am alpha", "I am beta", "more, fewer")
			v.presses("Escape", "e")
			v.sees(`Events`, `session.started +alpha`)
			v.presses("Escape", "m")
			v.sees("no message waits")
			v.presses("Escape", "b")
			v.sees("no background command")
			v.presses("Escape", "x")
			v.sees(`Why (alpha|beta) is`, "because|activity")
			v.presses("Escape", "h")
			v.sees(`History of (alpha|beta)`, `^I am (alpha|beta)`)
			v.presses("/", "'i am", "Enter")
			v.sees(`History of .*: i am`)
			v.presses("Escape", "Escape", "q")
			v.sees(`^ended with 0`, `^ready>`)
			v.seesNot("nothing needs you")
		})
	}
}

func TestUIAttachesAndComesBack(t *testing.T) {
	b := newBox(t)
	b.shells("alpha", "beta")
	v := b.views("120x40", "ui")
	v.selects("beta")
	v.presses("Enter")
	v.seesNot("nothing needs you")
	v.presses("'typed there", "Enter")
	v.sees(`^typed there\n+typed there`)
	v.presses("C-b", "d")
	v.sees("nothing needs you", "detached from beta", "│typed there")
	// The size of the session is its own again.
	v.sees("100×30")
	v.presses("n", "'from the", "Enter", "'composer", "C-s")
	v.sees("not submitted: unverified|beta: submitted")
	v.sees("│from the", "│composer")
	v.presses("Escape", "q")
	v.sees(`ended with 0`)
}

// TestUIStopsAndLoses: an agent that dies while it is selected, one that is stopped, and a
// server that is killed and comes back.
func TestUIStopsAndLoses(t *testing.T) {
	b := newBox(t)
	b.shells("alpha", "beta", "gamma")
	v := b.views("120x40", "ui")
	v.selects("beta")
	v.sees("│I am beta")
	if err := syscall.Kill(b.session("beta").PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	v.sees(`│. beta +exited`, "last screen|no session")
	v.selects("gamma")
	v.presses("s")
	v.sees(`Stop gamma\? \[y/n\]`)
	v.presses("y")
	v.sees(`│. gamma +exited`)
	v.selects("alpha")
	v.sees("│I am alpha")
	if err := syscall.Kill(b.status().Server.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.gc("session", "nudge", "alpha", "after the crash")
	v.sees("│after the crash")
	b.gc("mux", "upgrade")
	b.gc("session", "nudge", "alpha", "after the upgrade")
	v.sees("│after the upgrade")
	v.seesNot("LOST", "no live screen")
	v.presses("q")
	v.sees(`ended with 0`)
}

func TestUIResize(t *testing.T) {
	b := newBox(t)
	b.shells("alpha")
	v := b.views("200x60", "ui")
	v.selects("alpha")
	for _, size := range []string{"80x24", "100x30", "40x10", "200x60", "120x40"} {
		b.gc("session", "resize", v.name, size)
		cols, _, _ := strings.Cut(size, "x")
		if cols == "80" || cols == "40" {
			v.seesNot("│")
		} else {
			v.sees("│I am alpha")
		}
		v.sees("^ gc ")
	}
	v.presses("q")
	v.sees(`ended with 0`)
}

// TestUIShowsWhatProgramsPrint: wide and combining characters are where the program has
// them, and control sequences stay with the program.
func TestUIShowsWhatProgramsPrint(t *testing.T) {
	b := newBox(t)
	script := b.file("evil", `stty -echo
printf '\033]0;owned\007\033[?1000h\033[?2004h日本語|\r\n'
printf 'e\314\201|\r\n👩\342\200\215💻|\r\n\033[31mred\033[0m\033]52;c;aGFjaw==\007 \033[5n\033[c'
printf 'a\342\200\256b|\r\n\033[6;1Hafter\033[?25l'
printf '\033]8;;javascript:alert(1)\033\\link\033]8;;\033\\'
cat
`)
	b.gc("session", "new", "--size", "100x30", "evil", "--", "sh", script)
	p := b.sitUI(120, 40)
	p.sees("after")
	p.sees(`│日本語\|`)
	p.sees("│e\u0301\\|")
	p.sees("│👩\u200d💻\\|")
	p.sees(`│red ab\|`)
	p.types("q")
	if code := p.done(); code != 0 {
		t.Errorf("exit %d", code)
	}
	p.restored()
	raw := p.seen()
	for _, bad := range []string{"\x1b]52;", "\x1b[5n", "\x1b[c", "\u202e", "]0;owned", "javascript"} {
		if strings.Contains(raw, bad) {
			t.Errorf("%q reached the terminal", bad)
		}
	}
}

// TestUIShowsAWideAgent: of a screen that is larger than the terminal it shows the rows around the
// cursor, the arrows reach the rest, and the agent keeps its size.
func TestUIShowsAWideAgent(t *testing.T) {
	b := newBox(t)
	b.gc("session", "new", "--size", "300x100", "wide", "--", "sh", "-c", "printf '\\033[HBEGIN\\033[100;1Hthe last row\\033[100;290Hthe corner'; exec cat")
	v := b.views("120x40", "ui")
	v.selects("wide")
	v.sees("300×100", "│the last row")
	v.presses(append([]string{"Tab"}, slices.Repeat([]string{"Right"}, 40)...)...)
	v.sees("the corner")
	v.presses("Home")
	v.sees("│the last row")
	v.presses("q")
	v.sees("ended with 0")
	if size := b.session("wide").Size; size.Cols != 300 || size.Rows != 100 {
		t.Errorf("the agent has %+v", size)
	}
}

// sitUI starts gc ui in a person's own terminal.
func (b *box) sitUI(cols, rows int, args ...string) *person {
	b.t.Helper()
	if err := placedUI(); err != nil {
		b.t.Fatal(err)
	}
	return b.sit(cols, rows, append(args, "ui")...)
}

// seen is everything that the person's terminal got.
func (p *person) seen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.raw)
}

// TestUIRestores: however it ends, the terminal is as it was.
func TestUIRestores(t *testing.T) {
	b := newBox(t)
	b.shells("alpha")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		p := b.sitUI(100, 30)
		p.sees("I am alpha")
		if err := p.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if code := p.done(); code != 128+int(sig) {
			t.Errorf("%v: exit %d", sig, code)
		}
		p.restored()
	}
}

// TestUIRestoresAfterACrash: also when it can do nothing itself, the terminal is as it was, and
// what the Go runtime said can be read.
func TestUIRestoresAfterACrash(t *testing.T) {
	b := newBox(t)
	b.shells("alpha")
	for sig, want := range map[syscall.Signal]int{syscall.SIGKILL: 128 + 9, syscall.SIGABRT: 2} {
		p := b.sitUI(100, 30)
		p.sees("I am alpha")
		if err := syscall.Kill(inner(t, p.cmd.Process.Pid), sig); err != nil {
			t.Fatal(err)
		}
		if code := p.done(); code != want {
			t.Errorf("%v: exit %d", sig, code)
		}
		p.restored()
		if _, after, _ := strings.Cut(p.seen(), "\x1b[?1049l"); sig == syscall.SIGABRT && !strings.Contains(after, "goroutine") {
			t.Errorf("after the terminal was restored: %q", after)
		}
	}
	p := b.sitUI(100, 30)
	p.sees("I am alpha")
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.done()
	eventually(t, func() string { return "the terminal is not restored" }, func() bool { return strings.Contains(p.seen(), "\x1b[?1049l") })
	p.restored()
}

// inner is the process that shows, which gc ui supervises.
func inner(t *testing.T, pid int) int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lists {
		var child int
		if data, err := os.ReadFile(path); err == nil {
			if _, err := fmt.Sscan(string(data), &child); err == nil {
				return child
			}
		}
	}
	t.Fatalf("process %d has no child", pid)
	return 0
}

// TestUICosts: nothing is written and hardly any CPU used while nothing changes; of a program
// that floods, at most 30 pictures a second are shown.
func TestUICosts(t *testing.T) {
	b := newBox(t)
	for i := range 30 {
		b.gc("session", "new", fmt.Sprintf("w-%d", i), "--", "sleep", "1000")
	}
	p := b.sitUI(120, 40)
	p.sees("30 agents")
	p.sees("120×40")
	pid := inner(t, p.cmd.Process.Pid)
	eventually(t, func() string { return "it is never still" }, func() bool {
		before, cpu := len(p.seen()), cpuTime(t, pid)
		time.Sleep(2 * time.Second) // the time is what is measured
		return len(p.seen()) == before && cpuTime(t, pid)-cpu < 20*time.Millisecond
	})
	b.gc("session", "new", "flood", "--", "sh", "-c", "while :; do echo 'a line of many'; done")
	p.types("/flood\r")
	p.sees("│a line of many")
	pictures := func() int { return strings.Count(p.seen(), "\x1b[?2026h") }
	before, began := pictures(), time.Now()
	eventually(t, func() string { return "the flood is not shown" }, func() bool { return pictures()-before >= 20 })
	// Two more than the rate allows: one may have been under way, and one be written at once.
	if n, most := pictures()-before, int(30*time.Since(began).Seconds())+2; n > most {
		t.Errorf("%d pictures, of %d at most", n, most)
	}
	b.gc("session", "kill", "flood")
	p.types("q")
	p.done()
	p.restored()
}

// cpuTime is the CPU time that a process has used.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("process %d: %v", pid, err)
	}
	var sum time.Duration
	for _, task := range tasks {
		var ns int64
		if data, err := os.ReadFile(task); err == nil {
			_, _ = fmt.Sscan(string(data), &ns) // a thread that has ended used none
		}
		sum += time.Duration(ns)
	}
	return sum
}
