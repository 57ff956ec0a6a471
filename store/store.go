// Package store keeps typed records in one bbolt file: buckets of JSON values
// under string keys, with a versioned schema.
//
// Its invariant: what Update or Batch acknowledged is on disk, however the
// process is killed afterwards, and a file that cannot be understood is
// reported and left exactly as it is. One process has a file open at a time. It
// serves the mux server (mux.db) and the controller (city.db), and is the only
// package that knows bbolt.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// MaxKey is the maximum length of a key, in bytes: 32 KiB.
const MaxKey = bolt.MaxKeySize

// Schema describes the content of a file. Name identifies the database; Version
// counts its layouts from 0. Migrate[i] migrates version i to i+1; a missing or
// nil entry changes only the number. A new file starts at version 0 and goes
// through all of them. All migrations of one Open run in one transaction.
type Schema struct {
	Name    string
	Version int
	Migrate []func(*Tx) error
}

func (s Schema) check() error {
	if s.Name == "" || s.Version < 0 || len(s.Migrate) > s.Version {
		return fmt.Errorf("schema %q version %d with %d migrations is not consistent",
			s.Name, s.Version, len(s.Migrate))
	}
	return nil
}

// DB is an open database, safe for concurrent use. Transactions and Copy return
// ErrClosed after Close.
type DB struct {
	path string
	file fs.FileInfo // at path, when it was opened
	bolt *bolt.DB

	mu         sync.Mutex
	queue      []*batchCall // waiting for the next group commit
	committing bool
}

// Path returns the file's path as given to Open.
func (db *DB) Path() string { return db.path }

// Tx is a transaction, valid only inside the function that received it and only
// on that goroutine.
type Tx struct {
	db   *DB
	bolt *bolt.Tx
	err  error // the first failure inside an iteration; ends the transaction
}

func (tx *Tx) fail(err error) {
	if tx.err == nil {
		tx.err = err
	}
}

// Update runs fn in a read-write transaction and commits it durably (fsync); if
// fn fails, it rolls back and returns fn's error. Writers run one at a time: fn
// must not call Update or Batch of the same DB.
func (db *DB) Update(fn func(*Tx) error) error {
	return db.wrap(db.bolt.Update(func(btx *bolt.Tx) error {
		return db.run(btx, fn)
	}))
}

// View runs fn over a consistent snapshot. It blocks neither writers nor readers, but
// writes meanwhile make the file grow: they reuse no page that fn may still read.
func (db *DB) View(fn func(*Tx) error) error {
	return db.wrap(db.bolt.View(func(btx *bolt.Tx) error {
		return db.run(btx, fn)
	}))
}

func (db *DB) run(btx *bolt.Tx, fn func(*Tx) error) error {
	tx := &Tx{db: db, bolt: btx}
	if err := fn(tx); err != nil {
		return err
	}
	return tx.err
}

// Close waits for running transactions and releases the file. It is idempotent.
func (db *DB) Close() error { return db.wrap(db.bolt.Close()) }

// wrap turns bbolt's errors into this package's.
func (db *DB) wrap(err error) error {
	switch {
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return fmt.Errorf("%s: %w", db.path, ErrClosed)
	case errors.Is(err, berrors.ErrTxNotWritable):
		return fmt.Errorf("%s: %w", db.path, ErrReadOnly)
	default:
		return err
	}
}

// Copy writes the current database to a file at path (mode 0600), replacing it. The copy
// is on disk when Copy returns.
func (db *DB) Copy(path string) error {
	tmp := path + newSuffix
	file, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = db.bolt.View(func(tx *bolt.Tx) error { // CopyFile would write to the open file
		_, err := tx.WriteTo(file)
		return err
	})
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		_ = os.Remove(tmp)
	}
	return db.wrap(err)
}

// Lost reports whether the file is no longer at its path (removed or replaced).
func (db *DB) Lost() bool {
	there, err := os.Lstat(db.path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
	}
	return !os.SameFile(there, db.file)
}
