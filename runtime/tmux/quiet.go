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
)

// tmux up to 3.6 crashes, and takes every session along, when it has a notice
// for the control clients while one of them is just connecting (the client is
// in the list before its state is made), or when one goes away in that moment.
// So a connection is opened only while nothing else happens that makes notices:
// sessions that begin or end, people that come or go, connections that end.
// Every gc keeps to that by a lock beside the socket.

// quietLimit is how long a connection waits for its moment, and others for it.
const quietLimit = 500 * time.Millisecond

// quiet takes the lock alone, to open a connection. Who comes after it waits;
// it waits for those that are there, but not long: a person stays for hours.
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

// noticing takes the lock together with others, for what makes notices.
func (p *Provider) noticing(ctx context.Context) (release func(), err error) {
	done, err := p.lock(ctx, "turn", unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	defer done()
	return p.lock(ctx, "lock", unix.LOCK_SH)
}

// slots is how many locks all sessions share for their input.
const slots = 64

// typing takes the lock of a session's input, against every gc process.
func (p *Provider) typing(ctx context.Context, name string) (release func(), err error) {
	sum := sha256.Sum256([]byte(name))
	return p.lock(ctx, fmt.Sprintf("input-%02d", sum[0]%slots), unix.LOCK_EX)
}

// lockStep is the pause between two tries of a lock.
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
			err = sleep(ctx, lockStep)
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
