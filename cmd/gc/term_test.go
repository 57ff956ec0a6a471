package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/term"

	"gascity.dev/gc/vt"
)

// patience is how long a script waits for something that must happen. Only failing
// tests wait that long.
const patience = 20 * time.Second

// cmdTerm is `term [-status N] [-size COLSxROWS] FILE COMMAND…`: runs the command in
// a terminal and carries out the steps in FILE, one per line:
//
//	wait PATTERN     until the screen matches
//	gone PATTERN     until the screen does not match
//	type "TEXT"      types a Go string
//	resize 100x30    changes the terminal's size
//	exec COMMAND…    runs another command
//	signal NAME      signals the command
//
// The command must then exit with the status and leave the terminal as it was: same
// line settings, main screen, no mouse or paste mode, visible cursor. Standard output
// is the last screen.
func cmdTerm(ts *testscript.TestScript, neg bool, args []string) {
	want, cols, rows := 0, 80, 24
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-status":
			n, err := strconv.Atoi(args[1])
			ts.Check(err)
			want = n
		case "-size":
			cols, rows = parseTestSize(ts, args[1])
		default:
			ts.Fatalf("unknown flag %s", args[0])
		}
		args = args[2:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: term [-status N] [-size COLSxROWS] file command...")
	}
	p := startPerson(ts, cols, rows, args[1:])
	defer p.close()
	for _, line := range strings.Split(ts.ReadFile(args[0]), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			p.step(line)
		}
	}
	if got := p.wait(); got != want {
		ts.Fatalf("exit status %d, want %d\n%s", got, want, p.screen())
	}
	p.checkRestored()
	fmt.Fprintln(ts.Stdout(), p.screen())
}

// person is a user at a terminal in which a command runs.
type person struct {
	ts     *testscript.TestScript
	cmd    *exec.Cmd
	ptm    *os.File
	tty    *os.File // kept open, to look at the line settings afterwards
	before *term.State
	read   chan struct{} // closed when the reader has ended

	mu      sync.Mutex
	vt      *vt.Terminal
	changed chan struct{} // closed and replaced when the screen changes
}

func startPerson(ts *testscript.TestScript, cols, rows int, argv []string) *person {
	ptm, tty, err := pty.Open()
	ts.Check(err)
	ts.Check(pty.Setsize(ptm, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}))
	screen, err := vt.New(vt.Options{Cols: cols, Rows: rows})
	ts.Check(err)
	before, err := term.GetState(int(tty.Fd()))
	ts.Check(err)
	p := &person{ts: ts, ptm: ptm, tty: tty, before: before, vt: screen, changed: make(chan struct{}), read: make(chan struct{})}
	p.cmd = p.command(argv)
	p.cmd.Env = append(p.cmd.Env, "TERM=xterm-256color")
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, tty, tty
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(p.cmd.Start())
	go p.watch()
	return p
}

// command returns argv with the script's directory and environment.
func (p *person) command(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = p.ts.MkAbs(".")
	for _, name := range []string{"HOME", "PATH", "SHELL", "PS1", "LANG", "XDG_STATE_HOME", "GC_MUX_SOCKET", "GC_DETACH_KEYS", "GC_HOST", "GC_SSH", "GC_SESSION", "GC_CITY_PATH", "GC_TRUST", "GORACE", "TMPDIR"} {
		if v := p.ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

// watch feeds the command's output to the emulator and writes the emulator's
// replies.
func (p *person) watch() {
	defer close(p.read)
	buf := make([]byte, 32<<10)
	for {
		n, err := p.ptm.Read(buf)
		p.mu.Lock()
		_, _ = p.vt.Write(buf[:n])
		replies := p.vt.TakeReplies()
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
		if len(replies) > 0 {
			_, _ = p.ptm.Write(replies)
		}
		if err != nil {
			return
		}
	}
}

func (p *person) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.vt.ScreenText()
}

func (p *person) step(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "wait":
		p.await(rest, true)
	case "gone":
		p.await(rest, false)
	case "type":
		s, err := strconv.Unquote(rest)
		p.check(line, err)
		_, err = io.WriteString(p.ptm, s)
		p.check(line, err)
	case "resize":
		cols, rows := parseTestSize(p.ts, rest)
		p.mu.Lock()
		err := p.vt.Resize(cols, rows)
		p.mu.Unlock()
		p.check(line, err)
		p.check(line, pty.Setsize(p.ptm, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}))
	case "exec":
		if out, err := p.command(strings.Fields(rest)).CombinedOutput(); err != nil {
			p.ts.Fatalf("%s: %v\n%s", line, err, out)
		}
	case "signal":
		p.check(line, sendSignal(p.cmd.Process.Pid, rest))
	default:
		p.ts.Fatalf("unknown step: %s", line)
	}
}

func (p *person) check(step string, err error) {
	if err != nil {
		p.ts.Fatalf("%s: %v", step, err)
	}
}

// await waits until the pattern matches the screen, or no longer matches.
func (p *person) await(pattern string, want bool) {
	re := compile(p.ts, pattern)
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		text, changed := p.vt.ScreenText(), p.changed
		p.mu.Unlock()
		if re.MatchString(text) == want {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			p.ts.Fatalf("the screen never came to (match %s = %v):\n%s", pattern, want, text)
		}
	}
}

// wait returns the command's exit status.
func (p *person) wait() int {
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		p.check("wait", err)
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-done
		p.ts.Fatalf("the command did not end:\n%s", p.screen())
	}
	return 0
}

// checkRestored fails if the command left the terminal in another state.
func (p *person) checkRestored() {
	after, err := term.GetState(int(p.tty.Fd()))
	p.ts.Check(err)
	if *after != *p.before {
		p.ts.Fatalf("line settings were not restored:\nbefore %+v\nafter  %+v", *p.before, *after)
	}
	// The command's last output must have been read.
	_ = p.tty.Close()
	select {
	case <-p.read:
	case <-time.After(patience):
		p.ts.Fatalf("a process still holds the terminal")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.vt.Modes(); m.AltScreen || m.BracketedPaste || m.AppCursor || m.AppKeypad || m.Focus || m.KittyFlags != 0 {
		p.ts.Fatalf("the terminal was not reset: %+v", m)
	}
	if !p.vt.Cursor().Visible {
		p.ts.Fatalf("the cursor was left hidden")
	}
}

func (p *person) close() {
	_ = p.cmd.Process.Kill()
	_ = p.tty.Close()
	_ = p.ptm.Close()
	<-p.read
}

func compile(ts *testscript.TestScript, pattern string) *regexp.Regexp {
	re, err := regexp.Compile("(?m)" + pattern)
	ts.Check(err)
	return re
}

func parseTestSize(ts *testscript.TestScript, s string) (cols, rows int) {
	if _, err := fmt.Sscanf(s, "%dx%d", &cols, &rows); err != nil {
		ts.Fatalf("size %s: must be COLSxROWS", s)
	}
	return cols, rows
}
