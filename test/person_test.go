//go:build e2e

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"

	"gascity.dev/gc/vt"
)

// person sits at a terminal that runs one gc command.
type person struct {
	t      *testing.T
	cmd    *exec.Cmd
	ptm    *os.File
	tty    *os.File // kept open to read the line settings
	before *term.State
	ended  chan struct{}

	mu      sync.Mutex
	vt      *vt.Terminal
	raw     []byte
	changed chan struct{} // closed at the next output
}

// sit starts gc in a terminal of the given size.
func (b *box) sit(c, r int, args ...string) *person {
	b.t.Helper()
	return b.sitAt(c, r, append([]string{gcBin}, args...)...)
}

// sitAt starts a program in a terminal of the given size.
func (b *box) sitAt(c, r int, argv ...string) *person {
	b.t.Helper()
	ptm, tty, err := pty.Open()
	if err != nil {
		b.t.Fatal(err)
	}
	p := &person{t: b.t, ptm: ptm, tty: tty, ended: make(chan struct{}), changed: make(chan struct{})}
	p.setsize(c, r)
	if p.vt, err = vt.New(vt.Options{Cols: c, Rows: r}); err != nil {
		b.t.Fatal(err)
	}
	if p.before, err = term.GetState(int(tty.Fd())); err != nil {
		b.t.Fatal(err)
	}
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Env, p.cmd.Dir = b.env, b.dir
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, tty, tty
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	read := make(chan struct{})
	go func() { defer close(read); p.watch() }()
	go func() { _ = p.cmd.Wait(); close(p.ended) }()
	b.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		_ = tty.Close() // the last one: the reader gets EIO
		<-read
		_ = ptm.Close()
	})
	return p
}

// watch feeds the person's terminal, and writes its replies.
func (p *person) watch() {
	buf := make([]byte, 32<<10)
	for {
		n, err := p.ptm.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		_, _ = p.vt.Write(buf[:n])
		p.raw = append(p.raw, buf[:n]...)
		reply := p.vt.TakeReplies()
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
		if len(reply) > 0 {
			_, _ = p.ptm.Write(reply)
		}
	}
}

func (p *person) setsize(c, r int) {
	p.t.Helper()
	if err := pty.Setsize(p.ptm, &pty.Winsize{Cols: uint16(c), Rows: uint16(r)}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) resize(c, r int) {
	p.t.Helper()
	p.mu.Lock()
	err := p.vt.Resize(c, r)
	p.mu.Unlock()
	if err != nil {
		p.t.Fatal(err)
	}
	p.setsize(c, r)
}

func (p *person) types(s string) {
	p.t.Helper()
	if _, err := p.ptm.Write([]byte(s)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return trim(p.vt.ScreenText())
}

func (p *person) modes() vt.Modes {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.vt.Modes()
}

// sees waits until the screen matches.
func (p *person) sees(re string) {
	p.t.Helper()
	match := regexp.MustCompile("(?m)" + re)
	eventually(p.t, func() string { return "the person sees no " + re + " in\n" + p.screen() }, func() bool { return match.MatchString(p.screen()) })
}

// done waits for the end of the command.
func (p *person) done() int {
	p.t.Helper()
	eventually(p.t, func() string { return "the command goes on:\n" + p.screen() }, func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	return p.cmd.ProcessState.ExitCode()
}

// restored checks that nothing of the session remains in the person's terminal.
func (p *person) restored() {
	p.t.Helper()
	now, err := term.GetState(int(p.tty.Fd()))
	if err != nil {
		p.t.Fatal(err)
	}
	if *now != *p.before {
		p.t.Errorf("the line settings are %+v, were %+v", *now, *p.before)
	}
	fresh, err := vt.New(vt.Options{Cols: cols, Rows: rows})
	if err != nil {
		p.t.Fatal(err)
	}
	// The last bytes may still be in the pty.
	eventually(p.t, func() string { return "modes are left behind" }, func() bool { return p.modes() == fresh.Modes() })
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.vt.Cursor().Visible {
		p.t.Error("the cursor is hidden")
	}
}

func (p *person) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// everything returns the person's scrollback and screen.
func (p *person) everything() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.vt.Text(vt.TextOptions{})
}
