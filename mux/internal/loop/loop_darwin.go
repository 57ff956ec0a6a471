package loop

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Loop reads every terminal in a goroutine of its own, parked in the runtime's poller.
type Loop struct {
	done <-chan struct{}
	work sync.WaitGroup

	mu    sync.Mutex
	files map[Terminal]*os.File
}

// New returns a loop without terminals. done is closed when the server ends.
func New(done <-chan struct{}) (*Loop, error) {
	return &Loop{done: done, files: make(map[Terminal]*os.File)}, nil
}

// Add starts reading a terminal, through a duplicate, so that its own descriptor stays a
// plain number.
func (l *Loop) Add(t Terminal) error {
	t.Lock()
	own := t.FD()
	t.Unlock()
	fd, err := unix.FcntlInt(uintptr(own), unix.F_DUPFD_CLOEXEC, 0)
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
	l.files[t] = f
	l.mu.Unlock()
	l.work.Go(func() {
		defer f.Close()
		for alive := true; alive && l.awaitOutput(t); {
			first := true
			err := raw.Read(func(uintptr) bool {
				if first {
					first = false
					t.Lock()
					defer t.Unlock()
					alive = t.Turn(false)
					output, _ := t.Wants()
					return !alive || !output
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

// awaitOutput waits until output is to be read; false if the server ends.
func (l *Loop) awaitOutput(t Terminal) bool {
	for {
		t.Lock()
		if output, _ := t.Wants(); output || t.FD() < 0 {
			t.Unlock()
			return true
		}
		resumed := t.Resumed()
		t.Unlock()
		select {
		case <-resumed:
		case <-l.done:
			return false
		}
	}
}

// Arm waits for space if input needs it. The terminal's lock is held.
func (l *Loop) Arm(t Terminal) {
	if _, space := t.Wants(); !space {
		return
	}
	l.mu.Lock()
	f := l.files[t]
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
		t.Lock()
		defer t.Unlock()
		t.Writable()
	})
}

// Remove stops watching. The terminal's lock is held.
func (l *Loop) Remove(t Terminal) {
	l.mu.Lock()
	f := l.files[t]
	delete(l.files, t)
	l.mu.Unlock()
	if f != nil {
		f.Close()
	}
}

// Close ends the loop and waits for its goroutines.
func (l *Loop) Close() {
	l.mu.Lock()
	for t, f := range l.files {
		delete(l.files, t)
		f.Close()
	}
	l.mu.Unlock()
	l.work.Wait()
}
