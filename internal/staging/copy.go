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

// Copy is one file or folder to copy.
type Copy struct {
	Src      string
	RelDst   string // below the work dir; "" = the work dir itself
	Optional bool   // a missing Src is nothing
}

// CopyAll copies every entry into workDir, each file in one step. A file goes
// to RelDst, or into it when that is "", ends with a slash or is a folder; a
// folder's contents go below RelDst. A file that stands there is replaced. A
// RelDst or a link that leads out of its tree is ErrEscapes, and then nothing
// of that entry is copied.
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
	// The file that was named may itself be a link: it is followed.
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

// replace writes the entry unless the same content stands there already.
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
