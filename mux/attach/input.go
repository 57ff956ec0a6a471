//go:build unix

package attach

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

var (
	errInputQuiet  = errors.New("no input")
	errInputClosed = errors.New("input closed")
)

// inputSource reads a person's keys; a read can be ended from outside.
type inputSource interface {
	// read returns the next input, valid until the next call; errInputQuiet if none
	// came within timeout (negative: no limit), errInputClosed after wake.
	read(timeout time.Duration) ([]byte, error)
	wake() // ends the read under way and every later one
	// last reads once more after wake; an error if there is nothing to read from.
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

// fileInput polls a file together with a pipe that wakes it. It reads no more
// than is wanted and leaves no goroutine in a read.
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

// readerInput reads from anything else, in a goroutine that reads only on
// request. Without a read deadline that goroutine is not waited for: it stays
// in its last Read until that returns.
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
		case res.n > 0: // the next read returns the error again
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

// last implements inputSource: only a file can be a terminal that answers.
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
