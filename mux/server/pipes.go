package server

import (
	"context"
	"errors"
	"os"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/nudge"
	"gascity.dev/gc/mux/internal/sys"
	"golang.org/x/sys/unix"
)

// A background command may run on pipes instead of a terminal: one for standard output
// and error together, which keeps their order, and one for standard input.

// stdin is the writing end of a program's standard input.
type stdin struct {
	fd int      // given to a new keeper
	f  *os.File // a duplicate for the runtime's poller
}

// newStdin takes over the descriptors of a session other than its output.
func newStdin(rec sessionRecord, fds []int) *stdin {
	if !rec.Pipes || len(fds) == 0 {
		sys.CloseAll(fds)
		return nil
	}
	sys.CloseAll(fds[1:])
	dup, err := unix.FcntlInt(uintptr(fds[0]), unix.F_DUPFD_CLOEXEC, sys.HighFD)
	if err != nil {
		unix.Close(fds[0])
		return nil
	}
	return &stdin{fd: fds[0], f: os.NewFile(uintptr(dup), "stdin")}
}

func (i *stdin) isOpen() bool { return i != nil && i.fd >= 0 }

func (i *stdin) close() {
	if i.isOpen() {
		unix.Close(i.fd)
		i.f.Close()
		i.fd = -1
	}
}

func (r *sessionRecord) kind() string {
	if r.Exec {
		return api.KindExec
	}
	return ""
}

// writePipe is write without a terminal. ErrExited if the input is closed or
// has no reader.
func (i *input) writePipe(ctx context.Context, p []byte, patience time.Duration) (int, error) {
	s := i.s
	s.mu.Lock()
	in, ended := s.tty.stdin, s.life.ended()
	open := in.isOpen()
	i.s.activity.noteInput()
	s.mu.Unlock()
	if ended || !open {
		return 0, api.ErrExited
	}
	stop := context.AfterFunc(ctx, func() { _ = in.f.SetWriteDeadline(time.Now()) })
	defer stop()
	done := 0
	for done < len(p) {
		limit := time.Time{}
		if patience > 0 {
			limit = time.Now().Add(patience)
		}
		_ = in.f.SetWriteDeadline(limit)
		if ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
		n, err := in.f.Write(p[done:min(len(p), done+64<<10)])
		done += n
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return done, context.Cause(ctx)
		case errors.Is(err, os.ErrDeadlineExceeded):
			if n == 0 {
				return done, nudge.ErrStuck
			}
		default:
			return done, api.ErrExited // EPIPE, or closed meanwhile
		}
	}
	return done, nil
}

// close ends the program's standard input: it closes a pipe, and types the end-of-file
// character on a terminal (POSIX 11.1.9).
func (i *input) close(ctx context.Context) error {
	s := i.s
	if !s.rec.Pipes {
		return i.send(ctx, []byte{4})
	}
	if err := i.acquire(ctx); err != nil {
		return err
	}
	defer i.release()
	s.mu.Lock()
	s.tty.stdin.close()
	s.mu.Unlock()
	return s.srv.keeper.current().Trim(s.rec.ID, 1)
}
