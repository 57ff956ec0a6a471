package staging

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Plan is what to stage into one work directory: the overlays as [Overlay] does, then the
// copies as [CopyAll] does.
type Plan struct {
	Overlays []string // directories, later ones taking precedence
	Slots    []string // see [Slots]
	Copies   []Copy
}

// Records of the tar, beside those of the format.
const (
	recordCopy = "GC.copy" // source of the copy that the entry belongs to; absent: an overlay's
	recordInto = "GC.into" // see entry.into
	recordEnd  = "GC.end"  // marks the last header: the tar is complete
)

// Pack writes the files of a plan as a tar for [Unpack]. The overlays are merged here. An
// error leaves a tar that Unpack refuses.
func Pack(ctx context.Context, w io.Writer, p Plan) error {
	out := tar.NewWriter(w)
	entries, done, err := merge(ctx, p.Overlays, p.Slots)
	defer done()
	for i := 0; i < len(entries) && err == nil; i++ {
		err = entries[i].pack(ctx, out, nil)
	}
	if err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	for _, c := range p.Copies {
		if err := c.pack(ctx, out); err != nil {
			return fmt.Errorf("copy %s: %w", c.Src, err)
		}
	}
	if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "end", PAXRecords: map[string]string{recordEnd: "1"}}); err != nil {
		return err
	}
	return out.Close()
}

func (c Copy) pack(ctx context.Context, out *tar.Writer) error {
	entries, done, err := c.entries(ctx)
	defer done()
	if err != nil {
		return err
	}
	for _, e := range entries {
		records := map[string]string{recordCopy: c.Src}
		if e.into != "" {
			records[recordInto] = e.into
		}
		if err := e.pack(ctx, out, records); err != nil {
			return err
		}
	}
	return nil
}

func (e entry) pack(ctx context.Context, out *tar.Writer, records map[string]string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: e.rel, Mode: int64(e.mode.Perm()), PAXRecords: records, Format: tar.FormatPAX}
	if e.link != "" {
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		return out.WriteHeader(h)
	}
	size, err := e.from.size()
	if err != nil {
		return err
	}
	in, err := e.from.open()
	if err != nil {
		return err
	}
	defer in.Close()
	h.Size = size
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	if n, err := io.CopyN(out, in, size); err != nil {
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s became shorter while it was read: %d of %d bytes", e.rel, n, size)
		}
		return err
	}
	return nil
}

// ErrIncomplete means that a tar ended before its sender was done.
var ErrIncomplete = errors.New("the files did not arrive completely")

// Unpack stages what [Pack] wrote into workDir, with the same result as Overlay and CopyAll
// there. Nothing is written before the whole tar was read; ErrIncomplete if it is cut, and
// ErrEscapes if a name or a link in it leads out of the work directory. Until then the
// contents are in a file without a name in the directory for temporary files.
func Unpack(ctx context.Context, workDir string, r io.Reader) error {
	work, err := os.OpenRoot(workDir)
	if err != nil {
		return fmt.Errorf("work dir: %w", err)
	}
	defer work.Close()
	spool, err := os.CreateTemp("", "gc-staging-*")
	if err != nil {
		return fmt.Errorf("receive files: %w", err)
	}
	defer spool.Close()
	if err := os.Remove(spool.Name()); err != nil {
		return fmt.Errorf("receive files: %w", err)
	}
	merged, copies, err := receive(ctx, spool, r)
	if err != nil {
		return err
	}
	if len(merged) > 0 {
		if err := overlay(ctx, work, merged); err != nil {
			return err
		}
	}
	for _, c := range copies {
		if err := replace(ctx, work, c.entry); err != nil {
			return fmt.Errorf("copy %s: %w", c.src, err)
		}
	}
	return nil
}

// copied is an entry of a copy.
type copied struct {
	entry
	src string // as the sender calls it
}

// receive reads the whole tar; contents go into the spool.
func receive(ctx context.Context, spool *os.File, r io.Reader) (merged []entry, copies []copied, err error) {
	in := tar.NewReader(r)
	var used int64
	for whole := false; ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) && whole {
			return merged, copies, nil
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = ErrIncomplete
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, nil, err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			whole = whole || h.PAXRecords[recordEnd] != ""
			continue
		}
		e, err := received(h)
		if err != nil {
			return nil, nil, err
		}
		if e.link == "" {
			e.from = inSpool{io.NewSectionReader(spool, used, h.Size)}
			used += h.Size
			if _, err := io.CopyN(spool, in, h.Size); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, nil, ErrIncomplete
			} else if err != nil {
				return nil, nil, fmt.Errorf("receive %s: %w", h.Name, err)
			}
		}
		if src, ok := h.PAXRecords[recordCopy]; ok {
			copies = append(copies, copied{e, src})
		} else {
			merged = append(merged, e)
		}
	}
}

// received checks a header: it may come from anywhere.
func received(h *tar.Header) (entry, error) {
	rel, err := checkRel(h.Name)
	if err != nil {
		return entry{}, err
	}
	_, isCopy := h.PAXRecords[recordCopy]
	e := entry{rel: rel, mode: fs.FileMode(h.Mode).Perm(), into: h.PAXRecords[recordInto]}
	switch {
	case rel == ".", e.into != "" && (e.into != filepath.Base(e.into) || !filepath.IsLocal(e.into)):
		return entry{}, fmt.Errorf("%q: %w", path.Join(rel, e.into), ErrEscapes)
	case rel == manifest && !isCopy:
		return entry{}, fmt.Errorf("overlay: %s is reserved for gc", manifest)
	case h.Typeflag == tar.TypeReg:
		return e, nil
	case h.Typeflag == tar.TypeSymlink:
		e.link = h.Linkname
		if e.link == "" || filepath.IsAbs(e.link) || !filepath.IsLocal(path.Join(path.Dir(rel), e.link)) {
			return entry{}, fmt.Errorf("link %s to %s: %w", rel, e.link, ErrEscapes)
		}
		return e, nil
	}
	return entry{}, fmt.Errorf("%s is not a file or link", rel)
}

// inSpool is a file that was received.
type inSpool struct{ *io.SectionReader }

func (s inSpool) open() (io.ReadCloser, error) {
	return io.NopCloser(io.NewSectionReader(s.SectionReader, 0, s.Size())), nil
}

func (s inSpool) size() (int64, error) { return s.Size(), nil }
