package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

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
		s.tape, err = openRecording(path, s.srv.clock.Now)
	}
	if err != nil {
		slog.Warn("cannot start a recording", "session", s.rec.ID, "error", err)
		return
	}
	if s.tape.size == 0 && s.tape.owed == 0 {
		s.tape.resize(s.cols, s.rows)
	}
}

// keep takes what the journal has into the recording and the ring of a background
// command, before the screen is fed: a screen that panics loses none of it. What
// they have already, since a server was killed behind it, is left out. mu is held.
func (s *session) keep() {
	end := s.j.End()
	if s.ring != nil {
		if from := max(s.ring.Total(), s.j.Start()); from < end {
			s.ring.Write(s.j.From(from), from)
		}
	}
	r := s.tape
	if r == nil {
		return
	}
	if r.full { // there may be room again, and the picture has what is missing
		r.full, r.owed = false, frameGap
	}
	if r.owed != 0 || r.next >= end {
		return
	}
	if p := s.j.From(r.next); len(p) > 0 {
		r.output(p, r.next)
	} else {
		r.owed = frameGap
	}
}

// paintTape records what the screen shows, where the recording needs it. The
// effects of all output were let out, so that no server shows any of it again.
// mu is held.
func (s *session) paintTape() {
	r := s.tape
	if r == nil || r.full {
		return
	}
	if r.owed == 0 && r.size >= r.most {
		if err := r.rotate(); err != nil {
			slog.Warn("cannot rotate a recording", "session", s.rec.ID, "error", err)
			r.most += r.most / 8 // it goes on in this file, and is tried again
			return
		}
		r.owed = frameScreen
	}
	if r.owed == 0 {
		return
	}
	paint := []byte("\x1bc") // the picture is for a terminal that was reset
	if err := protect(func() { paint = s.term.AppendPaint(paint, vt.PaintOptions{}) }); err != nil {
		return // a screen that panics is made anew where it is written to
	}
	kind := r.owed
	r.owed, r.cols, r.rows = 0, 0, 0 // a picture has its size before it
	r.resize(s.cols, s.rows)
	r.write(kind, s.out, paint)
	r.next = s.out
}

// readRecording opens a session's recording for reading. ErrRequest when it
// has none.
func (s *session) readRecording() (*tapeReader, error) {
	s.mu.Lock() // the two files do not change places meanwhile
	defer s.mu.Unlock()
	path := s.srv.recordingPath(s.rec.ID)
	r := &tapeReader{}
	var readers []io.Reader
	for _, p := range []string{olderRecording(path), path} {
		f, err := os.Open(p)
		if err != nil {
			continue
		}
		r.files = append(r.files, f)
		readers = append(readers, bufio.NewReader(f))
	}
	if len(readers) == 0 {
		return nil, fmt.Errorf("%w: %s was started without recording", api.ErrRequest, s.name())
	}
	r.Reader = io.MultiReader(readers...)
	return r, nil
}

// export writes a recording in a format.
func (s *session) export(w io.Writer, format string) error {
	f, err := s.readRecording()
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(w)
	if format == api.RecordingRaw {
		err = eachFrame(f, func(fr recFrame) error {
			if fr.kind == frameOutput {
				_, err := out.Write(fr.data)
				return err
			}
			return nil
		})
	} else {
		err = asciicast(out, f, s.name(), api.Size{Cols: s.rec.Cols, Rows: s.rec.Rows})
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return out.Flush()
}

// terminalAt is the terminal as it was at the moment of a request, from the
// recording. ErrRequest when that is not kept any more.
func (s *session) terminalAt(r api.PeekRequest) (*vt.Terminal, error) {
	f, err := s.readRecording()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	o := s.options()
	o.Pages = nil // those are of the screen as it is now
	t, err := vt.New(o)
	if err != nil {
		return nil, err
	}
	s.prepare(t)
	p := pastScreen{r: r, t: t}
	err = eachShown(f, p.frame)
	if p.dropped {
		return nil, fmt.Errorf("%w: the recording of %s begins at %s, what was before is not kept",
			api.ErrRequest, s.name(), p.begin.Format(time.RFC3339))
	}
	if err != nil && !errors.Is(err, errLater) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return t, nil
}
