package world

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Channel is what wait-for waits for. Who waits reads from a fifo of its own; a signal
// writes to all of them, or leaves a file for who waits next.
type Channel struct {
	store *Store
	dir   string
}

// Channel returns the channel of a name.
func (s *Store) Channel(name string) *Channel {
	sum := sha256.Sum256([]byte(name))
	return &Channel{s, filepath.Join(s.dir, "wait", hex.EncodeToString(sum[:8]))}
}

func (c *Channel) signalled() string { return filepath.Join(c.dir, "signalled") }

// Signal wakes all who wait, or who waits next.
func (c *Channel) Signal() error {
	return c.store.locked(func() error {
		woken := false
		fifos, err := filepath.Glob(filepath.Join(c.dir, "*.fifo"))
		if err != nil {
			return err
		}
		for _, path := range fifos {
			f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
			if err != nil { // nobody reads it any more
				_ = os.Remove(path)
				continue
			}
			_, err = f.Write([]byte{1})
			_ = f.Close()
			woken = woken || err == nil
		}
		if woken {
			return nil
		}
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			return err
		}
		return os.WriteFile(c.signalled(), nil, 0o600)
	})
}

// Wait returns when the channel is signalled, or has been.
func (c *Channel) Wait(ctx context.Context) error {
	path := filepath.Join(c.dir, strconv.Itoa(os.Getpid())+".fifo")
	var f *os.File
	err := c.store.locked(func() error {
		if err := os.Remove(c.signalled()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			return err
		}
		if err := unix.Mkfifo(path, 0o600); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
		var err error
		f, err = os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0) // with a writer, a read waits
		return err
	})
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	defer os.Remove(path)
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()
	if _, err := f.Read(make([]byte, 1)); ctx.Err() == nil {
		return err
	}
	return ctx.Err()
}
