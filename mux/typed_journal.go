package mux

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
	typedPlace = 32 // bytes of a typedMark
	typedMarks = 64 // clients that are remembered; those before are forgotten
)

// typedMark is how far the input of one client came.
type typedMark struct {
	id   uint64 // of the client; 0: a free place
	done uint64 // bytes that the terminal took, or that nobody was to have
	next uint64 // and with the write that was begun
	used uint64 // order of the clients' coming
}

// typist is a client's mark and its place.
type typist struct {
	typedMark
	j     *journal
	place int
	known bool          // it was here before
	gone  chan struct{} // closed when the client's input ended
}

// typist finds the mark of a client, or makes one in place of the oldest.
func (j *journal) typist(id uint64) (*typist, error) {
	b := make([]byte, typedMarks*typedPlace)
	if err := readAt(j.fd, b, typedArea); err != nil && !errors.Is(err, errShort) {
		return nil, fmt.Errorf("read what was typed: %w", err)
	}
	t := &typist{j: j, gone: make(chan struct{})}
	var last uint64
	for i := range typedMarks {
		m := decodeTyped(b[i*typedPlace:])
		last = max(last, m.used)
		if m.id == id {
			t.typedMark, t.place, t.known = m, i, true
		} else if !t.known && (i == 0 || m.used < t.used) {
			t.typedMark, t.place = m, i
		}
	}
	if !t.known {
		t.typedMark = typedMark{id: id}
	}
	t.used = last + 1
	return t, t.keep()
}

func decodeTyped(b []byte) typedMark {
	u := binary.LittleEndian.Uint64
	return typedMark{u(b), u(b[8:]), u(b[16:]), u(b[24:])}
}

func (t *typist) keep() error {
	b := make([]byte, 0, typedPlace)
	for _, v := range [...]uint64{t.id, t.done, t.next, t.used} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	if err := writeAt(t.j.fd, typedArea+int64(t.place)*typedPlace, b); err != nil {
		return fmt.Errorf("keep what was typed: %w", err)
	}
	return nil
}

// begin notes that n bytes are being written.
func (t *typist) begin(n int) {
	if t == nil {
		return
	}
	t.done = t.next // what was open is settled: the client sends it no more
	t.next += uint64(n)
	t.note()
}

// end notes that n of them were.
func (t *typist) end(n int) {
	if t == nil {
		return
	}
	t.done += uint64(max(n, 0))
	t.next = t.done
	t.note()
}

// skip notes bytes that nobody is to have.
func (t *typist) skip(n int) {
	t.begin(n)
	t.end(n)
}

func (t *typist) note() {
	if err := t.keep(); err != nil {
		slog.Warn("cannot save how much input was taken", "error", err)
	}
}
