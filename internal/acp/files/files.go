// Package files gives an agent the text files below its work directory, and no others:
// it follows no link out of it.
//
// It owns no policy: whether the agent may is decided before. Only the host of an ACP
// agent uses it.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// MaxFile is the largest file in bytes that is read or written.
const MaxFile = 10 << 20

// Errors of Read and Write.
var (
	ErrOutside = errors.New("the path is not below the work directory")
	ErrNotFile = errors.New("it is no regular file")
	ErrTooBig  = fmt.Errorf("it has more than %d bytes", MaxFile)
	ErrNotText = errors.New("it is not text")
)

// Files are the files below a directory. Safe for concurrent use.
type Files struct {
	root *os.Root
	dir  string
}

// Open opens a directory, given by its absolute path.
func Open(dir string) (*Files, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Files{root: root, dir: filepath.Clean(dir)}, nil
}

// Close releases the directory.
func (f *Files) Close() error { return f.root.Close() }

// name is a path relative to the directory.
func (f *Files) name(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%w: %q is not absolute", ErrOutside, path)
	}
	rel, err := filepath.Rel(f.dir, filepath.Clean(path))
	if err != nil || !filepath.IsLocal(rel) {
		return "", ErrOutside
	}
	return rel, nil
}

// Check reports ErrOutside for a path that is not below the directory by its name.
func (f *Files) Check(path string) error {
	_, err := f.name(path)
	return err
}

// Read returns the text of a file: from a line, counted from 1, and at most limit
// lines. Zero means from the beginning, and all.
func (f *Files) Read(path string, line, limit int) (string, error) {
	name, err := f.name(path)
	if err != nil {
		return "", err
	}
	if err := f.regular(name); err != nil { // opening a FIFO would wait for its writer
		return "", err
	}
	file, err := f.root.Open(name)
	if err != nil {
		return "", outside(err)
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > MaxFile:
		return "", ErrTooBig
	case !utf8.Valid(b):
		return "", ErrNotText
	}
	return part(string(b), line, limit), nil
}

// regular reports an error unless the file is a regular one.
func (f *Files) regular(name string) error {
	info, err := f.root.Stat(name)
	if err != nil {
		return outside(err)
	}
	if !info.Mode().IsRegular() {
		return ErrNotFile
	}
	return nil
}

// part returns lines of a text.
func part(text string, line, limit int) string {
	lines := strings.SplitAfter(text, "\n")
	lines = lines[min(max(line-1, 0), len(lines)):]
	if limit > 0 {
		lines = lines[:min(limit, len(lines))]
	}
	return strings.Join(lines, "")
}

// Write replaces the text of a file, or makes it, with the directories above it.
func (f *Files) Write(path, text string) error {
	name, err := f.name(path)
	if err != nil {
		return err
	}
	if len(text) > MaxFile {
		return ErrTooBig
	}
	switch err := f.regular(name); {
	case errors.Is(err, fs.ErrNotExist):
		if err := f.root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return outside(err)
		}
	case err != nil:
		return err
	}
	return outside(f.root.WriteFile(name, []byte(text), 0o666))
}

// outside names the error of a link that leads out of the directory.
func outside(err error) error {
	if err != nil && strings.Contains(err.Error(), "path escapes from parent") {
		return ErrOutside
	}
	return err
}
