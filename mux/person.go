package mux

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// patience is how long a test waits for what must happen. Only a failing test
// waits so long; on a machine with ten times more to do than it can, programs
// stood still for more than ten seconds.
const patience = time.Minute

// person is somebody at a terminal: the outer end of a PTY pair that reads all
// the time, as a terminal emulator does.
type person struct {
	t          *testing.T
	outer, tty *os.File
	before     *term.State
	resized    chan struct{} // tells an attachment of resize

	mu     sync.Mutex
	cond   *sync.Cond
	seen   []byte
	screen *vt.Terminal // what the terminal shows of it
	closed bool
}

// newPerson opens a terminal of 80×24.
func newPerson(t *testing.T) *person {
	p := openPerson(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := p.outer.Read(buf)
			p.mu.Lock()
			p.seen = append(p.seen, buf[:n]...)
			p.screen.Write(buf[:n])
			p.closed = err != nil
			p.cond.Broadcast()
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { p.outer.Close(); <-done })
	return p
}

// openPerson is a person who does not look: nothing reads the terminal.
func openPerson(t *testing.T) *person {
	t.Helper()
	outer, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	screen, err := vt.New(vt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, outer: pollable(t, outer), tty: tty, resized: make(chan struct{}), screen: screen}
	p.cond = sync.NewCond(&p.mu)
	p.resize(80, 24)
	p.before = p.state()
	t.Cleanup(func() { tty.Close(); outer.Close() })
	return p
}

// pollable returns f as a file whose reads end when it is closed, and closes f.
func pollable(t *testing.T, f *os.File) *os.File {
	t.Helper()
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "outer")
}

// restoreState gives the terminal the modes from before, as a shell does.
func restoreState(p *person) error {
	return control(p.tty, func(fd int) error { return term.Restore(fd, p.before) })
}

// signalSelf sends this process a signal that an attachment catches.
func signalSelf(t *testing.T, s unix.Signal) {
	t.Helper()
	if err := unix.Kill(os.Getpid(), s); err != nil {
		t.Fatal(err)
	}
}

// all returns what came so far.
func (p *person) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.seen)
}

// await waits until what came makes is true.
func (p *person) await(what string, is func() bool) {
	p.t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		late = true
		p.cond.Broadcast()
	})
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !is() {
		if p.closed || late {
			p.t.Fatalf("%q does not come; the last of %d bytes: %q; the screen:\n%s",
				what, len(p.seen), p.seen[max(0, len(p.seen)-2000):], p.screen.ScreenText())
		}
		p.cond.Wait()
	}
}

// checkRestored fails when the modes are not those from before.
func (p *person) checkRestored() {
	p.t.Helper()
	if now := p.state(); *now != *p.before {
		p.t.Errorf("the terminal's modes are %+v, were %+v", *now, *p.before)
	}
}

// forget drops what came so far.
func (p *person) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = nil
}

// has reports whether the terminal shows text.
func (p *person) has(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(p.screen.ScreenText(), text)
}

func (p *person) resize(cols, rows int) {
	p.t.Helper()
	err := control(p.outer, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.screen.Resize(cols, rows); err != nil {
		p.t.Fatal(err)
	}
}

// sees waits until text came since the last call of forget.
func (p *person) sees(text string) {
	p.t.Helper()
	p.await(text, func() bool { return bytes.Contains(p.seen, []byte(text)) })
}

// shows waits until the terminal shows text.
func (p *person) shows(text string) {
	p.t.Helper()
	p.await(text, func() bool { return strings.Contains(p.screen.ScreenText(), text) })
}

// state returns the terminal's modes.
func (p *person) state() *term.State {
	p.t.Helper()
	var s *term.State
	err := control(p.tty, func(fd int) (err error) { s, err = term.GetState(fd); return err })
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

func (p *person) types(keys string) {
	p.t.Helper()
	if _, err := p.outer.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// control calls f with the file's descriptor.
func control(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var doErr error
	if err := raw.Control(func(fd uintptr) { doErr = do(int(fd)) }); err != nil {
		return err
	}
	return doErr
}
