package mux

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// loop waits for all terminals at once. It only hands a ready session to one
// of GOMAXPROCS workers; readiness is one-shot, so that no two workers have
// the same session, and a turn is bounded, so that no session starves another.
type loop struct {
	ep    *os.File // the epoll descriptor, itself watched by the runtime's poller
	epfd  int
	ready chan readiness
	work  sync.WaitGroup

	mu    sync.Mutex
	slots map[uint64]*session
	next  uint64
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
		ready: make(chan readiness), slots: make(map[uint64]*session),
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
		for _, e := range events[:n] {
			slot := uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
			l.mu.Lock()
			s := l.slots[slot]
			l.mu.Unlock()
			if s != nil {
				l.ready <- readiness{s, e.Events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) != 0}
			}
		}
	}
}

func (l *loop) worker() {
	for r := range l.ready {
		if r.s.turn(r.writable) {
			l.arm(r.s)
		}
	}
}

// add begins to watch the session's terminal.
func (l *loop) add(s *session) error {
	l.mu.Lock()
	l.next++
	s.slot = l.next
	l.slots[s.slot] = s
	l.mu.Unlock()
	ev := epollEvent(s.slot, unix.EPOLLIN|unix.EPOLLONESHOT)
	if err := unix.EpollCtl(l.epfd, unix.EPOLL_CTL_ADD, s.fd, &ev); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// arm asks for the next readiness, of writing too when input waits.
func (l *loop) arm(s *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.armLocked(s)
}

// armLocked is arm with the session's mu held.
func (l *loop) armLocked(s *session) {
	if s.fd < 0 {
		return
	}
	want := uint32(unix.EPOLLONESHOT)
	if !s.eof {
		want |= unix.EPOLLIN
	}
	if s.in.wantsWrite() {
		want |= unix.EPOLLOUT
	}
	ev := epollEvent(s.slot, want)
	_ = unix.EpollCtl(l.epfd, unix.EPOLL_CTL_MOD, s.fd, &ev)
}

// remove ends the watch. The session's mu is held and its descriptor open.
func (l *loop) remove(s *session) {
	_ = unix.EpollCtl(l.epfd, unix.EPOLL_CTL_DEL, s.fd, nil)
	l.mu.Lock()
	delete(l.slots, s.slot)
	l.mu.Unlock()
}

func epollEvent(slot uint64, events uint32) unix.EpollEvent {
	return unix.EpollEvent{Events: events, Fd: int32(uint32(slot)), Pad: int32(uint32(slot >> 32))}
}

// close ends the loop and waits for its goroutines.
func (l *loop) close() {
	l.ep.Close()
	l.work.Wait()
}
