package subprocess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity.dev/gc/runtime"
)

// The output is kept in at most two files, named by the offset of their first byte in
// the whole output; when the newer one is full, the older one is removed.
const (
	outputPrefix = "output."
	// at least this many bytes are kept, at most twice as many
	defaultOutput = 2 << 20
)

// keeper is the writing end of the output, in the parent.
type keeper struct {
	dir    string
	limit  int64 // of one file, in bytes
	file   *os.File
	first  int64 // offset of the file's first byte
	length int64
	older  string // path of the previous file, "" for none
}

func newKeeper(dir string, limit int64) (*keeper, error) {
	if limit <= 0 {
		limit = defaultOutput
	}
	k := &keeper{dir: dir, limit: limit}
	return k, k.next()
}

// next starts another file.
func (k *keeper) next() error {
	path := filepath.Join(k.dir, outputPrefix+strconv.FormatInt(k.first+k.length, 10))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if k.file != nil {
		if k.older != "" {
			err = os.Remove(k.older)
		}
		k.older = k.file.Name()
		err = errors.Join(err, k.file.Close())
	}
	k.file, k.first, k.length = f, k.first+k.length, 0
	return err
}

// Write keeps p; it fails only if the disk does.
func (k *keeper) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		if k.length >= k.limit {
			if err := k.next(); err != nil {
				return written, err
			}
		}
		n, err := k.file.Write(p[:min(int64(len(p)), k.limit-k.length)])
		k.length += int64(n)
		written += n
		if err != nil {
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}

// segment is one file of the output.
type segment struct {
	first int64
	path  string
}

// segments returns the files of the output, oldest first.
func segments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []segment
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), outputPrefix)
		if n, err := strconv.ParseInt(digits, 10, 64); ok && err == nil {
			found = append(found, segment{n, filepath.Join(dir, e.Name())})
		}
	}
	slices.SortFunc(found, func(a, b segment) int { return int(min(max(a.first-b.first, -1), 1)) })
	return found, nil
}

// output returns the kept output, and the offset of its first byte. A file that
// the parent removes meanwhile was the oldest.
func (s state) output() (text []byte, first int64, err error) {
	found, err := segments(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, runtime.ErrSessionNotFound
	}
	if err != nil {
		return nil, 0, unreachable(err)
	}
	for _, g := range found {
		data, err := os.ReadFile(g.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, 0, unreachable(err)
		}
		if len(text) == 0 {
			first = g.first
		}
		text = append(text, data...)
	}
	return text, first, nil
}

// shown returns the output since it was cleared, as text.
func (s state) shown() (string, error) {
	text, first, err := s.output()
	if err != nil {
		return "", err
	}
	if data, err := os.ReadFile(filepath.Join(s.dir, clearFile)); err == nil {
		if from, err := strconv.ParseInt(string(data), 10, 64); err == nil && from > first {
			text = text[min(from-first, int64(len(text))):]
		}
	}
	return strings.ToValidUTF8(strings.ReplaceAll(string(text), "\r\n", "\n"), "\uFFFD"), nil
}

// Peek implements runtime.Provider: the output, also of a session that ended.
func (p *Provider) Peek(ctx context.Context, name string, lines int) (string, error) {
	s, err := p.read(name)
	if err == nil {
		err = s.awaitParent(ctx)
	}
	text := ""
	if err == nil {
		text, err = s.shown()
	}
	if err != nil {
		return "", fmt.Errorf("peek %s: %w", name, err)
	}
	return runtime.LastLines(text, lines), nil
}

// screenLines is how many lines count as the screen of a program that has none.
const screenLines = 40

// ClearScrollback implements runtime.Provider: Peek starts at the last 40 lines from
// now on.
func (p *Provider) ClearScrollback(_ context.Context, name string) error {
	s, err := p.live(name)
	if gone(err) {
		return nil
	}
	var text []byte
	var first int64
	if err == nil {
		text, first, err = s.output()
	}
	if err == nil {
		from := len(text)
		for n := 0; from > 0; from-- {
			if text[from-1] == '\n' {
				if n++; n > screenLines {
					break
				}
			}
		}
		err = writeBytes(filepath.Join(s.dir, clearFile), []byte(strconv.FormatInt(first+int64(from), 10)))
	}
	if err != nil {
		return fmt.Errorf("clear %s: %w", name, err)
	}
	return nil
}

// lastOutput returns when the output last grew, or when the session started.
func lastOutput(s state) time.Time {
	found, err := segments(s.dir)
	if err != nil || len(found) == 0 {
		return s.Created
	}
	info, err := os.Stat(found[len(found)-1].path)
	if err != nil || info.Size() == 0 && len(found) == 1 {
		return s.Created
	}
	return info.ModTime()
}
