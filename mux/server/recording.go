package server

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"gascity.dev/gc/mux/journal"
	"io"
	"log/slog"
	"os"
	"time"
)

// A recording is a session's raw output with times, in files of its own: a
// frame is i64 Unix nanoseconds, u64 offset in the output, u32 kind and length
// (little endian), and the bytes.
//
// It keeps the newest: at half of the cap the file becomes the older one, in the
// place of the one that was, and the next begins with a picture of the screen,
// from which on it can be shown when the older one is gone.
const (
	recordingMax  = 256 << 20 // of both files
	frameHead     = 20
	frameOutput   = 0
	frameResize   = 1 // cols and rows, two u32
	frameScreen   = 2 // what paints the screen as it is; for those who have not seen what was before
	frameGap      = 3 // the same, where output could not be recorded: it is always painted
	frameKindBits = 28
	maxRecFrame   = 1<<frameKindBits - 1
)

// recording writes one. The session's mu guards it.
type recording struct {
	f          *os.File
	path       string
	now        func() time.Time // even, so that no pause of a replay is longer than it was
	size       int64
	most       int64  // of this file
	next       uint64 // offset of the next byte
	cols, rows int    // as recorded last
	owed       int    // the picture that must come before more output, a kind of frame; 0: none
	full       bool   // the disk did not take the last frame
}

// older is where the older half of a recording stands. A session's id has no
// such character.
func olderRecording(path string) string { return path + "~" }

// openRecording cuts off half a frame that a kill left.
func openRecording(path string, now func() time.Time) (*recording, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	r := &recording{f: f, path: path, now: now, most: recordingMax / 2}
	err = eachFrame(bufio.NewReader(f), func(fr recFrame) error {
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
	if _, gone := os.Stat(olderRecording(path)); r.size == 0 && gone == nil {
		r.owed = frameScreen // killed between two files
	}
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		err = f.Truncate(r.size)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// rotate makes the file the older one, and begins another.
func (r *recording) rotate() error {
	if err := os.Rename(r.path, olderRecording(r.path)); err != nil {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return errors.Join(err, os.Rename(olderRecording(r.path), r.path))
	}
	r.f.Close()
	r.f, r.size, r.cols, r.rows = f, 0, 0, 0
	return nil
}

// write appends a frame. A full disk leaves a gap in the recording, and does
// nothing else.
func (r *recording) write(kind int, offset uint64, p []byte) {
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

func (r *recording) output(p []byte, offset uint64) {
	r.write(frameOutput, offset, p)
	r.next = offset + uint64(len(p))
}

// resize records a size, unless it is the one that is recorded.
func (r *recording) resize(cols, rows int) {
	if cols == r.cols && rows == r.rows {
		return
	}
	r.cols, r.rows = cols, rows
	b := binary.LittleEndian.AppendUint32(nil, uint32(cols))
	r.write(frameResize, 0, binary.LittleEndian.AppendUint32(b, uint32(rows)))
}

// remove ends the recording and removes its files.
func (r *recording) remove() {
	r.f.Close()
	_ = os.Remove(r.path)
	_ = os.Remove(olderRecording(r.path)) // there is none before the first was full
}

// recFrame is one frame, read.
type recFrame struct {
	at     time.Time
	kind   int
	offset uint64
	data   []byte
}

// size is the size of a resize.
func (f *recFrame) size() (cols, rows int, ok bool) {
	if f.kind != frameResize || len(f.data) != 8 {
		return 0, 0, false
	}
	cols, rows = int(binary.LittleEndian.Uint32(f.data)), int(binary.LittleEndian.Uint32(f.data[4:]))
	return cols, rows, checkSize(cols, rows) == nil
}

// eachFrame reads frames; fn must not keep the data. io.ErrUnexpectedEOF for
// half a frame at the end.
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
		if n > 2*journal.SegmentArea {
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
