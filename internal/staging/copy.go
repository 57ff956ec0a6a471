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
	rel, err := checkRel(c.RelDst)
	if err != nil {
		return err
	}
	info, err := os.Stat(c.Src)
	if errors.Is(err, fs.ErrNotExist) && c.Optional {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return copyFile(ctx, work, c, rel)
	}
	root, err := os.OpenRoot(c.Src)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := list(ctx, root, rel)
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

func copyFile(ctx context.Context, work *os.Root, c Copy, rel string) error {
	// The named file may itself be a link: follow it.
	src, err := filepath.EvalSymlinks(c.Src)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(src))
	if err != nil {
		return err
	}
	defer root.Close()
	into := rel == "." || strings.HasSuffix(c.RelDst, "/")
	if info, err := work.Stat(rel); err == nil && info.IsDir() {
		into = true
	}
	if into {
		rel = path.Join(rel, filepath.Base(c.Src))
	}
	e, err := newEntry(root, filepath.Base(src), rel)
	if err != nil {
		return err
	}
	return replace(ctx, work, e)
}

// replace writes the entry unless the file already has that content.
func replace(ctx context.Context, work *os.Root, e entry) error {
	if err := ctx.Err(); err != nil {
		return err
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
