package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
)

// What a person types arrives once and in order, also when the server is killed
// meanwhile. A client numbers its bytes from 0 and keeps them until it knows
// that the terminal took them. How many that were, by client, stands in the
// journal's memory, behind the detector's status; a new server tells the client,
// which sends the rest. A kill within write(2) leaves it open whether those
// bytes were taken: they are not sent again, and the client is told how many
// may be lost.
const (
	typedArea  = statusArea + 8 + statusMax
	typedPlace = 32 // bytes of a TypedMark
	TypedMarks = 64 // clients that are remembered; those before are forgotten
)

// TypedMark is how far the input of one client came.
type TypedMark struct {
	ID   uint64 // of the client; 0: a free place
	Done uint64 // bytes that the terminal took, or that nobody was to have
	Next uint64 // and with the write that was begun
	used uint64 // order of the clients' coming
}

// Typist is a client's mark and its place.
type Typist struct {
	TypedMark
	j     *Journal
	place int
	Known bool          // it was here before
	Gone  chan struct{} // closed when the client's input ended
}

// Typist finds the mark of a client, or makes one in place of the oldest.
func (j *Journal) Typist(id uint64) (*Typist, error) {
	b := make([]byte, TypedMarks*typedPlace)
	if err := readAt(j.Fd, b, typedArea); err != nil && !errors.Is(err, errShort) {
		return nil, fmt.Errorf("read what was typed: %w", err)
	}
	t := &Typist{j: j, Gone: make(chan struct{})}
	var last uint64
	for i := range TypedMarks {
		m := decodeTyped(b[i*typedPlace:])
		last = max(last, m.used)
		if m.ID == id {
			t.TypedMark, t.place, t.Known = m, i, true
		} else if !t.Known && (i == 0 || m.used < t.used) {
			t.TypedMark, t.place = m, i
		}
	}
	if !t.Known {
		t.TypedMark = TypedMark{ID: id}
	}
	t.used = last + 1
	return t, t.keep()
}

func decodeTyped(b []byte) TypedMark {
	u := binary.LittleEndian.Uint64
	return TypedMark{u(b), u(b[8:]), u(b[16:]), u(b[24:])}
}

func (t *Typist) keep() error {
	b := make([]byte, 0, typedPlace)
	for _, v := range [...]uint64{t.ID, t.Done, t.Next, t.used} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	if err := writeAt(t.j.Fd, typedArea+int64(t.place)*typedPlace, b); err != nil {
		return fmt.Errorf("keep what was typed: %w", err)
	}
	return nil
}

// Begin notes that n bytes are being written.
func (t *Typist) Begin(n int) {
	if t == nil {
		return
	}
	t.Done = t.Next // what was open is settled: the client sends it no more
	t.Next += uint64(n)
	t.note()
}

// End notes that n of them were.
func (t *Typist) End(n int) {
	if t == nil {
		return
	}
	t.Done += uint64(max(n, 0))
	t.Next = t.Done
	t.note()
}

// Skip notes bytes that nobody is to have.
func (t *Typist) Skip(n int) {
	t.Begin(n)
	t.End(n)
}

func (t *Typist) note() {
	if err := t.keep(); err != nil {
		slog.Warn("cannot save how much input was taken", "error", err)
	}
}
