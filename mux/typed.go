package mux

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"gascity.dev/gc/mux/api"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
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

// typist returns the mark of a client. One of the same client that is still read
// is waited for: what it has read counts.
func (s *session) typist(ctx context.Context, id uint64) (*typist, error) {
	for {
		s.mu.Lock()
		old := s.typists[id]
		if old == nil {
			break
		}
		clients := slices.Clone(s.clients)
		s.mu.Unlock()
		for _, c := range clients {
			if c.typist == old {
				c.ws.CloseNow()
			}
		}
		select {
		case <-old.gone:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer s.mu.Unlock()
	t, err := s.j.typist(id)
	if err != nil {
		return nil, err
	}
	if s.typists == nil {
		s.typists = make(map[uint64]*typist)
	}
	s.typists[id] = t
	return t, nil
}

// dropTypist notes that a client's input ended.
func (s *session) dropTypist(t *typist) {
	if t == nil {
		return
	}
	s.mu.Lock()
	delete(s.typists, t.id)
	s.mu.Unlock()
	close(t.gone)
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

// header tells the client.
func (t *typist) header(h http.Header) {
	if t != nil {
		h.Set(api.TypedHeader, fmt.Sprintf("%d %d", t.next, t.next-t.done))
	}
}

// typedID is the client's number in an attach request, 0 for none.
func typedID(r *http.Request) uint64 {
	id, err := strconv.ParseUint(r.URL.Query().Get("client"), 16, 64)
	if err != nil {
		return 0
	}
	return id
}

// sendTyped is send for what a client typed.
func (s *session) sendTyped(ctx context.Context, t *typist, p []byte) error {
	if t == nil || len(p) == 0 {
		return s.send(ctx, p)
	}
	s.cancelledBy(p)
	if err := s.lockInput(ctx); err != nil {
		return err
	}
	defer s.unlockInput()
	if s.rec.Pipes {
		t.begin(len(p))
		n, err := s.writeInput(ctx, p, 0)
		t.end(n)
		return err
	}
	s.setTypist(t)
	defer s.setTypist(nil)
	_, err := s.writeInput(ctx, p, 0)
	return err
}

func (s *session) setTypist(t *typist) {
	s.mu.Lock()
	s.in.typist = t
	s.mu.Unlock()
}
