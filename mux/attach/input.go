//go:build unix

package attach

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"gascity.dev/gc/mux/api"
	"golang.org/x/sys/unix"
)

var (
	errInputQuiet  = errors.New("no input")
	errInputClosed = errors.New("input closed")
)

// inputSource reads a person's keys; a read can be ended from outside.
type inputSource interface {
	// read returns the next input, valid until the next call; errInputQuiet when
	// none came within timeout (negative: no limit), errInputClosed after wake.
	read(timeout time.Duration) ([]byte, error)
	wake() // ends the read under way and every later one
	// last reads once more after wake; an error where nothing can be read.
	last(timeout time.Duration) ([]byte, error)
	close() // after the last read
}

// openInput returns the source of what r delivers.
func openInput(ctx context.Context, r io.Reader) (inputSource, error) {
	if f, ok := r.(*os.File); ok && f != nil {
		return newFileInput(f)
	}
	in := &readerInput{ctx: ctx, r: r, want: make(chan struct{}), got: make(chan readResult, 1), done: make(chan struct{})}
	if d, ok := r.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Time{}) == nil {
		in.interrupt = func() { d.SetReadDeadline(time.Now()) }
		in.undo = func() { d.SetReadDeadline(time.Time{}) }
	}
	if r != nil {
		go in.serve()
	}
	return in, nil
}

// fileInput polls a file beside a pipe that wakes it, so that nothing is read
// which is not wanted and no goroutine stays behind in a read.
type fileInput struct {
	f      *os.File
	wakeR  int
	wakeW  int
	buffer [readSize]byte
}

func newFileInput(f *os.File) (*fileInput, error) {
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return nil, err
	}
	for _, fd := range p {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, err
		}
	}
	return &fileInput{f: f, wakeR: p[0], wakeW: p[1]}, nil
}

func (i *fileInput) read(timeout time.Duration) (p []byte, err error) {
	err = withFD(i.f, func(fd int) (err error) { p, err = i.poll(fd, timeout); return err })
	return p, err
}

func (i *fileInput) last(timeout time.Duration) (p []byte, err error) {
	err = withFD(i.f, func(fd int) (err error) { p, err = i.pollBoth(-1, fd, timeout); return err })
	return p, err
}

func (i *fileInput) poll(fd int, timeout time.Duration) ([]byte, error) {
	return i.pollBoth(i.wakeR, fd, timeout)
}

// pollBoth reads from fd, unless wake can be read; poll(2) ignores a wake of -1.
func (i *fileInput) pollBoth(wake, fd int, timeout time.Duration) ([]byte, error) {
	ms := -1
	if timeout >= 0 {
		ms = int(timeout.Milliseconds())
	}
	for {
		fds := []unix.PollFd{{Fd: int32(wake), Events: unix.POLLIN}, {Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, ms)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, os.NewSyscallError("poll", err)
		case n == 0:
			return nil, errInputQuiet
		case fds[0].Revents != 0:
			return nil, errInputClosed
		}
		got, err := unix.Read(fd, i.buffer[:])
		switch {
		case err == unix.EINTR, err == unix.EAGAIN:
			continue
		case err != nil:
			return nil, os.NewSyscallError("read", err)
		case got == 0:
			return nil, io.EOF
		}
		return i.buffer[:got], nil
	}
}

func (i *fileInput) wake() { unix.Write(i.wakeW, []byte{0}) }

func (i *fileInput) close() {
	unix.Close(i.wakeR)
	unix.Close(i.wakeW)
}

// readerInput reads from anything else, in a goroutine that reads only when it
// is asked to. Without a read deadline it stays in its last Read until that
// returns, and is not waited for.
type readerInput struct {
	ctx       context.Context
	r         io.Reader
	want      chan struct{}
	got       chan readResult
	asked     bool
	interrupt func()
	undo      func()
	done      chan struct{}
	buffer    [readSize]byte
}

type readResult struct {
	n   int
	err error
}

func (i *readerInput) serve() {
	defer close(i.done)
	for {
		select {
		case <-i.ctx.Done():
			return
		case <-i.want:
		}
		n, err := i.r.Read(i.buffer[:])
		i.got <- readResult{n, err}
	}
}

func (i *readerInput) read(timeout time.Duration) ([]byte, error) {
	if !i.asked {
		select {
		case i.want <- struct{}{}:
			i.asked = true
		case <-i.ctx.Done():
			return nil, errInputClosed
		}
	}
	var quiet <-chan time.Time
	if timeout >= 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		quiet = timer.C
	}
	select {
	case res := <-i.got:
		i.asked = false
		switch {
		case i.ctx.Err() != nil:
			return nil, errInputClosed
		case res.n > 0: // an error comes again with the next read
			return i.buffer[:res.n], nil
		case res.err == nil:
			return nil, errInputQuiet
		}
		return nil, res.err
	case <-quiet:
		return nil, errInputQuiet
	case <-i.ctx.Done():
		return nil, errInputClosed
	}
}

// last implements inputSource: what is no file is no terminal that answers.
func (i *readerInput) last(time.Duration) ([]byte, error) { return nil, errInputClosed }

func (i *readerInput) wake() {
	if i.interrupt != nil {
		i.interrupt()
	}
}

func (i *readerInput) close() {
	if i.interrupt == nil {
		return
	}
	<-i.done
	i.undo()
}

// catchSignals catches what would end this process with the terminal in raw
// mode.
func catchSignals(signals chan<- os.Signal) {
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
}

// catchRest catches what can be caught late, as what it did not tell is seen:
// each signal takes the time of several switches between threads.
func (a *attachment) catchRest(signals chan<- os.Signal, was api.Size) {
	signal.Notify(signals, unix.SIGCONT)
	if a.screen.givenBack() {
		a.continued()
	}
	if a.o.Resized == nil {
		signal.Notify(signals, unix.SIGWINCH)
		if cols, rows := a.screen.size(); was != (api.Size{Cols: cols, Rows: rows}) {
			a.noteSize()
		}
	}
}

// continued goes on after a shell had the terminal; a new connection paints it.
func (a *attachment) continued() {
	a.screen.again()
	a.drop()
}

// watch heeds signals and changes of the size, which was the given one, until
// the end.
func (a *attachment) watch(signals chan os.Signal, was api.Size) {
	resized, painted := a.o.Resized, a.painted
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-painted:
			painted = nil
			a.catchRest(signals, was)
		case _, ok := <-resized:
			if !ok {
				resized = nil
				continue
			}
			a.noteSize()
		case s := <-signals:
			switch s {
			case unix.SIGWINCH:
				a.noteSize()
			case unix.SIGCONT:
				a.continued()
			default:
				a.cancel(&SignalError{s})
				return
			}
		}
	}
}

// noteSize lets the size be sent; several changes are one.
func (a *attachment) noteSize() {
	select {
	case a.resized <- struct{}{}:
	default:
	}
}

// reopenTerminal opens the terminal f once more, as a description of our own
// with deadlines.
func reopenTerminal(f *os.File) (*os.File, error) {
	path := ""
	err := withFD(f, func(fd int) error { path = "/dev/fd/" + strconv.Itoa(fd); return nil })
	if err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|syscall.O_NOCTTY, 0)
}
