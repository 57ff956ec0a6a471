package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
)

// startRecording opens the session's recording, if it has one, and continues it. mu is
// held.
func (st *storage) startRecording() {
	if st.s.rec.Recording {
		st.recordUpTo(0)
	}
}

// recordUpTo is startRecording with another limit in bytes; 0 for the default. mu is
// held.
func (st *storage) recordUpTo(limit int64) {
	s := st.s
	var err error
	st.recording, err = journal.OpenRecording(s.srv.journals.recordingPath(s.rec.ID), journal.RecordingOptions{
		Cols: s.screen.cols, Rows: s.screen.rows, Now: s.srv.clock.Now, Max: limit,
	})
	if err != nil {
		slog.Warn("cannot start a recording", "session", s.rec.ID, "error", err)
	}
}

// keep takes the journal's output into the recording and the ring of a background
// command before the screen is fed: a screen that panics loses none of it. What they
// already have, because the server was killed after it, is left out. mu is held.
func (st *storage) keep() {
	s := st.s
	if s.output.sink != nil {
		if from := max(s.output.sink.Total(), st.journal.Start()); from < st.journal.End() {
			s.output.sink.Write(st.journal.From(from), from)
		}
	}
	st.recording.Take(st.journal)
}

// paintRecording records the screen where the recording needs it. The effects of all
// output were let out before, so that no server shows any of it again. mu is held.
func (st *storage) paintRecording() {
	s := st.s
	st.recording.Paint(s.screen.rendered, s.screen.cols, s.screen.rows, func(p []byte) (picture []byte, err error) {
		err = protect(func() { picture = s.screen.term.AppendPaint(p, vt.PaintOptions{}) })
		return picture, err
	})
}

// readRecording opens a session's recording for reading. ErrRequest if it has none.
func (st *storage) readRecording() (*journal.RecordingReader, error) {
	s := st.s
	s.mu.Lock() // the recording is not rotated meanwhile
	defer s.mu.Unlock()
	r, err := journal.ReadRecording(s.srv.journals.recordingPath(s.rec.ID))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %s was started without recording", api.ErrRequest, s.name())
	}
	return r, err
}

// export writes a recording in a format.
func (st *storage) export(w io.Writer, format string) error {
	s := st.s
	r, err := st.readRecording()
	if err != nil {
		return err
	}
	defer r.Close()
	out := bufio.NewWriter(w)
	if format == api.RecordingRaw {
		err = r.Raw(out)
	} else {
		err = r.ASCIICast(out, s.name(), s.rec.Cols, s.rec.Rows)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}
