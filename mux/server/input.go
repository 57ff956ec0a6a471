package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keys"
	"golang.org/x/sys/unix"
)

// Bounds of a session's input.
const (
	maxReplies = 64 << 10 // terminal replies that the program did not read
	maxPaste   = 16 << 20
	maxNudge   = 1 << 20
)

// input is the way into a session's terminal. Every writer takes its lock, in
// the order of arrival, for as long as its bytes must stay together. What the
// program does not read stays with the writer, who waits: nothing is buffered
// but the terminal's own replies.
//
// All but the locks is guarded by session.mu.
type input struct {
	lock   *fifo // held by the writer that types
	nudges *fifo // held by the nudge under way

	room    chan struct{} // closed when the terminal takes bytes again; nil while nobody waits
	writing bool          // a writer is between its first and its last byte
	tracked bool          // it writes a nudge's text
	replies []byte
	unread  uint64                  // batches of replies that found no room
	cancel  context.CancelCauseFunc // of the nudge that holds the lock
	draft   draft
	typist  *journal.Typist // whose input is being written
	left    unsent

	flights map[uint64]*flight // nudges with an id that are under way
}

// errCancelled is why a nudge ends when a person presses Ctrl-C.
var errCancelled = errors.New("interrupted")

// errStuck is a terminal that took no byte for too long.
var errStuck = errors.New("the program does not read its input")

// lockInput waits for the lock. ErrExited after the session's end, ErrInputFull
// when too many wait.
func (s *session) lockInput(ctx context.Context) error {
	if !s.isRunning() {
		return api.ErrExited
	}
	return s.in.lock.lock(ctx)
}

// unlockInput gives the lock to the next writer.
func (s *session) unlockInput() {
	s.mu.Lock()
	s.in.cancel = nil
	s.mu.Unlock()
	s.in.lock.unlock()
}

// writeInput writes all of p, as fast as the program reads, and returns how
// much the terminal took. The caller has the input lock. errStuck when the
// terminal took nothing for patience (0: no limit), ErrExited after the end.
func (s *session) writeInput(ctx context.Context, p []byte, patience time.Duration) (int, error) {
	if s.rec.Pipes {
		return s.writePipe(ctx, p, patience)
	}
	done := 0
	s.mu.Lock()
	s.in.writing = true
	defer func() {
		s.in.writing = false
		s.noteInput()
		s.flushReplies()
		s.mu.Unlock()
	}()
	for done < len(p) {
		if err := ctx.Err(); err != nil {
			return done, context.Cause(ctx)
		}
		if s.fd < 0 || s.exit != nil {
			return done, api.ErrExited
		}
		n, err := s.put(p[done:])
		if n > 0 {
			done += n
			continue
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if !errors.Is(err, unix.EAGAIN) {
			return done, api.ErrExited // EIO: nobody has the terminal open
		}
		if s.in.room == nil {
			s.in.room = make(chan struct{})
		}
		room := s.in.room
		s.srv.loop.armLocked(s)
		s.mu.Unlock()
		err = waitRoom(ctx, room, patience)
		s.mu.Lock()
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// put writes once. Of a nudge's text, and of what a client types, the journal knows how much the terminal
// took, but for a kill within the call. mu is held.
func (s *session) put(p []byte) (int, error) {
	if t := s.in.typist; t != nil {
		t.Begin(len(p))
		n, err := unix.Write(s.fd, p)
		t.End(n)
		return n, err
	}
	if !s.in.tracked {
		return unix.Write(s.fd, p)
	}
	done := s.j.AheadDone.Load()
	s.j.AheadNext.Store(done + uint64(len(p)))
	n, err := unix.Write(s.fd, p)
	done += uint64(max(n, 0))
	s.j.AheadDone.Store(done)
	s.j.AheadNext.Store(done)
	return n, err
}

// noteInput notes that a writer wrote. mu is held.
func (s *session) noteInput() {
	s.lastIn = s.srv.clock.Now().UnixNano()
	if s.fd >= 0 {
		s.j.LastIn.Store(s.lastIn)
	}
}

func waitRoom(ctx context.Context, room <-chan struct{}, patience time.Duration) error {
	var late <-chan time.Time
	if patience > 0 {
		t := time.NewTimer(patience)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-room:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-late:
		return errStuck
	}
}

// writable wakes the writer that waits for room. mu is held.
func (i *input) writable() {
	if i.room != nil {
		close(i.room)
		i.room = nil
	}
}

// wantsWrite reports whether somebody waits for room. mu is held.
func (i *input) wantsWrite() bool {
	return i.room != nil || len(i.replies) > 0 && !i.writing
}

// addReplies queues what the terminal answers to the program; a program that
// asks and never reads loses answers. mu is held.
func (i *input) addReplies(p []byte) {
	if len(i.replies)+len(p) > maxReplies {
		i.unread++
		return
	}
	i.replies = append(i.replies, p...)
}

// flushReplies writes queued replies, never into the middle of what a writer
// sends. mu is held.
func (s *session) flushReplies() {
	for len(s.in.replies) > 0 && !s.in.writing && s.fd >= 0 {
		n, err := unix.Write(s.fd, s.in.replies)
		if n > 0 {
			s.in.replies = s.in.replies[n:]
			continue
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if !errors.Is(err, unix.EAGAIN) {
			s.in.replies = nil
		}
		break
	}
	if len(s.in.replies) == 0 {
		s.in.replies = nil
	}
}

// send takes the lock, writes p and gives the lock back.
func (s *session) send(ctx context.Context, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	s.cancelledBy(p)
	if err := s.lockInput(ctx); err != nil {
		return err
	}
	defer s.unlockInput()
	_, err := s.writeInput(ctx, p, 0)
	return err
}

// cancelledBy ends the nudge that holds the lock when p has a Ctrl-C.
func (s *session) cancelledBy(p []byte) {
	if slices.Contains(p, ctrlC) {
		s.cancelNudge()
	}
}

const ctrlC = 0x03

// cancelNudge ends the nudge that holds the lock, if one does.
func (s *session) cancelNudge() {
	s.mu.Lock()
	cancel := s.in.cancel
	s.mu.Unlock()
	if cancel != nil {
		cancel(errCancelled)
	}
}

// keys types keys as the modes of the program ask, or text as it is.
func (s *session) keys(ctx context.Context, r api.KeysRequest) error {
	if r.Literal {
		var p []byte
		for _, k := range r.Keys {
			p = append(p, k...)
		}
		return s.send(ctx, p)
	}
	if _, err := keys.Encode(nil, r.Keys, keys.Modes{}); err != nil {
		return err
	}
	for _, k := range r.Keys {
		if p, err := keys.Encode(nil, []string{k}, keys.Modes{}); err == nil && slices.Contains(p, ctrlC) {
			s.cancelNudge()
		}
	}
	if err := s.lockInput(ctx); err != nil {
		return err
	}
	defer s.unlockInput()
	p, err := keys.Encode(nil, r.Keys, s.keyModes())
	if err != nil {
		return err
	}
	if s.rec.Pipes { // no terminal makes a line end of Enter
		p = bytes.ReplaceAll(bytes.ReplaceAll(p, []byte("\r\n"), []byte{'\n'}), []byte{'\r'}, []byte{'\n'})
	}
	_, err = s.writeInput(ctx, p, 0)
	return err
}

// keyModes are the modes in force that change what keys send.
func (s *session) keyModes() keys.Modes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.modesOfKeys()
}

// modesOfKeys is keyModes for callers that hold mu.
func (s *session) modesOfKeys() keys.Modes {
	m := s.term.Modes()
	return keys.Modes{
		AppCursor: m.AppCursor, AppKeypad: m.AppKeypad, NewLine: m.NewLine,
		BackarrowSendsBS: m.BackarrowSendsBS, ModifyOtherKeys: m.ModifyOtherKeys, KittyFlags: m.KittyFlags,
	}
}

// paste types data as one paste.
func (s *session) paste(ctx context.Context, data []byte) error {
	if err := s.lockInput(ctx); err != nil {
		return err
	}
	defer s.unlockInput()
	s.mu.Lock()
	bracketed := s.term.Modes().BracketedPaste
	s.mu.Unlock()
	_, err := s.writeInput(ctx, keys.AppendPaste(nil, data, bracketed), 0)
	return err
}

// signal sends a signal by name to the foreground process group.
func (s *session) signal(name string) error {
	sig, err := parseSignal(name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exit != nil || s.dead != nil {
		return api.ErrExited
	}
	return s.signalForeground(sig)
}

// signalForeground signals the terminal's foreground process group, else the
// leader's. mu is held and the leader was not reaped.
func (s *session) signalForeground(sig unix.Signal) error {
	pgrp := 0
	if s.fd >= 0 && !s.rec.Pipes {
		pgrp, _ = unix.IoctlGetInt(s.fd, unix.TIOCGPGRP)
	}
	if pgrp <= 1 {
		pgrp = s.pid
	}
	if err := unix.Kill(-pgrp, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal: %w", err)
	}
	return nil
}
