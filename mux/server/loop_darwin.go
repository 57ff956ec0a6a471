package server

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// loop reads every terminal in a goroutine of its own, parked in the runtime's poller.
type loop struct {
	work sync.WaitGroup

	mu    sync.Mutex
	files map[*session]*os.File
}

func newLoop() (*loop, error) { return &loop{files: make(map[*session]*os.File)}, nil }

// add starts reading the session's terminal, through a duplicate, so that the session's
// own descriptor stays a plain number.
func (l *loop) add(s *session) error {
	fd, err := unix.FcntlInt(uintptr(s.tty.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "terminal")
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return err
	}
	l.mu.Lock()
	l.files[s] = f
	l.mu.Unlock()
	l.work.Go(func() {
		defer f.Close()
		for alive := true; alive && s.tty.awaitFlow(); {
			first := true
			err := raw.Read(func(uintptr) bool {
				if first {
					first = false
					s.mu.Lock()
					defer s.mu.Unlock()
					alive = s.tty.turn(false)
					return !alive || s.output.held()
				}
				return true
			})
			if err != nil {
				return
			}
		}
	})
	return nil
}

// awaitFlow waits while output is held; false if the server ends.
func (t *tty) awaitFlow() bool {
	s := t.s
	for {
		s.mu.Lock()
		if t.fd < 0 || !s.output.held() {
			s.mu.Unlock()
			return true
		}
		resumed := s.output.resumption()
		s.mu.Unlock()
		select {
		case <-resumed:
		case <-s.srv.lifetime.done:
			return false
		}
	}
}

// resumption returns the channel that closes when output is read again. mu is held.
func (o *output) resumption() <-chan struct{} {
	if o.resumed == nil {
		o.resumed = make(chan struct{})
	}
	return o.resumed
}

// armLocked waits for writable space if input needs it.
func (l *loop) armLocked(s *session) {
	if !s.input.wantsWrite() {
		return
	}
	l.mu.Lock()
	f := l.files[s]
	l.mu.Unlock()
	if f == nil {
		return
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	l.work.Go(func() {
		first := true
		_ = raw.Write(func(uintptr) bool {
			ok := !first
			first = false
			return ok
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		s.input.writable()
	})
}

// remove stops watching.
func (l *loop) remove(s *session) {
	l.mu.Lock()
	f := l.files[s]
	delete(l.files, s)
	l.mu.Unlock()
	if f != nil {
		f.Close()
	}
}

// close ends the loop and waits for its goroutines.
func (l *loop) close() {
	l.mu.Lock()
	for s, f := range l.files {
		delete(l.files, s)
		f.Close()
	}
	l.mu.Unlock()
	l.work.Wait()
}
