// Package persontest is a person at a terminal, for tests: it types, and sees what the
// terminal shows. Only tests import it.
package persontest

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

// Patience is how long a test waits for what must happen. Only a failing test
// waits so long, but on an overloaded machine programs have paused for more
// than ten seconds.
const Patience = time.Minute

// Person is a person at a terminal: the host's end of a PTY pair, which reads
// all the time, as a terminal emulator does.
type Person struct {
	T         *testing.T
	Host, Tty *os.File
	Before    *term.State
	Resized   chan struct{} // notifies an attachment of a new size

	Mu     sync.Mutex
	cond   *sync.Cond
	Seen   []byte
	Screen *vt.Terminal // what the terminal shows
	closed bool
	answer bool // see Answer
	tap    func(b []byte)
}

// New opens a terminal of 80×24.
func New(t *testing.T) *Person {
	p := Open(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := p.Host.Read(buf)
			p.Mu.Lock()
			p.Seen = append(p.Seen, buf[:n]...)
			p.Screen.Write(buf[:n])
			if p.tap != nil && n > 0 {
				p.tap(buf[:n])
			}
			p.closed = err != nil
			var reply []byte
			if p.answer {
				reply = p.Screen.TakeReplies()
			}
			p.cond.Broadcast()
			p.Mu.Unlock()
			_, _ = p.Host.Write(reply)
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { p.Host.Close(); <-done })
	return p
}

// Open is New for a terminal that nothing reads.
func Open(t *testing.T) *Person {
	t.Helper()
	host, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	screen, err := vt.New(vt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &Person{T: t, Host: pollable(t, host), Tty: tty, Resized: make(chan struct{}), Screen: screen}
	p.cond = sync.NewCond(&p.Mu)
	p.Resize(80, 24)
	p.Before = p.State()
	t.Cleanup(func() { tty.Close(); host.Close() })
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
	return os.NewFile(uintptr(fd), "host")
}

// RestoreState gives the terminal the modes from before, as a shell does.
func RestoreState(p *Person) error {
	return Control(p.Tty, func(fd int) error { return term.Restore(fd, p.Before) })
}

// SignalSelf sends this process a signal that an attachment catches.
func SignalSelf(t *testing.T, s unix.Signal) {
	t.Helper()
	if err := unix.Kill(os.Getpid(), s); err != nil {
		t.Fatal(err)
	}
}

// All returns the output so far.
func (p *Person) All() string {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return string(p.Seen)
}

// Await waits until is returns true. It calls is again after each output.
func (p *Person) Await(what string, is func() bool) {
	p.T.Helper()
	late := false
	timer := time.AfterFunc(Patience, func() {
		p.Mu.Lock()
		defer p.Mu.Unlock()
		late = true
		p.cond.Broadcast()
	})
	defer timer.Stop()
	p.Mu.Lock()
	defer p.Mu.Unlock()
	for !is() {
		if p.closed || late {
			p.T.Fatalf("%q does not come; the last of %d bytes: %q; the screen:\n%s",
				what, len(p.Seen), p.Seen[max(0, len(p.Seen)-2000):], p.Screen.ScreenText())
		}
		p.cond.Wait()
	}
}

// CheckRestored fails the test unless the terminal's first modes are restored.
func (p *Person) CheckRestored() {
	p.T.Helper()
	if now := p.State(); *now != *p.Before {
		p.T.Errorf("the terminal's modes are %+v, were %+v", *now, *p.Before)
	}
}

// Answer makes the terminal answer queries.
func (p *Person) Answer() {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.Screen.TakeReplies()
	p.answer = true
}

// Write shows bytes on the terminal, as a program that runs before the attachment.
func (p *Person) Write(s string) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.Screen.Write([]byte(s))
	p.Screen.TakeReplies()
	if p.tap != nil {
		p.tap([]byte(s))
	}
}

// Tap passes on what the terminal shows, to another emulator that answers queries instead
// of this one. show must not block on the person, nor keep b.
func (p *Person) Tap(show func(b []byte)) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.tap, p.answer = show, false
}

// Forget drops the output so far.
func (p *Person) Forget() {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.Seen = nil
}

// Has reports whether the terminal shows text.
func (p *Person) Has(text string) bool {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return strings.Contains(p.Screen.ScreenText(), text)
}

func (p *Person) Resize(cols, rows int) {
	p.T.Helper()
	err := Control(p.Host, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	})
	if err != nil {
		p.T.Fatal(err)
	}
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if err := p.Screen.Resize(cols, rows); err != nil {
		p.T.Fatal(err)
	}
}

// Sees waits until the output since the last Forget contains text.
func (p *Person) Sees(text string) {
	p.T.Helper()
	p.Await(text, func() bool { return bytes.Contains(p.Seen, []byte(text)) })
}

// Shows waits until the terminal shows text.
func (p *Person) Shows(text string) {
	p.T.Helper()
	p.Await(text, func() bool { return strings.Contains(p.Screen.ScreenText(), text) })
}

// State returns the terminal's modes.
func (p *Person) State() *term.State {
	p.T.Helper()
	var s *term.State
	err := Control(p.Tty, func(fd int) (err error) { s, err = term.GetState(fd); return err })
	if err != nil {
		p.T.Fatal(err)
	}
	return s
}

func (p *Person) Types(keys string) {
	p.T.Helper()
	if _, err := p.Host.WriteString(keys); err != nil {
		p.T.Fatal(err)
	}
}

// Control calls f with the file's descriptor.
func Control(f *os.File, do func(fd int) error) error {
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
