package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Copy is one file or directory to copy.
type Copy struct {
	Src      string
	RelDst   string // below the work directory; "" = the work directory itself
	Optional bool   // a missing Src is not an error

	// Data, if not nil, is the content of a file RelDst that only its owner can read; Src is
	// its name in errors.
	Data []byte
}

// CopyAll copies every entry into workDir, each file atomically. A file goes to
// RelDst, or into it if that is "", ends with a slash or is a directory; a
// directory's contents go below RelDst. Existing files are replaced. A RelDst
// or a link that leads out of its tree is ErrEscapes, and then nothing of that
// entry is copied.
func CopyAll(ctx context.Context, workDir string, copies []Copy) error {
	if len(copies) == 0 {
		return nil
	}
	work, err := os.OpenRoot(workDir)
	if err != nil {
		return fmt.Errorf("work dir: %w", err)
	}
	defer work.Close()
	for _, c := range copies {
		if err := copyOne(ctx, work, c); err != nil {
			return fmt.Errorf("copy %s: %w", c.Src, err)
		}
	}
	return nil
}

func copyOne(ctx context.Context, work *os.Root, c Copy) error {
	entries, done, err := c.entries(ctx)
	defer done()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := replace(ctx, work, e); err != nil {
			return err
		}
	}
	return nil
}

// entries returns what to write for the copy; nothing for an optional one that is
// missing. done closes its tree.
func (c Copy) entries(ctx context.Context) (entries []entry, done func(), err error) {
	done = func() {}
	rel, err := checkRel(c.RelDst)
	if err != nil {
		return nil, done, err
	}
	if c.Data != nil {
		return []entry{{from: inMemory(c.Data), rel: rel, mode: 0o600}}, done, nil
	}
	info, err := os.Stat(c.Src)
	if errors.Is(err, fs.ErrNotExist) && c.Optional {
		return nil, done, nil
	}
	if err != nil {
		return nil, done, err
	}
	dir, name := c.Src, ""
	if !info.IsDir() {
		// The named file may itself be a link: follow it.
		src, err := filepath.EvalSymlinks(c.Src)
		if err != nil {
			return nil, done, err
		}
		dir, name = filepath.Dir(src), filepath.Base(src)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, done, err
	}
	done = func() { root.Close() }
	if name == "" {
		entries, err = list(ctx, root, rel)
		return entries, done, err
	}
	e, err := newEntry(root, name, rel)
	if rel == "." || strings.HasSuffix(c.RelDst, "/") {
		e.rel = path.Join(rel, filepath.Base(c.Src))
	} else {
		e.into = filepath.Base(c.Src)
	}
	return []entry{e}, done, err
}

// replace writes the entry unless the file already has that content.
func replace(ctx context.Context, work *os.Root, e entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.into != "" {
		if info, err := work.Stat(e.rel); err == nil && info.IsDir() {
			e.rel = path.Join(e.rel, e.into)
		}
	}
	have, err := existing(work, e.rel)
	if err != nil {
		return err
	}
	want, err := e.hash()
	if err != nil {
		return err
	}
	if have == want {
		return nil
	}
	return e.write(work)
}
