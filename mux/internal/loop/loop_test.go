package loop

import (
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pipe is a terminal whose program writes into a pipe.
type pipe struct {
	sync.Mutex
	fd      int
	held    bool
	resumed chan struct{}
	got     chan byte // the first byte of each turn
}

func newPipe(t *testing.T, held bool) (p *pipe, program *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.FcntlInt(r.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() {
		w.Close()
		unix.Close(fd)
	})
	return &pipe{fd: fd, held: held, resumed: make(chan struct{}), got: make(chan byte, 1000)}, w
}

func (p *pipe) FD() int                     { return p.fd }
func (p *pipe) Writable()                   {}
func (p *pipe) Wants() (output, space bool) { return !p.held, false }
func (p *pipe) Resumed() <-chan struct{}    { return p.resumed }

func (p *pipe) Turn(bool) (again bool) {
	var buf [100]byte
	if p.held {
		return true
	}
	n, err := unix.Read(p.fd, buf[:])
	if n > 0 {
		select {
		case p.got <- buf[0]:
		default:
		}
	}
	return n > 0 || err == unix.EAGAIN
}

// next returns what the next turn read.
func (p *pipe) next(t *testing.T) byte {
	t.Helper()
	select {
	case b := <-p.got:
		return b
	case <-time.After(20 * time.Second):
		t.Fatal("it is never read")
		return 0
	}
}

// TestBusyTerminalStarvesNoOther: while some terminals always have output, each turn of
// another comes. One that holds its output back is read only when it is armed again.
func TestBusyTerminalStarvesNoOther(t *testing.T) {
	done := make(chan struct{})
	l, err := New(done)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var writers sync.WaitGroup
	defer writers.Wait()
	defer close(done)
	for range 4 {
		busy, program := newPipe(t, false)
		if err := l.Add(busy); err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				_ = program.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
				_, _ = program.Write(make([]byte, 4096))
			}
		})
	}
	calm, program := newPipe(t, false)
	if err := l.Add(calm); err != nil {
		t.Fatal(err)
	}
	for i := range byte(20) {
		if _, err := program.Write([]byte{i}); err != nil {
			t.Fatal(err)
		}
		if got := calm.next(t); got != i {
			t.Fatalf("turn %d read %d", i, got)
		}
	}
	held, program := newPipe(t, true)
	if err := l.Add(held); err != nil {
		t.Fatal(err)
	}
	if _, err := program.Write([]byte{'x'}); err != nil {
		t.Fatal(err)
	}
	if _, err := program.Write([]byte{'y'}); err != nil {
		t.Fatal(err)
	}
	held.Lock()
	if len(held.got) != 0 {
		t.Error("it was read while it held its output back")
	}
	held.held = false
	close(held.resumed)
	l.Arm(held)
	held.Unlock()
	if got := held.next(t); got != 'x' {
		t.Errorf("it read %q", got)
	}
	for _, p := range []*pipe{calm, held} {
		p.Lock()
		l.Remove(p)
		p.Unlock()
	}
}
