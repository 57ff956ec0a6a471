package mux

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/vt"
)

// A recording is a session's raw output with times, in a file of its own: a
// frame is i64 Unix nanoseconds, u64 offset in the output, u32 kind and length
// (little endian), and the bytes.
const (
	recordingMax  = 256 << 20
	frameHead     = 20
	frameOutput   = 0
	frameResize   = 1 // cols and rows, two u32
	frameKindBits = 28
	maxRecFrame   = 1<<frameKindBits - 1
)

// recording writes one. The session's mu guards it.
type recording struct {
	f    *os.File
	size int64
	next uint64 // offset of the next byte
	full bool   // the cap, or the disk
}

// recordingPath is where a session's recording stands.
func (srv *server) recordingPath(id string) string {
	return filepath.Join(srv.paths.Dir, "recordings", id)
}

// startRecording opens the session's recording, at its end. mu is held.
func (s *session) startRecording() {
	if !s.rec.Recording {
		return
	}
	path := s.srv.recordingPath(s.rec.ID)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		s.tape, err = openRecording(path)
	}
	if err != nil {
		logf("session %s: recording: %v", s.rec.ID, err)
		return
	}
	if s.tape.size == 0 {
		s.tape.resize(s.cols, s.rows)
	}
	// What the last server showed and did not come to record.
	if p := s.j.from(s.tape.next); len(p) > 0 && s.tape.next < s.out {
		s.tape.output(p[:s.out-s.tape.next], s.tape.next)
	}
}

// openRecording cuts off half a frame that a kill left.
func openRecording(path string) (*recording, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	r := &recording{f: f}
	err = eachFrame(bufio.NewReader(f), func(fr recFrame) error {
		r.size += frameHead + int64(len(fr.data))
		if fr.kind == frameOutput {
			r.next = fr.offset + uint64(len(fr.data))
		}
		return nil
	})
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		err = f.Truncate(r.size)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// write appends a frame. A full disk or the cap ends the recording, and
// nothing else.
func (r *recording) write(kind int, offset uint64, p []byte) {
	if r == nil || r.full {
		return
	}
	if r.size+frameHead+int64(len(p)) > recordingMax {
		r.full = true
		return
	}
	b := make([]byte, 0, frameHead+len(p))
	b = binary.LittleEndian.AppendUint64(b, uint64(time.Now().UnixNano()))
	b = binary.LittleEndian.AppendUint64(b, offset)
	b = binary.LittleEndian.AppendUint32(b, uint32(kind)<<frameKindBits|uint32(len(p)))
	b = append(b, p...)
	if _, err := r.f.WriteAt(b, r.size); err != nil {
		logf("recording: %v", err)
		_ = r.f.Truncate(r.size)
		r.full = true
		return
	}
	r.size += int64(len(b))
}

func (r *recording) output(p []byte, offset uint64) {
	if r == nil {
		return
	}
	r.write(frameOutput, offset, p)
	r.next = offset + uint64(len(p))
}

func (r *recording) resize(cols, rows int) {
	b := binary.LittleEndian.AppendUint32(nil, uint32(cols))
	r.write(frameResize, 0, binary.LittleEndian.AppendUint32(b, uint32(rows)))
}

func (r *recording) close() {
	if r != nil {
		r.f.Close()
	}
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
		if n > 2*segmentArea {
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

// Formats of a recording.
const (
	RecordingASCIICast = "asciicast" // version 2
	RecordingRaw       = "raw"       // the bytes alone
)

// readRecording opens a session's recording for reading. ErrRequest when it
// has none.
func (s *session) readRecording() (*os.File, error) {
	f, err := os.Open(s.srv.recordingPath(s.rec.ID))
	if err != nil {
		return nil, fmt.Errorf("%w: %s was started without recording", ErrRequest, s.rec.Name)
	}
	return f, nil
}

// export writes a recording in a format.
func (s *session) export(w io.Writer, format string) error {
	f, err := s.readRecording()
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(w)
	if format == RecordingRaw {
		err = eachFrame(bufio.NewReader(f), func(fr recFrame) error {
			if fr.kind == frameOutput {
				_, err := out.Write(fr.data)
				return err
			}
			return nil
		})
	} else {
		err = s.asciicast(out, bufio.NewReader(f))
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return out.Flush()
}

// asciicast writes asciicast v2 (docs.asciinema.org/manual/asciicast/v2): a
// header, then [seconds, "o", text] and [seconds, "r", "COLSxROWS"]. A character
// that is split between frames goes with the second.
func (s *session) asciicast(w io.Writer, r io.Reader) error {
	var begin time.Time
	var rest []byte
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	event := func(at time.Time, kind, text string) error {
		return enc.Encode([]any{float64(at.Sub(begin).Microseconds()) / 1e6, kind, text})
	}
	return eachFrame(r, func(f recFrame) error {
		cols, rows, sized := f.size()
		switch {
		case begin.IsZero():
			begin = f.at
			if !sized {
				cols, rows = s.rec.Cols, s.rec.Rows
			}
			head := map[string]any{
				"version": 2, "width": cols, "height": rows, "timestamp": begin.Unix(), "title": s.rec.Name,
				"env": map[string]string{"TERM": "xterm-256color"},
			}
			if err := enc.Encode(head); err != nil || sized {
				return err
			}
		case sized:
			return event(f.at, "r", fmt.Sprintf("%dx%d", cols, rows))
		}
		if f.kind != frameOutput {
			return nil
		}
		rest = append(rest, f.data...)
		n := wholeRunes(rest)
		text := strings.ToValidUTF8(string(rest[:n]), "\uFFFD")
		rest = append(rest[:0], rest[n:]...)
		if text == "" {
			return nil
		}
		return event(f.at, "o", text)
	})
}

// wholeRunes is the length of p without a character that is not complete.
func wholeRunes(p []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-i:]) {
				return len(p) - i
			}
			break
		}
	}
	return len(p)
}

// terminalAt is the terminal as it was at a time, from the recording.
func (s *session) terminalAt(at time.Time) (*vt.Terminal, error) {
	f, err := s.readRecording()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	o := s.options()
	t, err := vt.New(o)
	if err != nil {
		return nil, err
	}
	errStop := errors.New("later")
	err = eachFrame(bufio.NewReader(f), func(fr recFrame) error {
		if fr.at.After(at) {
			return errStop
		}
		if cols, rows, ok := fr.size(); ok {
			return t.Resize(cols, rows)
		}
		_, _ = t.Write(fr.data)
		t.TakeReplies()
		t.TakeEvents()
		return nil
	})
	if err != nil && !errors.Is(err, errStop) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return t, nil
}
