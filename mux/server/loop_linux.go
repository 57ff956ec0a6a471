package server

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// loop waits for all terminals at once. It gives ready sessions to GOMAXPROCS workers and
// serves the last of them itself, so that a single busy session wakes no other thread.
// Readiness is one-shot, so that only one worker has a session, and a turn is bounded, so
// that no session starves another.
type loop struct {
	ep    *os.File // the epoll descriptor, itself watched by the runtime's poller
	epfd  int
	ready chan readiness
	work  sync.WaitGroup

	mu       sync.Mutex
	sessions map[uint64]*session
	next     uint64
}

type readiness struct {
	s        *session
	writable bool
}

func newLoop() (*loop, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	l := &loop{
		epfd: fd, ep: os.NewFile(uintptr(fd), "epoll"),
		ready: make(chan readiness), sessions: make(map[uint64]*session),
	}
	for range goruntime.GOMAXPROCS(0) {
		l.work.Go(l.worker)
	}
	l.work.Go(l.wait)
	return l, nil
}

// wait hands ready sessions to the workers.
func (l *loop) wait() {
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
			s := l.sessions[token]
			l.mu.Unlock()
			if s != nil {
				l.give(readiness{s, e.Events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) != 0}, i == n-1)
			}
		}
	}
}

// give gives a session to a worker, or serves it here if it is the last one or all
// workers are busy. It never waits for a session's lock.
func (l *loop) give(r readiness, last bool) {
	if !last {
		select {
		case l.ready <- r:
			return
		default:
		}
	}
	if !r.s.mu.TryLock() {
		l.ready <- r
		return
	}
	defer r.s.mu.Unlock()
	if r.s.tty.turn(r.writable) {
		l.armLocked(r.s)
	}
}

func (l *loop) worker() {
	for r := range l.ready {
		r.s.mu.Lock()
		if r.s.tty.turn(r.writable) {
			l.armLocked(r.s)
		}
		r.s.mu.Unlock()
	}
}

// add begins to watch the session's terminal.
func (l *loop) add(s *session) error {
	l.mu.Lock()
	l.next++
	s.tty.token = l.next
	l.sessions[s.tty.token] = s
	l.mu.Unlock()
	ev := epollEvent(s.tty.token, unix.EPOLLIN|unix.EPOLLONESHOT)
	if err := unix.EpollCtl(l.epfd, unix.EPOLL_CTL_ADD, s.tty.fd, &ev); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// armLocked asks for the next readiness, including for writing if input waits. session.mu
// is held.
func (l *loop) armLocked(s *session) {
	if s.tty.closed() {
		return
	}
	want := uint32(unix.EPOLLONESHOT)
	if !s.tty.eof && !s.output.held() {
		want |= unix.EPOLLIN
	}
	if s.input.wantsWrite() {
		want |= unix.EPOLLOUT
	}
	if want == unix.EPOLLONESHOT { // a hang-up would be reported again and again
		return
	}
	ev := epollEvent(s.tty.token, want)
	_ = unix.EpollCtl(l.epfd, unix.EPOLL_CTL_MOD, s.tty.fd, &ev)
}

// remove stops watching. session.mu is held and the descriptor open.
func (l *loop) remove(s *session) {
	_ = unix.EpollCtl(l.epfd, unix.EPOLL_CTL_DEL, s.tty.fd, nil)
	l.mu.Lock()
	delete(l.sessions, s.tty.token)
	l.mu.Unlock()
}

func epollEvent(token uint64, events uint32) unix.EpollEvent {
	return unix.EpollEvent{Events: events, Fd: int32(uint32(token)), Pad: int32(uint32(token >> 32))}
}

// close ends the loop and waits for its goroutines.
func (l *loop) close() {
	l.ep.Close()
	l.work.Wait()
}
