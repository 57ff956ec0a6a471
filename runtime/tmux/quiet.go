package tmux

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/clock"
)

// tmux up to 3.6 crashes, with every session in it, if it has a notice for control
// clients while one of them is connecting (the client is in the list before its state
// exists), or if one disconnects at that moment. So a connection is opened only while
// nothing causes notices: sessions that start or end, people who attach or detach,
// connections that close. Every gc process follows this through a lock beside the
// socket.

// quietLimit is how long a connection waits for the lock, and others wait for it.
const quietLimit = 500 * time.Millisecond

// quiet takes the lock exclusively, to open a connection. It waits briefly for
// current holders, and later callers wait for it; an attached user may hold the lock
// for hours.
func (p *Provider) quiet(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	done, err := p.lock(ctx, "turn", unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer done()
	return p.lock(ctx, "lock", unix.LOCK_EX)
}

// noticing takes the lock shared, for whatever causes notices.
func (p *Provider) noticing(ctx context.Context) (release func(), err error) {
	done, err := p.lock(ctx, "turn", unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	defer done()
	return p.lock(ctx, "lock", unix.LOCK_SH)
}

// inputLocks is how many input locks all sessions share.
const inputLocks = 64

// typing takes the lock of a session's input, against other gc processes.
func (p *Provider) typing(ctx context.Context, name string) (release func(), err error) {
	sum := sha256.Sum256([]byte(name))
	return p.lock(ctx, fmt.Sprintf("input-%02d", sum[0]%inputLocks), unix.LOCK_EX)
}

// lockStep is the interval between attempts to take a lock.
const lockStep = 2 * time.Millisecond

func (p *Provider) lock(ctx context.Context, name string, how int) (release func(), err error) {
	f, err := p.lockFile(name)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = clock.Sleep(ctx, lockStep)
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock of tmux's %s: %w", name, err)
		}
	}
}

func (p *Provider) lockFile(name string) (*os.File, error) {
	dir := p.o.Socket + ".d"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
}
