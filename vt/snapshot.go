package vt

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrSnapshot says that bytes are no snapshot, or one of a later version.
var ErrSnapshot = errors.New("vt: not a snapshot of a terminal")

// snapshotMagic begins a snapshot: the magic, the length of the dump (uvarint),
// the dump (ANSI), and the tail (JSON).
const (
	snapshotMagic   = "gcvt"
	snapshotVersion = 1
)

// tail is what a dump cannot say. Unknown fields are ignored, so that versions
// with more of them stay readable.
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
	SavedModes map[uint32]bool `json:"savedModes,omitempty"`
	Wrapped    []int           `json:"wrapped,omitempty"` // rows of the screen in use that continue
	Waits      []bool          `json:"waits,omitempty"`   // the saved cursor of either screen waits to wrap
	EightBit   bool            `json:"eightBit,omitempty"`
	Conformity uint8           `json:"conformity,omitempty"`
	Columns    bool            `json:"columns,omitempty"` // DECCOLM
}

// Snapshot returns the whole state, for Restore: what ANSI returns, and what
// only a snapshot can say (the other screen, revision, line numbers, the sequence that has begun,
// replies and events that wait).
func (t *Terminal) Snapshot() []byte {
	dump := t.ansi(true)
	b := append([]byte(snapshotMagic), snapshotVersion)
	b = binary.AppendUvarint(b, uint64(len(dump)))
	b = append(b, dump...)
	end, err := json.Marshal(t.tail())
	if err != nil { // numbers, strings and bytes only: it cannot fail
		return b
	}
	return append(b, end...)
}

func (t *Terminal) tail() tail {
	t.seen()
	s := tail{
		Version: snapshotVersion, Cols: t.cols, Rows: t.rows, Revision: t.rev,
		Replies: t.replies, Events: t.events,
		Columns: t.modes&modeColumns != 0,
	}
	if t.hist != nil {
		s.FirstLine = t.hist.base()
	}
	for y := range t.rows {
		if t.scr.view(y).flags&rowWrapped != 0 {
			s.Wrapped = append(s.Wrapped, y)
		}
	}
	if t.main.saved.pending || t.alt.saved.pending {
		s.Waits = []bool{t.main.saved.pending, t.alt.saved.pending}
	}
	if e := t.extra; e != nil {
		s.Icon, s.Pointer, s.SavedModes = e.icon, e.pointer, e.savedModes
		s.EightBit, s.Conformity = e.protect8, e.conformity
	}
	return s
}

// Restore makes a terminal of a snapshot. Its size is the snapshot's, whatever
// o says; the rest of o is as for New. It returns ErrSnapshot for other bytes,
// and ErrSize for a size that cannot be.
func Restore(b []byte, o Options) (*Terminal, error) {
	dump, s, err := readSnapshot(b)
	if err != nil {
		return nil, err
	}
	o.Cols, o.Rows = s.Cols, s.Rows
	t, err := New(o)
	if err != nil {
		return nil, err
	}
	if o.HistoryLines >= 0 {
		t.hist = newHistory(t.option())
		t.hist.closed = s.FirstLine
	}
	t.feed(dump)
	t.apply(s)
	t.commit()
	return t, nil
}

func readSnapshot(b []byte) (dump []byte, s tail, err error) {
	n := len(snapshotMagic)
	if len(b) <= n || string(b[:n]) != snapshotMagic || b[n] != snapshotVersion {
		return nil, s, ErrSnapshot
	}
	b = b[n+1:]
	size, k := binary.Uvarint(b)
	if k <= 0 || size > uint64(len(b)-k) {
		return nil, s, ErrSnapshot
	}
	dump, b = b[k:k+int(size)], b[k+int(size):]
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, s, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if !validSize(s.Cols, s.Rows) {
		return nil, s, ErrSize
	}
	return dump, s, nil
}

// apply takes over what the dump could not say.
func (t *Terminal) apply(s tail) {
	t.setMode(modeColumns, s.Columns)
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
	if len(s.Waits) == 2 {
		t.main.saved.pending, t.alt.saved.pending = s.Waits[0], s.Waits[1]
	}
	if s.Icon != "" || s.Pointer != "" || s.SavedModes != nil || s.EightBit || s.Conformity != 0 {
		e := t.more()
		e.icon, e.pointer, e.savedModes = s.Icon, s.Pointer, s.SavedModes
		e.protect8, e.conformity = s.EightBit, s.Conformity
	}
	t.replies = append([]byte(nil), s.Replies[:min(len(s.Replies), maxReplies)]...)
	t.events = s.Events[:min(len(s.Events), maxEvents):min(len(s.Events), maxEvents)]
	t.changed = true
	t.nextRev = max(s.Revision, 1)
	t.main.moved, t.alt.moved = t.nextRev, t.nextRev
}
