package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// How long Open waits for the lock, and how often it tries.
const (
	lockTimeout = time.Second
	lockRetry   = 20 * time.Millisecond
)

// schemaBucket holds the schema's name and version; it is not a valid Bucket
// name.
const schemaBucket = "\x00schema"

// newSuffix marks a database being created. It is renamed when complete, so a
// file under the real name is never half written.
const newSuffix = ".new"

// errMoved: the path no longer names the file that was opened.
var errMoved = errors.New("file was replaced while opening")

// Open opens the database at path, and creates it (mode 0600) if it does not
// exist; its directory must exist. It waits up to one second for another
// process, then returns ErrLocked. A file that is empty, truncated, damaged,
// not a bbolt file or of another schema is ErrCorrupt, one of a newer version
// ErrNewer; neither is changed. Close, or the end of the process, releases the
// lock.
func Open(path string, s Schema) (*DB, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	deadline := time.Now().Add(lockTimeout)
	for {
		db, err := tryOpen(path, s, deadline)
		if errors.Is(err, errMoved) && time.Now().Before(deadline) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
		return db, nil
	}
}

func tryOpen(path string, s Schema, deadline time.Time) (*DB, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return create(path, s, deadline)
	}
	if err != nil {
		return nil, err
	}
	if err := lock(file, path, deadline); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := verify(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return attach(path, file, s)
}

// create builds the database under a temporary name and renames it while it is
// open and locked: the lock belongs to the file, not to the name.
func create(path string, s Schema, deadline time.Time) (*DB, error) {
	tmp := path + newSuffix
	fd, err := unix.Open(tmp, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: tmp, Err: err}
	}
	file := os.NewFile(uintptr(fd), path) // the name in later errors
	if err := lock(file, tmp, deadline); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if _, err := os.Lstat(path); err == nil {
		// Another process created it first and released the temporary name.
		return nil, errors.Join(errMoved, os.Remove(tmp), file.Close())
	}
	if err := file.Truncate(0); err != nil {
		return nil, errors.Join(err, os.Remove(tmp), file.Close())
	}
	db, err := attach(path, file, s)
	if err != nil {
		return nil, errors.Join(err, os.Remove(tmp))
	}
	err = os.Rename(tmp, path)
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// attach hands the locked, verified file to bbolt, which owns it from here on,
// and migrates the schema.
func attach(path string, file *os.File, s Schema) (*DB, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	b, err := bolt.Open(path, 0o600, &bolt.Options{
		OpenFile:     func(string, int, os.FileMode) (*os.File, error) { return file, nil },
		NoStatistics: true,
	})
	if err != nil {
		return nil, err
	}
	db := &DB{path: path, file: info, bolt: b}
	if err := db.migrate(s); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// lock takes the exclusive lock that bbolt uses, and checks that name still
// refers to the file.
func lock(file *os.File, name string, deadline time.Time) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lock: %w", err)
		}
		if time.Now().After(deadline) {
			return ErrLocked
		}
		time.Sleep(lockRetry)
	}
	mine, err := file.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Stat(name); err != nil || !os.SameFile(mine, there) {
		return errMoved
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// schemaRecord is the stored schema.
type schemaRecord struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
}

var schemaKey = []byte("schema")

// migrate checks the file's schema and migrates it to the wanted version. It
// does not write to a file that is up to date.
func (db *DB) migrate(s Schema) error {
	have, err := db.schema()
	if err != nil {
		return err
	}
	switch {
	case have == nil:
		have = &schemaRecord{Name: s.Name, Version: -1}
	case have.Name != s.Name:
		return fmt.Errorf("%w: its schema is %q, want %q", ErrCorrupt, have.Name, s.Name)
	case have.Version > s.Version:
		return fmt.Errorf("%w: layout %d; this program supports up to %d", ErrNewer, have.Version, s.Version)
	case have.Version == s.Version:
		return nil
	}
	return db.Update(func(tx *Tx) error {
		for v := max(have.Version, 0); v < len(s.Migrate); v++ {
			if s.Migrate[v] == nil {
				continue
			}
			if err := s.Migrate[v](tx); err != nil {
				return fmt.Errorf("migrate %s from version %d: %w", s.Name, v, err)
			}
		}
		return tx.putSchema(schemaRecord{Name: s.Name, Version: s.Version})
	})
}

// schema reads the record; nil for a new file, which has no bucket.
func (db *DB) schema() (*schemaRecord, error) {
	var rec *schemaRecord
	err := db.View(func(tx *Tx) error {
		b := tx.bolt.Bucket([]byte(schemaBucket))
		if b == nil {
			if k, _ := tx.bolt.Cursor().First(); k != nil {
				return fmt.Errorf("%w: written by another program", ErrCorrupt)
			}
			return nil
		}
		rec = &schemaRecord{}
		if err := json.Unmarshal(b.Get(schemaKey), rec); err != nil {
			return fmt.Errorf("%w: schema record: %w", ErrCorrupt, err)
		}
		return nil
	})
	return rec, err
}

func (tx *Tx) putSchema(rec schemaRecord) error {
	b, err := tx.bolt.CreateBucketIfNotExists([]byte(schemaBucket))
	if err != nil {
		return err
	}
	data, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return b.Put(schemaKey, data)
}
