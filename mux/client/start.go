package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/statedir"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/keeper"
	"golang.org/x/sys/unix"
)

// How long a starter waits for a new server, and for one that holds the lock but does
// not listen: it is recreating its socket, or about to end.
const (
	relistTimeout = 5 * time.Second

	starterTimeout = keeper.StartTimeout + relistTimeout // for another starter
	relistStep     = 10 * time.Millisecond
)

// Dial connects to the running server. ErrNoServer if the lock shows that there is
// none; ErrUnreachable if there is one that does not answer.
func Dial(ctx context.Context, p api.Paths) (*Client, error) {
	return locate(ctx, p, func(*os.File) error { return api.ErrNoServer })
}

// Ensure connects to the server and starts it if there is none; a new server reports
// version. Concurrent callers start one server. ErrStateDir if the directory or the
// socket cannot be created; ErrStart, with the server's output, if it ended at once.
func Ensure(ctx context.Context, p api.Paths, version string) (*Client, error) {
	if c, err := connectClient(ctx, p); err == nil {
		return c, nil
	}
	if err := statedir.Make(p.Dir); err != nil {
		return nil, err
	}
	return locate(ctx, p, func(lock *os.File) error { return keeper.Start(ctx, p, version, lock) })
}

// locate connects. If nothing listens and the lock is free, it calls absent with the
// lock held, and connects again if that succeeds.
func locate(ctx context.Context, p api.Paths, absent func(lock *os.File) error) (*Client, error) {
	c, err := connectClient(ctx, p)
	if err == nil || !isDeaf(err) {
		return c, err
	}
	d, err := statedir.Open(p.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, api.ErrNoServer
	} else if err != nil {
		return nil, err
	}
	defer d.Close()
	waited, cancel := context.WithTimeoutCause(ctx, starterTimeout, fmt.Errorf("%w: another process holds %s", api.ErrUnreachable, filepath.Join(p.Dir, api.StartLock)))
	starter, err := d.Lock(waited, api.StartLock)
	cancel()
	if err != nil {
		return nil, err
	}
	defer starter.Close()
	return locateLocked(ctx, p, d, absent)
}

// locateLocked is locate with the starters' lock held.
func locateLocked(ctx context.Context, p api.Paths, d statedir.Dir, absent func(lock *os.File) error) (*Client, error) {
	deadline := time.Now().Add(relistTimeout)
	for woken := false; ; {
		c, err := connectClient(ctx, p)
		if err == nil || !isDeaf(err) {
			return c, err
		}
		lock, err := d.Open(api.ServerLock, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			err = absent(lock)
			lock.Close()
			if err != nil {
				return nil, err
			}
			continue
		}
		if !woken {
			woken = true
			wakeServer(d, lock)
		}
		lock.Close()
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%w: a process holds %s, but nothing listens at %s", api.ErrUnreachable, p.Lock(), p.Socket)
		}
		if err := clock.Sleep(ctx, relistStep); err != nil {
			return nil, err
		}
	}
}

// connectClient connects once. ErrStateDir if the socket is another user's;
// ErrUnreachable for other failures, unless ctx ended.
func connectClient(ctx context.Context, p api.Paths) (*Client, error) {
	dial := func(ctx context.Context) (net.Conn, error) {
		if err := statedir.CheckSocket(p.Socket); err != nil {
			return nil, err
		}
		conn, err := statedir.Dial(ctx, p.Socket)
		if err != nil {
			return nil, err
		}
		if err := sys.CheckPeer(conn); err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	}
	conn, err := dial(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, api.ErrStateDir) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", api.ErrUnreachable, err)
	}
	return newClient(p, conn, dial), nil
}

// isDeaf reports whether err of a dial means that nothing listens at the socket.
func isDeaf(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED) ||
		errors.Is(err, unix.ENOTSOCK) || errors.Is(err, unix.ENOTDIR)
}

// goneLimit bounds the wait for a server that has agreed to end.
const goneLimit = 30 * time.Second

// waitGone waits until the two processes have ended and released their lock, which
// another server may hold by then. keeper is 0 if unknown; then waitGone watches the
// lock.
func waitGone(ctx context.Context, p api.Paths, keeper, server int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, goneLimit, fmt.Errorf("%w: the server did not end within %v", api.ErrUnreachable, goneLimit))
	defer cancel()
	for _, pid := range []int{server, keeper} {
		if err := sys.WaitProcess(ctx, pid); err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
	}
	if keeper != 0 {
		return nil
	}
	d, err := statedir.Open(p.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer d.Close()
	f, err := d.Lock(ctx, api.ServerLock)
	if err != nil {
		return err
	}
	return f.Close()
}

// wakeServer signals the server whose pid is in the lock file to recreate its socket.
// It signals only this user's server for this directory.
func wakeServer(d statedir.Dir, lock *os.File) {
	if pid := recordedPID(lock); pid > 1 {
		sys.SignalProcess(pid, unix.SIGUSR1, func() bool { return isServer(pid, d) })
	}
}

// recordedPID reads a lock file; 0 if it holds no pid.
func recordedPID(lock *os.File) int {
	b, _ := io.ReadAll(io.LimitReader(lock, 64))
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}

// ServerPID returns the pid of the running server without a request; 0 if
// unknown.
func ServerPID(p api.Paths) int {
	d, err := statedir.Open(p.Dir)
	if err != nil {
		return 0
	}
	defer d.Close()
	lock, err := d.Open(api.ServerLock, unix.O_RDONLY)
	if err != nil {
		return 0
	}
	defer lock.Close()
	if pid := recordedPID(lock); pid > 1 && isServer(pid, d) {
		return pid
	}
	return 0
}

// isServer reports whether a process is this user's server for the directory.
func isServer(pid int, d statedir.Dir) bool {
	if uid, err := sys.ProcessUID(pid); err != nil || uid != os.Geteuid() {
		return false
	}
	argv, err := proctree.Cmdline(pid)
	if err != nil || len(argv) < 4 || !slices.Equal(argv[:2], []string{keeper.ServerName, keeper.Mark}) {
		return false
	}
	mine, err := d.Stat()
	if err != nil {
		return false
	}
	its, err := os.Lstat(argv[2])
	return err == nil && os.SameFile(mine, its)
}

// CheckStateDir returns ErrStateDir if the state directory or the socket's place
// cannot be trusted; nil if nothing is there yet.
func CheckStateDir(p api.Paths) error { return statedir.Check(p) }
