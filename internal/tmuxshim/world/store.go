package world

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Store is the file of a world.
type Store struct {
	dir string
}

// Open returns the store of the server whose socket is at socket, below a directory of
// the multiplexer's state. Nothing is made before the first Update.
func Open(state, socket string) *Store {
	sum := sha256.Sum256([]byte(socket))
	return &Store{dir: filepath.Join(state, "tmux-shim", Key(socket)+"-"+hex.EncodeToString(sum[:4]))}
}

// Key is what the names of a server's sessions in the multiplexer begin with, after
// "tmux-": the last part of its socket, of letters and digits.
func Key(socket string) string {
	name := []byte(filepath.Base(socket))
	for i, c := range name {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			name[i] = '-'
		}
	}
	return string(name[:min(len(name), 40)])
}

func (s *Store) file() string { return filepath.Join(s.dir, "world.json") }

// Load returns the world; an empty one if there is none.
func (s *Store) Load() (*World, error) {
	data, err := os.ReadFile(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		return &World{}, nil
	}
	if err != nil {
		return nil, err
	}
	w := &World{}
	if err := json.Unmarshal(data, w); err != nil {
		return nil, fmt.Errorf("%s: %w", s.file(), err)
	}
	return w, nil
}

// Update changes the world. It waits for other processes that do; what f changed is kept
// only if f returns nil.
func (s *Store) Update(f func(*World) error) error {
	return s.locked(func() error {
		w, err := s.Load()
		if err != nil {
			return err
		}
		if err := f(w); err != nil {
			return err
		}
		return s.save(w)
	})
}

// locked calls f while no other process is in locked.
func (s *Store) locked(f func() error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	for {
		if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	return f()
}

// save replaces the file; a reader finds the old world or the new one.
func (s *Store) save(w *World) error {
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	next := s.file() + ".new"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, s.file())
}
