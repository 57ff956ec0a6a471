package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
)

// A person's input arrives once and in order, even if the server is killed. A client
// numbers its bytes from 0 and keeps them until it knows that the terminal took them.
// Their number, by client, is in the journal's memory after the detector's state. A new
// server reports it to the client, which sends the rest. After a kill during write(2) it
// is unknown whether these bytes were taken: they are not sent again, and the client
// learns how many may be lost.
const (
	typedArea    = statusArea + 8 + statusMax
	typedPlace   = 32 // bytes of a TypedEntry
	TypedClients = 64 // clients that are remembered; older ones are forgotten
)

// TypedEntry is the progress of one client's input.
type TypedEntry struct {
	ID   uint64 // of the client; 0: free
	Done uint64 // bytes that the terminal took or that were skipped
	Next uint64 // the same with the write under way
	used uint64 // order of arrival
}

// Typist is a client's entry.
type Typist struct {
	TypedEntry
	j     *Journal
	place int
	Known bool          // the client was here before
	Gone  chan struct{} // closed when the client's input ended
}

// Typist finds the entry of a client, or makes one in place of the oldest.
func (j *Journal) Typist(id uint64) (*Typist, error) {
	b := make([]byte, TypedClients*typedPlace)
	if err := readAt(j.Fd, b, typedArea); err != nil && !errors.Is(err, errShort) {
		return nil, fmt.Errorf("read what was typed: %w", err)
	}
	t := &Typist{j: j, Gone: make(chan struct{})}
	var last uint64
	for i := range TypedClients {
		m := decodeTyped(b[i*typedPlace:])
		last = max(last, m.used)
		if m.ID == id {
			t.TypedEntry, t.place, t.Known = m, i, true
		} else if !t.Known && (i == 0 || m.used < t.used) {
			t.TypedEntry, t.place = m, i
		}
	}
	if !t.Known {
		t.TypedEntry = TypedEntry{ID: id}
	}
	t.used = last + 1
	return t, t.keep()
}

func decodeTyped(b []byte) TypedEntry {
	u := binary.LittleEndian.Uint64
	return TypedEntry{u(b), u(b[8:]), u(b[16:]), u(b[24:])}
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
	t.Done = t.Next // the open write is resolved: the client does not resend it
	t.Next += uint64(n)
	t.note()
}

// End notes that n of them were written.
func (t *Typist) End(n int) {
	if t == nil {
		return
	}
	t.Done += uint64(max(n, 0))
	t.Next = t.Done
	t.note()
}

// Skip notes bytes that no program gets.
func (t *Typist) Skip(n int) {
	t.Begin(n)
	t.End(n)
}

func (t *Typist) note() {
	if err := t.keep(); err != nil {
		slog.Warn("cannot save how much input was taken", "error", err)
	}
}
