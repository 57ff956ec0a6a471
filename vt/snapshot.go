package vt

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrSnapshot is returned for bytes that are not a snapshot, or one of a later
// version.
var ErrSnapshot = errors.New("vt: not a snapshot of a terminal")

// snapshotMagic begins a snapshot: the magic, a version byte, the length of the
// dump (uvarint), the dump (ANSI), and the tail (JSON). Version 2 has pages of
// history (length and bytes) before the dump, which omits their lines. Version
// 3 is another snapshot, deflated, preceded by its length.
const (
	snapshotMagic    = "gcvt"
	snapshotWhole    = 1
	snapshotPages    = 2
	snapshotDeflated = 3
)

// tail is what a dump cannot express. Unknown fields are ignored, so that newer
// versions with more fields stay readable.
type tail struct {
	Version    int             `json:"version"`
	Cols       int             `json:"cols"`
	Rows       int             `json:"rows"`
	Revision   uint64          `json:"revision"`
	FirstLine  uint64          `json:"firstLine,omitempty"` // number of the oldest line of history
	Replies    []byte          `json:"replies,omitempty"`
	Events     []Event         `json:"events,omitempty"`
	Icon       string          `json:"icon,omitempty"`
	Pointer    string          `json:"pointer,omitempty"`
	Progress   *progress       `json:"progress,omitempty"`
	Lasted     lasting         `json:"lasted,omitempty"` // what the program has ever set, see lasting
	SavedModes map[uint32]bool `json:"savedModes,omitempty"`
	Wrapped    []int           `json:"wrapped,omitempty"` // rows of the current screen that continue
	Spacers    [][]int         `json:"spacers,omitempty"` // see staleSpacers, of either screen
	Waits      []bool          `json:"waits,omitempty"`   // the saved cursor of either screen has a pending wrap
	EightBit   bool            `json:"eightBit,omitempty"`
	Conformity uint8           `json:"conformity,omitempty"`
	Columns    bool            `json:"columns,omitempty"` // DECCOLM
	Tabs       *tabStops       `json:"tabs,omitempty"`    // including those beyond the last column
	Dropped    *Dropped        `json:"dropped,omitempty"`
	Notice     *notice         `json:"notice,omitempty"`
	Mixed      bool            `json:"mixed,omitempty"` // the width policy has changed
}

// Snapshot returns the whole state, for Restore: what ANSI returns, and what
// only a snapshot can hold (the other screen, revision, line numbers, the
// incomplete sequence, pending replies and events).
func (t *Terminal) Snapshot() []byte {
	return t.endSnapshot(append([]byte(snapshotMagic), snapshotWhole), 0)
}

// DeflateSnapshot compresses a snapshot, for sessions that are idle. Restore
// accepts it.
func DeflateSnapshot(b []byte) []byte {
	return deflate(append([]byte(snapshotMagic), snapshotDeflated), b)
}

// snapshotMost bounds a deflated snapshot, in bytes when inflated.
const snapshotMost = 256 << 20

// SnapshotPages is AppendSnapshot(nil).
func (t *Terminal) SnapshotPages() []byte { return t.AppendSnapshot(nil) }

// AppendSnapshot appends a Snapshot without the history stored by Pages: it
// refers to it, and Restore must be given the same Pages. Its size is that of
// the screens and one page, regardless of the history.
func (t *Terminal) AppendSnapshot(dst []byte) []byte {
	b, kept := t.snapshotPages(dst)
	return t.endSnapshot(b, kept)
}

// AppendBareSnapshot is AppendSnapshot without the screens: Restore makes blank
// ones, with the history and the incomplete sequence. It is for screens whose
// snapshot is too large.
func (t *Terminal) AppendBareSnapshot(dst []byte) []byte {
	b, _ := t.snapshotPages(dst)
	pending := t.parser.pending()
	b = append(binary.AppendUvarint(b, uint64(len(pending))), pending...)
	s := tail{Version: snapshotWhole, Cols: t.cols, Rows: t.rows, Revision: t.rev}
	if t.hist != nil {
		s.FirstLine = t.hist.base()
	}
	if t.lost != (Dropped{}) {
		s.Dropped = &t.lost
	}
	return appendTail(b, s)
}

// snapshotPages begins a snapshot with the pages of history, up to the line it
// returns.
func (t *Terminal) snapshotPages(dst []byte) (b []byte, kept uint64) {
	b = append(append(dst, snapshotMagic...), snapshotPages)
	t.seen()
	if t.hist == nil {
		return binary.AppendUvarint(b, 0), 0
	}
	kept = t.hist.closed
	if t.frozen != nil {
		kept = max(min(kept, t.frozen.lines), t.hist.base())
	}
	b, at := beginLength(b)
	return endLength(t.hist.appendPages(b, kept), at), kept
}

// lengthBytes is the room beginLength leaves: for lengths below 256 MiB.
const lengthBytes = 4

// beginLength leaves room for the length of what is appended next.
func beginLength(b []byte) (_ []byte, at int) {
	return append(b, make([]byte, lengthBytes)...), len(b)
}

// endLength writes that length, as a padded uvarint.
func endLength(b []byte, at int) []byte {
	n := len(b) - at - lengthBytes
	for i := range lengthBytes {
		b[at+i] = byte(n>>(7*i))&0x7f | 0x80
	}
	b[at+lengthBytes-1] &= 0x7f
	return b
}

// endSnapshot appends the dump, with the history lines from kept on, and the
// tail.
func (t *Terminal) endSnapshot(b []byte, kept uint64) []byte {
	b, at := beginLength(b)
	b = endLength(t.ansi(b, true, kept), at)
	return appendTail(b, t.tail())
}

func appendTail(b []byte, s tail) []byte {
	end, err := json.Marshal(s)
	if err != nil { // numbers, strings and bytes only: cannot fail
		return b
	}
	return append(b, end...)
}

func (t *Terminal) tail() tail {
	t.seen()
	s := tail{
		Version: snapshotWhole, Cols: t.cols, Rows: t.rows, Revision: t.rev,
		Replies: t.replies, Events: t.events,
		Columns: t.modes&modeColumns != 0, Tabs: t.tabs, Mixed: t.mixed,
	}
	if t.hist != nil {
		s.FirstLine = t.hist.base()
	}
	if t.lost != (Dropped{}) {
		s.Dropped = &t.lost
	}
	for y := range t.rows {
		if t.scr.view(y).flags&rowWrapped != 0 {
			s.Wrapped = append(s.Wrapped, y)
		}
	}
	if a, b := t.main.staleSpacers(), t.alt.staleSpacers(); a != nil || b != nil {
		s.Spacers = [][]int{a, b}
	}
	if t.main.saved.pending || t.alt.saved.pending {
		s.Waits = []bool{t.main.saved.pending, t.alt.saved.pending}
	}
	s.Lasted = t.lasted
	if e := t.extra; e != nil {
		s.Icon, s.Pointer, s.SavedModes = e.icon, e.pointer, e.savedModes
		s.EightBit, s.Conformity, s.Notice = e.protect8, e.conformity, e.notice
		if e.progress != (progress{}) {
			s.Progress = &e.progress
		}
	}
	return s
}

// Restore makes a terminal from a snapshot. The size is the snapshot's and
// replaces o's; the rest of o is as for New. It returns ErrSnapshot for other
// bytes, and ErrSize for an invalid size. It reads no page.
func Restore(b []byte, o Options) (*Terminal, error) {
	pages, dump, s, err := readSnapshot(b)
	if err != nil {
		return nil, err
	}
	o.Cols, o.Rows = s.Cols, s.Rows
	t, err := New(o)
	if err != nil {
		return nil, err
	}
	if o.HistoryLines >= 0 && (len(pages) > 0 || s.FirstLine > 0) {
		t.hist = newHistory(t.option())
		t.hist.closed = s.FirstLine
		if err := t.hist.readPages(pages); err != nil {
			return nil, err
		}
	}
	t.feed(dump)
	t.apply(s)
	t.commit()
	return t, nil
}

func readSnapshot(b []byte) (pages, dump []byte, s tail, err error) {
	n := len(snapshotMagic)
	if len(b) > n && string(b[:n]) == snapshotMagic && b[n] == snapshotDeflated {
		whole, ok := inflate(b[n+1:], snapshotMost)
		if !ok {
			return nil, nil, s, ErrSnapshot
		}
		b = whole
	}
	if len(b) <= n || string(b[:n]) != snapshotMagic || b[n] != snapshotWhole && b[n] != snapshotPages {
		return nil, nil, s, ErrSnapshot
	}
	r := reader{b: b[n+1:]}
	if b[n] == snapshotPages {
		pages = r.bytes(r.uint())
	}
	dump = r.bytes(r.uint())
	if r.bad {
		return nil, nil, s, ErrSnapshot
	}
	if err := json.Unmarshal(r.b, &s); err != nil {
		return nil, nil, s, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if !validSize(s.Cols, s.Rows) {
		return nil, nil, s, ErrSize
	}
	return pages, dump, s, nil
}

// apply restores what the dump could not express.
func (t *Terminal) apply(s tail) {
	t.setMode(modeColumns, s.Columns)
	t.mixed = t.mixed || s.Mixed
	if s.Tabs != nil {
		t.tabs = s.Tabs
	}
	for y := range t.rows {
		if t.scr.rows != nil {
			t.scr.row(y).flags &^= rowWrapped
		}
	}
	for _, y := range s.Wrapped {
		if y >= 0 && y < t.rows && t.scr.rows != nil {
			t.scr.row(y).flags |= rowWrapped
		}
	}
	if len(s.Spacers) == 2 {
		t.main.putSpacers(s.Spacers[0], t.cols, t.rows)
		t.alt.putSpacers(s.Spacers[1], t.cols, t.rows)
	}
	if len(s.Waits) == 2 {
		t.main.saved.pending, t.alt.saved.pending = s.Waits[0], s.Waits[1]
	}
	if s.Icon != "" || s.Pointer != "" || s.SavedModes != nil || s.EightBit || s.Conformity != 0 || s.Notice != nil {
		e := t.more()
		e.notice = s.Notice
		e.icon, e.pointer, e.savedModes = s.Icon, s.Pointer, s.SavedModes
		e.protect8, e.conformity = s.EightBit, s.Conformity
	}
	if s.Progress != nil {
		t.more().progress = *s.Progress
	}
	t.lasted |= s.Lasted
	t.lost = Dropped{}
	if s.Dropped != nil {
		t.lost = *s.Dropped
	}
	t.replies = append([]byte(nil), s.Replies[:min(len(s.Replies), maxReplies)]...)
	t.events = s.Events[:min(len(s.Events), maxEvents):min(len(s.Events), maxEvents)]
	t.changed = true
	t.nextRev = max(s.Revision, 1)
	t.main.moved, t.alt.moved = t.nextRev, t.nextRev
}

// staleSpacers returns the rows that left their last column to a wide character
// no longer below. A dump has a blank there; the text omits it again if another
// wide character comes to stand below.
func (s *screen) staleSpacers() (rows []int) {
	for y := range s.rows {
		r := s.row(y)
		if n := len(r.cells); n > 0 && r.at(n-1) == cellSpacer && !s.wideBelow(y) {
			rows = append(rows, y)
		}
	}
	return rows
}

// putSpacers restores them, even in blank rows.
func (s *screen) putSpacers(at []int, cols, rows int) {
	for _, y := range at {
		if y < 0 || y >= rows {
			continue
		}
		if s.rows == nil {
			s.rows = make([]row, rows)
		}
		r := s.row(y)
		if len(r.cells) == 0 {
			r.cells = make([]cell, cols)
		}
		r.set(len(r.cells)-1, cellSpacer)
	}
}
