package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"gascity.dev/gc/vt"
)

// A recording is raw output with times, in two files of its own. A frame is i64 Unix
// nanoseconds, u64 offset in the output, u32 kind and length (little endian), and the
// bytes.
//
// It keeps the newest output: at half of the limit the file replaces the older one, and
// the next file begins with a picture of the screen, so that it can be shown alone.
const (
	recordingMax  = 256 << 20 // bytes of both files
	frameHead     = 20
	frameOutput   = 0
	frameResize   = 1 // cols and rows, two u32
	frameScreen   = 2 // paints the screen; for readers that have not seen what came before
	frameGap      = 3 // the same where output is missing; always painted
	frameKindBits = 28
	maxRecFrame   = 1<<frameKindBits - 1
)

// RecordingOptions describe a recording. The zero value is usable except for the size.
type RecordingOptions struct {
	Cols, Rows int              // first size of a new recording
	Now        func() time.Time // a clock that never steps; default time.Now
	Max        int64            // bytes of both files; default, and most, 256 MiB
}

// Recording writes the recording of one session. Its owner's lock orders all calls. The
// nil Recording records nothing.
type Recording struct {
	f          *os.File
	path       string
	now        func() time.Time
	size       int64
	older      int64  // size of the older file
	most       int64  // of this file
	next       uint64 // offset of the next byte
	cols, rows int    // as recorded last
	owed       int    // kind of the picture that must precede more output; 0: none
	full       bool   // the disk refused the last frame
}

// RecordingFiles returns both files of the recording at path, the older first. Either
// may be missing.
func RecordingFiles(path string) [2]string { return [2]string{path + olderSuffix, path} }

// olderSuffix ends the name of the older file. No session id contains it.
const olderSuffix = "~"

// OpenRecording opens the recording at path, or begins one. A frame that a kill cut
// short is removed.
func OpenRecording(path string, o RecordingOptions) (*Recording, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	r := &Recording{f: f, path: path, now: o.Now, most: min(o.Max, recordingMax) / 2}
	if r.now == nil {
		r.now = time.Now
	}
	if r.most <= 0 {
		r.most = recordingMax / 2
	}
	if err := r.load(); err != nil {
		f.Close()
		return nil, err
	}
	if r.size == 0 {
		r.Resize(o.Cols, o.Rows)
	}
	return r, nil
}

// load reads what the file holds.
func (r *Recording) load() error {
	err := eachFrame(bufio.NewReader(r.f), func(fr recFrame) error {
		r.size += frameHead + int64(len(fr.data))
		switch fr.kind {
		case frameOutput:
			r.next = fr.offset + uint64(len(fr.data))
		case frameScreen, frameGap:
			r.next = fr.offset
		case frameResize:
			r.cols, r.rows, _ = fr.size()
		}
		return nil
	})
	if older, gone := os.Stat(r.path + olderSuffix); gone == nil {
		r.older = older.Size()
		if r.size == 0 {
			r.owed = frameScreen // killed between two files
		}
	}
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		err = r.f.Truncate(r.size)
	}
	return err
}

// Take records the journal's output that is not recorded yet.
func (r *Recording) Take(j *Journal) {
	if r == nil {
		return
	}
	if r.full { // there may be space again; the picture shows what is missing
		r.full, r.owed = false, frameGap
	}
	if r.owed != 0 || r.next >= j.End() {
		return
	}
	p := j.From(r.next)
	if len(p) == 0 {
		r.owed = frameGap
		return
	}
	r.write(frameOutput, r.next, p)
	r.next += uint64(len(p))
}

// Paint records a picture of the screen, which shows the output up to offset, where the
// recording needs one: at the beginning of a file and after a gap. paint appends the
// picture.
func (r *Recording) Paint(offset uint64, cols, rows int, paint func([]byte) ([]byte, error)) {
	if r == nil || r.full {
		return
	}
	if r.owed == 0 && r.size >= r.most {
		if err := r.rotate(); err != nil {
			slog.Warn("cannot rotate a recording", "error", err)
			r.most += r.most / 8 // continue in this file; try again later
			return
		}
		r.owed = frameScreen
	}
	if r.owed == 0 {
		return
	}
	picture, err := paint([]byte("\x1bc")) // for a terminal that was reset
	if err != nil {
		return // the owner replaces a screen that panics
	}
	kind := r.owed
	r.owed, r.cols, r.rows = 0, 0, 0 // the size precedes the picture
	r.Resize(cols, rows)
	r.write(kind, offset, picture)
	r.next = offset
}

// Gap makes the next Paint record the whole screen, because output is missing.
func (r *Recording) Gap() {
	if r != nil {
		r.owed = frameGap
	}
}

// Resize records a size if it is new. A picture that is due brings its own.
func (r *Recording) Resize(cols, rows int) {
	if r == nil || r.owed != 0 || cols == r.cols && rows == r.rows {
		return
	}
	r.cols, r.rows = cols, rows
	b := binary.LittleEndian.AppendUint32(nil, uint32(cols))
	r.write(frameResize, 0, binary.LittleEndian.AppendUint32(b, uint32(rows)))
}

// Bytes returns the size of both files.
func (r *Recording) Bytes() int64 {
	if r == nil {
		return 0
	}
	return r.size + r.older
}

// Remove ends the recording and removes its files.
func (r *Recording) Remove() {
	if r == nil {
		return
	}
	r.f.Close()
	for _, path := range RecordingFiles(r.path) {
		_ = os.Remove(path) // the older file may not exist
	}
}

// rotate makes the file the older one and begins another.
func (r *Recording) rotate() error {
	if err := os.Rename(r.path, r.path+olderSuffix); err != nil {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return errors.Join(err, os.Rename(r.path+olderSuffix, r.path))
	}
	r.f.Close()
	r.f, r.size, r.older, r.cols, r.rows = f, 0, r.size, 0, 0
	return nil
}

// write appends a frame. A full disk leaves a gap in the recording, nothing worse.
func (r *Recording) write(kind int, offset uint64, p []byte) {
	if r.full {
		return
	}
	b := make([]byte, 0, frameHead+len(p))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.now().UnixNano()))
	b = binary.LittleEndian.AppendUint64(b, offset)
	b = binary.LittleEndian.AppendUint32(b, uint32(kind)<<frameKindBits|uint32(len(p)))
	b = append(b, p...)
	if _, err := r.f.WriteAt(b, r.size); err != nil {
		slog.Warn("cannot write a recording", "error", err)
		_ = r.f.Truncate(r.size)
		r.full = true
		return
	}
	r.size += int64(len(b))
}

// recFrame is one frame as read.
type recFrame struct {
	at     time.Time
	kind   int
	offset uint64
	data   []byte
}

// size returns the size that a resize records.
func (f *recFrame) size() (cols, rows int, ok bool) {
	if f.kind != frameResize || len(f.data) != 8 {
		return 0, 0, false
	}
	cols, rows = int(binary.LittleEndian.Uint32(f.data)), int(binary.LittleEndian.Uint32(f.data[4:]))
	ok = cols >= vt.MinCols && cols <= vt.MaxCols && rows >= vt.MinRows && rows <= vt.MaxRows
	return cols, rows, ok
}

// eachFrame reads frames; fn must not keep the data. It returns io.ErrUnexpectedEOF if
// the last frame is cut short.
func eachFrame(r io.Reader, fn func(recFrame) error) error {
	var head [frameHead]byte
	var buf []byte
	for {
		if _, err := io.ReadFull(r, head[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		word := binary.LittleEndian.Uint32(head[16:])
		n := int(word & maxRecFrame)
		if n > 2*SegmentArea {
			return fmt.Errorf("%w: a frame of %d bytes", io.ErrUnexpectedEOF, n)
		}
		if cap(buf) < n {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		if _, err := io.ReadFull(r, buf); err != nil {
			return io.ErrUnexpectedEOF
		}
		f := recFrame{
			at: time.Unix(0, int64(binary.LittleEndian.Uint64(head[:]))), kind: int(word >> frameKindBits),
			offset: binary.LittleEndian.Uint64(head[8:]), data: buf,
		}
		if err := fn(f); err != nil {
			return err
		}
	}
}
