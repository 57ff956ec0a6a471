package loop

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Loop waits for all terminals at once. It gives ready terminals to GOMAXPROCS workers and
// serves the last of them itself, so that a single busy terminal wakes no other thread.
// Readiness is one-shot, so that only one worker has a terminal, and a turn is bounded, so
// that none starves another.
type Loop struct {
	ep    *os.File // the epoll descriptor, itself watched by the runtime's poller
	epfd  int
	ready chan readiness
	work  sync.WaitGroup

	mu        sync.Mutex
	terminals map[uint64]Terminal // by token; a descriptor's number may be used again
	tokens    map[Terminal]uint64
	next      uint64
}

type readiness struct {
	t        Terminal
	writable bool
}

// New returns a loop without terminals. done is closed when the server ends.
func New(<-chan struct{}) (*Loop, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	l := &Loop{
		epfd: fd, ep: os.NewFile(uintptr(fd), "epoll"),
		ready: make(chan readiness), terminals: make(map[uint64]Terminal), tokens: make(map[Terminal]uint64),
	}
	for range goruntime.GOMAXPROCS(0) {
		l.work.Go(l.worker)
	}
	l.work.Go(l.wait)
	return l, nil
}

// wait hands ready terminals to the workers.
func (l *Loop) wait() {
	defer close(l.ready)
	raw, err := l.ep.SyscallConn()
	if err != nil {
		return
	}
	events := make([]unix.EpollEvent, 128)
	for {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			m, err := unix.EpollWait(int(fd), events, 0)
			if errors.Is(err, unix.EINTR) {
				m = 0
			}
			n = m
			return m != 0
		})
		if err != nil || n < 0 {
			return // closed
		}
		for i, e := range events[:n] {
			token := uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
			l.mu.Lock()
			t := l.terminals[token]
			l.mu.Unlock()
			if t != nil {
				l.give(readiness{t, e.Events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) != 0}, i == n-1)
			}
		}
	}
}

// give gives a terminal to a worker, or serves it here if it is the last one or all
// workers are busy. It never waits for a terminal's lock.
func (l *Loop) give(r readiness, last bool) {
	if !last {
		select {
		case l.ready <- r:
			return
		default:
		}
	}
	if !r.t.TryLock() {
		l.ready <- r
		return
	}
	defer r.t.Unlock()
	if r.t.Turn(r.writable) {
		l.Arm(r.t)
	}
}

func (l *Loop) worker() {
	for r := range l.ready {
		r.t.Lock()
		if r.t.Turn(r.writable) {
			l.Arm(r.t)
		}
		r.t.Unlock()
	}
}

// Add begins to watch a terminal.
func (l *Loop) Add(t Terminal) error {
	t.Lock()
	defer t.Unlock()
	l.mu.Lock()
	l.next++
	token := l.next
	l.terminals[token], l.tokens[t] = t, token
	l.mu.Unlock()
	ev := epollEvent(token, unix.EPOLLIN|unix.EPOLLONESHOT)
	if err := unix.EpollCtl(l.epfd, unix.EPOLL_CTL_ADD, t.FD(), &ev); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// Arm asks for the next readiness, including for writing if input waits. The terminal's
// lock is held.
func (l *Loop) Arm(t Terminal) {
	fd := t.FD()
	if fd < 0 {
		return
	}
	output, space := t.Wants()
	want := uint32(unix.EPOLLONESHOT)
	if output {
		want |= unix.EPOLLIN
	}
	if space {
		want |= unix.EPOLLOUT
	}
	if want == unix.EPOLLONESHOT { // a hang-up would be reported again and again
		return
	}
	l.mu.Lock()
	ev := epollEvent(l.tokens[t], want)
	l.mu.Unlock()
	_ = unix.EpollCtl(l.epfd, unix.EPOLL_CTL_MOD, fd, &ev)
}

// Remove stops watching. The terminal's lock is held and its descriptor open.
func (l *Loop) Remove(t Terminal) {
	_ = unix.EpollCtl(l.epfd, unix.EPOLL_CTL_DEL, t.FD(), nil)
	l.mu.Lock()
	delete(l.terminals, l.tokens[t])
	delete(l.tokens, t)
	l.mu.Unlock()
}

func epollEvent(token uint64, events uint32) unix.EpollEvent {
	return unix.EpollEvent{Events: events, Fd: int32(uint32(token)), Pad: int32(uint32(token >> 32))}
}

// Close ends the loop and waits for its goroutines.
func (l *Loop) Close() {
	l.ep.Close()
	l.work.Wait()
}
