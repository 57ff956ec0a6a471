package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
)

// storage is the part of a session that outlives the server: journal, history file and
// recording. session.mu guards it.
type storage struct {
	s         *session
	journal   *journal.Journal
	history   *journal.History
	recording *journal.Recording // nil without
	pending   []byte             // unfinished sequence where the journal's segment begins
	compactAt journal.Place      // where compactSegment looked last
	stall     stall
}

// remove removes everything. mu is held.
func (st *storage) remove() {
	st.journal.Close()
	st.history.Remove()
	st.recording.Remove()
	st.recording = nil
}

// nextSegment begins a new segment of the journal with the current screen, which shows
// all output so far. mu is held.
func (st *storage) nextSegment() {
	buf, _ := snapshots.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	defer snapshots.Put(buf)
	if err := protect(func() { *buf = st.s.screen.term.AppendSnapshot((*buf)[:0]) }); err != nil {
		st.s.screen.panicked(err)
		return
	}
	st.beginSegment(*buf)
}

// compactSegment begins a segment with a deflated snapshot for an idle session, if that
// takes less memory than the present one. mu is held.
func (st *storage) compactSegment() {
	s := st.s
	i := st.journal.Current()
	now := journal.WholePages(st.journal.Length[i].Load()) + journal.WholePages(st.journal.Snap[i].Load())
	if now <= journal.SegmentPad || st.compactAt == st.journal.Place() || s.screen.rendered != st.journal.End() {
		return
	}
	var b []byte
	if err := protect(func() { b = vt.DeflateSnapshot(s.screen.term.SnapshotPages()) }); err != nil {
		s.screen.panicked(err)
		return
	}
	if journal.WholePages(uint64(len(b))) < now {
		st.beginSegment(b)
	}
	st.compactAt = st.journal.Place()
}

// beginSegment begins a new segment with a snapshot of everything shown so far. mu is
// held.
func (st *storage) beginSegment(snapshot []byte) {
	err := st.journal.Begin(st.history.State(), snapshot)
	if errors.Is(err, api.ErrTooLarge) {
		err = st.bareSegment(err)
	} else if err == nil {
		st.journal.Flags.And(^uint64(journal.FlagBare))
	}
	if err != nil {
		st.stalled(err)
		return
	}
	st.stall.end()
	st.notePending(st.s.screen.term)
	st.history.StateSaved()
}

// notePending notes the unfinished sequence of t at the beginning of a segment. mu is
// held.
func (st *storage) notePending(t *vt.Terminal) { st.pending = slices.Clone(t.Pending()) }

// bareSegment begins a segment without the screen, whose snapshot is too large.
// The screen stays, but a restarted server cannot show it. mu is held.
func (st *storage) bareSegment(why error) error {
	if st.journal.Flags.Or(journal.FlagBare)&journal.FlagBare == 0 {
		slog.Warn("the screen would not survive a crash", "session", st.s.rec.ID, "error", why)
	}
	var b []byte
	if err := protect(func() { b = st.s.screen.term.AppendBareSnapshot(nil) }); err != nil {
		return err
	}
	return st.journal.Begin(st.history.State(), b)
}

// snapshots holds buffers, *[]byte, for the next snapshot.
var snapshots sync.Pool

// stall is the wait of a session for disk space. The zero value is none.
type stall struct {
	on    bool
	pause time.Duration // before the next try
}

// A journal without space for the next snapshot takes no output, which stays with the
// program. Pauses between tries:
const (
	stallFirst = 50 * time.Millisecond
	stallMost  = 2 * time.Second
)

// stalled leaves output with the program for a while. mu is held.
func (st *storage) stalled(err error) {
	if st.stall.pause == 0 {
		slog.Warn("output is held back", "session", st.s.rec.ID, "error", err)
	}
	if st.stall.on {
		return
	}
	st.stall.on = true
	st.stall.pause = min(max(2*st.stall.pause, stallFirst), stallMost)
	time.AfterFunc(st.stall.pause, st.unstall)
}

// unstall tries again.
func (st *storage) unstall() {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.stall.on = false; s.tty.closed() || s.life.collected {
		return
	}
	s.screen.show()
	if st.nextSegment(); !st.stall.on {
		s.output.resume()
	}
}

// end notes that a segment began.
func (st *stall) end() { st.pause = 0 }

// killedTry is added to Header.Tries for a replay that ended because the server was killed.
// It takes many of these to blame the replay, which may also have exhausted the memory.
const (
	killedTry      = 1 << 32
	maxKilledTries = 1000
)

// guilty reports whether replays of this session crashed servers, so that it must not be
// replayed again. mu is held.
func (st *storage) guilty() bool {
	n := st.journal.Tries.Load()
	if crashed := n % killedTry; st.s.srv.settings.killed && crashed > 0 {
		n += killedTry - 1
		st.journal.Tries.Store(n)
	}
	return n%killedTry >= maxTries || n/killedTry >= maxKilledTries
}

// startRecording opens the session's recording, if it has one, and continues it. mu is
// held.
func (st *storage) startRecording() {
	if st.s.rec.Recording {
		st.recordUpTo(st.s.rec.RecordMax)
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
// command before the screen is fed: a screen that panics loses none of it. It leaves out
// output that they have already, which a killed server wrote. mu is held.
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

// dropRecording removes the recording of an ended session. ErrRequest for a running one.
func (st *storage) dropRecording() error {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.life.ended() {
		return fmt.Errorf("%w: %s is running", api.ErrRequest, s.name())
	}
	if !s.rec.Recording || s.life.collected {
		return nil
	}
	s.rec.Recording = false
	if err := s.srv.keeper.current().Deposit(s.rec.ID, s.rec.encode()); err != nil {
		s.rec.Recording = true
		return err
	}
	st.recording.Remove()
	st.recording = nil
	return nil
}

// readRecording opens a session's recording for reading. ErrRequest if it has none.
func (st *storage) readRecording() (*journal.RecordingReader, error) {
	s := st.s
	s.mu.Lock() // the recording is not rotated meanwhile
	defer s.mu.Unlock()
	r, err := journal.ReadRecording(s.srv.journals.recordingPath(s.rec.ID))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %s has no recording", api.ErrRequest, s.name())
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
