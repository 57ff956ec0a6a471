package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Tail reads a transcript that is being written: each call of Next reads what is new,
// and nothing twice. It is for one goroutine.
type Tail struct {
	dir   string
	after int64    // the number of the last entry
	f     *os.File // the current file, read up to its last whole line
	rest  []byte   // of the line that is being written
}

// NewTail returns a Tail of the directory's entries whose number is greater than after.
// The directory need not exist yet.
func NewTail(dir string, after int64) *Tail { return &Tail{dir: dir, after: after} }

// Next calls f with the entries that are new, in order. Entries that were removed
// since the last call are skipped.
func (t *Tail) Next(f func(Entry) error) error {
	if t.f != nil {
		if err := t.read(f); err != nil {
			return err
		}
	}
	path := filepath.Join(t.dir, current)
	if t.is(path) {
		return nil
	}
	t.Close()
	if err := readFile(filepath.Join(t.dir, previous), &t.after, f); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	t.f = file
	return t.read(f)
}

// is reports whether the open file is the one at path: two files alternate.
func (t *Tail) is(path string) bool {
	if t.f == nil {
		return false
	}
	mine, err := t.f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// read reads the open file to its end.
func (t *Tail) read(f func(Entry) error) error {
	b, err := io.ReadAll(t.f)
	if err != nil {
		return err
	}
	t.rest = append(t.rest, b...)
	for {
		line, rest, ok := bytes.Cut(t.rest, []byte("\n"))
		if !ok {
			return nil
		}
		t.rest = rest
		var e Entry
		if json.Unmarshal(line, &e) != nil || e.N <= t.after {
			continue
		}
		t.after = e.N
		if err := f(e); err != nil {
			return err
		}
	}
}

// Close closes the file. A later Next opens it again.
func (t *Tail) Close() error {
	if t.f == nil {
		return nil
	}
	err := t.f.Close()
	t.f, t.rest = nil, nil
	return err
}
