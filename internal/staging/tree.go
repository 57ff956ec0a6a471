// Package staging copies files into a work directory before an agent runs
// there: overlay directories, and single files and directories.
//
// The files come from directories of this machine ([Overlay], [CopyAll]), or from
// another one that sent them as a tar ([Pack] there, [Unpack] here).
//
// Its invariants: nothing outside the named trees is read or written, whatever
// links they contain; a file appears whole or not at all; and an overlay never
// overwrites a user's file. It serves the start sequence.
package staging

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ErrEscapes: a path or a link leads out of its tree.
var ErrEscapes = errors.New("leads out of the tree")

// entry is one file or link to stage.
type entry struct {
	rel  string // destination relative to the work directory, slashes
	mode fs.FileMode
	link string // target, for a link
	from content
	into string // if rel is a directory, the file gets this name in it; "" for an exact rel
}

// content is where an entry's bytes are. It is not used for a link.
type content interface {
	open() (io.ReadCloser, error)
	size() (int64, error)
}

// inTree is a file of a source tree.
type inTree struct {
	root *os.Root
	path string // slashes
}

func (f inTree) open() (io.ReadCloser, error) { return f.root.Open(f.path) }

func (f inTree) size() (int64, error) {
	info, err := f.root.Stat(f.path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// inMemory is a file that exists nowhere yet.
type inMemory []byte

func (m inMemory) open() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m)), nil }
func (m inMemory) size() (int64, error)         { return int64(len(m)), nil }

// list returns the files and links below root, sorted by path, each with its
// destination below dst. It omits directories named in skip. Sockets, pipes and
// devices are errors.
func list(ctx context.Context, root *os.Root, dst string, skip ...string) ([]entry, error) {
	var out []entry
	err := fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.IsDir() {
			for _, s := range skip {
				if p == s {
					return fs.SkipDir
				}
			}
			return nil
		}
		e, err := newEntry(root, p, path.Join(dst, p))
		if err != nil {
			return err
		}
		out = append(out, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", root.Name(), err)
	}
	return out, nil
}

func newEntry(root *os.Root, p, rel string) (entry, error) {
	info, err := root.Lstat(p)
	if err != nil {
		return entry{}, err
	}
	e := entry{from: inTree{root, p}, rel: rel, mode: info.Mode().Perm()}
	switch {
	case info.Mode().IsRegular():
		return e, nil
	case info.Mode()&fs.ModeSymlink != 0:
		e.link, err = root.Readlink(p)
		if err != nil {
			return entry{}, err
		}
		// Stat in a Root follows links, but not out of the root.
		if _, err := root.Stat(p); err != nil || filepath.IsAbs(e.link) {
			return entry{}, fmt.Errorf("link %s to %s: %w", filepath.Join(root.Name(), p), e.link, ErrEscapes)
		}
		return e, nil
	default:
		return entry{}, fmt.Errorf("%s is not a file, directory or link", filepath.Join(root.Name(), p))
	}
}

// hash identifies the content of the entry.
func (e entry) hash() (string, error) {
	if e.link != "" {
		return hashLink(e.link), nil
	}
	return hashOf(e.from.open())
}

func hashLink(target string) string {
	sum := sha256.Sum256([]byte("link:" + target))
	return hex.EncodeToString(sum[:])
}

func hashFile(root *os.Root, p string) (string, error) { return hashOf(inTree{root, p}.open()) }

// hashOf hashes what an open returned, and closes it.
func hashOf(f io.ReadCloser, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// existing hashes the file at rel in the work directory. "" without an error
// means that there is none; a directory or anything else is "other".
func existing(work *os.Root, rel string) (string, error) {
	info, err := work.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", escape(rel, err)
	case info.Mode().IsRegular():
		return hashFile(work, rel)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := work.Readlink(rel)
		return hashLink(target), err
	default:
		return "other", nil
	}
}

// write puts the entry in place atomically: it is completed under a temporary
// name in the same directory, then renamed.
func (e entry) write(work *os.Root) error {
	if dir := path.Dir(e.rel); dir != "." {
		if err := work.MkdirAll(dir, 0o755); err != nil {
			return escape(e.rel, err)
		}
	}
	tmp := path.Join(path.Dir(e.rel), "."+path.Base(e.rel)+".gc-staging")
	if err := work.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return escape(e.rel, err)
	}
	if err := e.fill(work, tmp); err != nil {
		_ = work.Remove(tmp) // the first error counts
		return escape(e.rel, err)
	}
	if err := work.Rename(tmp, e.rel); err != nil {
		_ = work.Remove(tmp)
		return escape(e.rel, err)
	}
	return nil
}

func (e entry) fill(work *os.Root, tmp string) error {
	if e.link != "" {
		return work.Symlink(e.link, tmp)
	}
	in, err := e.from.open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := work.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(e.mode)
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

// escape wraps an error about a destination; os.Root's refusals also become
// ErrEscapes.
func escape(rel string, err error) error {
	if strings.Contains(err.Error(), "path escapes from parent") { // os.errPathEscapes is not exported
		return fmt.Errorf("%s: %w", rel, ErrEscapes)
	}
	return fmt.Errorf("stage %s: %w", rel, err)
}

// checkRel rejects a destination outside the work directory.
func checkRel(rel string) (string, error) {
	if rel == "" {
		return ".", nil
	}
	if !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%q: %w", rel, ErrEscapes)
	}
	return path.Clean(filepath.ToSlash(rel)), nil
}
