package mux

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/keys"
)

// A nudge is written ahead into the journal's memory, and the journal's header
// says how much of it the terminal took. So a server that comes after a crash
// types the rest and submits it, instead of leaving half a message in the
// composer for the next one to be mixed with.
const (
	aheadArea = snapshotArea + 2*snapshotMax
	aheadMax  = 8 << 20 // a message in JSON
)

// nudgeAhead is what a nudge needs to be finished.
type nudgeAhead struct {
	Key     uint64 `json:"key"` // 0: the caller gave no id
	Text    []byte `json:"text"`
	Bracket bool   `json:"bracket,omitempty"`
}

// ahead writes a nudge ahead. mu is held.
func (j *journal) ahead(a nudgeAhead) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if len(b) > aheadMax {
		return fmt.Errorf("%w: a nudge of %d bytes", api.ErrTooLarge, len(b))
	}
	b = append(binary.LittleEndian.AppendUint64(nil, uint64(len(b))), b...)
	if err := writeAt(j.fd, aheadArea, b); err != nil {
		return fmt.Errorf("write a nudge ahead: %w", err)
	}
	j.aheadDone.Store(0)
	j.aheadNext.Store(0)
	return nil
}

// readAhead is the nudge that was written ahead last.
func (j *journal) readAhead() (a nudgeAhead, err error) {
	var head [8]byte
	if err := readAt(j.fd, head[:], aheadArea); err != nil {
		return a, err
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n == 0 || n > aheadMax {
		return a, fmt.Errorf("%w: a nudge of %d bytes", api.ErrTooLarge, n)
	}
	b := make([]byte, n)
	if err := readAt(j.fd, b, aheadArea+8); err != nil {
		return a, err
	}
	return a, json.Unmarshal(b, &a)
}

// begun returns the nudge that a dead server had begun and not ended, and how
// far it came.
func (s *session) begun() (key, stage uint64, ok bool) {
	for i := range s.j.nudges {
		m := &s.j.nudges[i]
		if st := m.stage.Load(); m.id.Load() != 0 && (st == stageTyping || st == stageEntered) {
			return m.id.Load(), st, true
		}
	}
	return 0, 0, false
}

// claimNudge takes the locks of such a nudge, before anybody else can, and
// returns what finishes it; nil when there is none.
func (s *session) claimNudge() (finish func(ctx context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, stage, ok := s.begun()
	if !ok {
		return nil
	}
	a, err := s.j.readAhead()
	if err != nil || a.Key != key {
		return nil // it is reported as it stands
	}
	f := &flight{done: make(chan struct{})}
	s.in.flights = map[uint64]*flight{key: f}
	for _, l := range []*fifo{s.in.nudges, s.in.lock} {
		if err := l.lock(context.Background()); err != nil { // nobody else has the session yet
			return nil
		}
	}
	n := &nudge{s: s, text: string(a.Text), bracket: a.Bracket, key: key}
	n.print = fingerprint(n.text)
	n.mark = func(stage uint64) { s.mark(key, stage) }
	return func(ctx context.Context) {
		defer s.in.nudges.unlock()
		f.rec = n.resume(ctx, stage)
		n.leave(&f.rec)
		s.mu.Lock()
		delete(s.in.flights, key)
		s.mu.Unlock()
		close(f.done)
		s.srv.emit(s, api.Event{Type: api.EventNudged, Receipt: &f.rec})
	}
}

// resume goes on where the dead server was. The caller has both locks.
func (n *nudge) resume(ctx context.Context, stage uint64) api.Receipt {
	s := n.s
	bracket := n.bracket // as the text was begun, whatever the program says now
	n.modes()
	n.bracket = bracket
	if stage == stageEntered {
		n.wrote = true
		s.unlockInput()
		n.typed = n.view()
		return n.verify(ctx)
	}
	p := keys.AppendPaste(nil, []byte(n.text), n.bracket)
	s.mu.Lock()
	done, next := s.j.aheadDone.Load(), s.j.aheadNext.Load()
	s.mu.Unlock()
	if done != next || done > uint64(len(p)) {
		// Killed inside a write: only the screen can tell whether the terminal
		// took it.
		n.wrote = true
		n.closePaste(1, len(p))
		if err := n.settle(ctx); err != nil || !n.typed.standing {
			s.unlockInput()
			return api.Receipt{State: api.Drafted, Detail: "the server was restarted while the text was typed"}
		}
		done = uint64(len(p))
	}
	rec, ok := n.finishWrite(ctx, p, int(done))
	s.unlockInput()
	if !ok {
		return rec
	}
	return n.verify(ctx)
}
