package server

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/fifo"
	"gascity.dev/gc/mux/internal/nudge"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keys"
	"golang.org/x/sys/unix"
)

// Bounds of a session's input.
const (
	maxReplies = 64 << 10 // terminal replies that the program did not read
	maxPaste   = 16 << 20
)

// input is the way into a session's terminal. Every writer holds the lock, granted in
// the order of arrival, while its bytes must stay together. If the program does not read,
// the writer waits; only the terminal's own replies are buffered.
//
// session.mu guards all but the lock.
type input struct {
	s    *session
	lock *fifo.Lock // held by the writer that types

	space   chan struct{} // closed when the terminal takes bytes again; nil without a waiter
	writing bool          // a writer is between its first and its last byte
	tracked bool          // the writer writes a nudge's text
	replies []byte
	unread  uint64                  // batches of replies that were dropped
	cancel  context.CancelCauseFunc // of the nudge that holds the lock
	typist  *journal.Typist         // whose input is being written
	sealed  bool                    // a Kill of an idle session is ending it: nothing is typed
}

// errCancelled is why a nudge ends when a person presses Ctrl-C.
var errCancelled = errors.New("interrupted")

// acquire waits for the lock. ErrExited after the session's end, and while it is sealed;
// ErrInputFull if too many wait.
func (i *input) acquire(ctx context.Context) error {
	if !i.s.life.running() {
		return api.ErrExited
	}
	if err := i.lock.Lock(ctx); err != nil {
		return err
	}
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	if i.sealed {
		i.lock.Unlock()
		return api.ErrExited
	}
	return nil
}

// cancelWith makes a person's Ctrl-C cancel the holder of the lock, until release.
func (i *input) cancelWith(cancel context.CancelCauseFunc) {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	i.cancel = cancel
}

// track makes the journal record how much the terminal takes of what is written next.
func (i *input) track(on bool) {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	i.tracked = on
}

// release gives the lock to the next writer.
func (i *input) release() {
	i.s.mu.Lock()
	i.cancel = nil
	i.s.mu.Unlock()
	i.lock.Unlock()
}

// write writes all of p, as fast as the program reads, and returns how much the terminal
// took. The caller holds the lock. nudge.ErrStuck if the terminal took nothing for patience (0:
// no limit), ErrExited after the end.
func (i *input) write(ctx context.Context, p []byte, patience time.Duration) (int, error) {
	s := i.s
	if s.rec.Pipes {
		return i.writePipe(ctx, p, patience)
	}
	done := 0
	s.mu.Lock()
	i.writing = true
	defer func() {
		i.writing = false
		i.s.activity.noteInput()
		i.flushReplies()
		s.mu.Unlock()
	}()
	for done < len(p) {
		if err := ctx.Err(); err != nil {
			return done, context.Cause(ctx)
		}
		if s.tty.closed() || s.life.ended() {
			return done, api.ErrExited
		}
		n, err := i.put(p[done:])
		if n > 0 {
			done += n
			continue
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if !errors.Is(err, unix.EAGAIN) {
			return done, api.ErrExited // EIO: no program has the terminal open
		}
		if i.space == nil {
			i.space = make(chan struct{})
		}
		space := i.space
		s.srv.loop.Arm(&s.tty)
		s.mu.Unlock()
		err = waitSpace(ctx, space, patience)
		s.mu.Lock()
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// put writes once. The journal records how much of a nudge's or a client's text the
// terminal took, except if the server is killed within the call. mu is held.
func (i *input) put(p []byte) (int, error) {
	s := i.s
	if t := i.typist; t != nil {
		t.Begin(len(p))
		n, err := s.tty.write(p)
		t.End(n)
		return n, err
	}
	if !i.tracked {
		return s.tty.write(p)
	}
	done := s.storage.journal.AheadDone.Load()
	s.storage.journal.AheadNext.Store(done + uint64(len(p)))
	n, err := s.tty.write(p)
	done += uint64(max(n, 0))
	s.storage.journal.AheadDone.Store(done)
	s.storage.journal.AheadNext.Store(done)
	return n, err
}

func waitSpace(ctx context.Context, space <-chan struct{}, patience time.Duration) error {
	var late <-chan time.Time
	if patience > 0 {
		t := time.NewTimer(patience)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-space:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-late:
		return nudge.ErrStuck
	}
}

// writable wakes the writer that waits for space. mu is held.
func (i *input) writable() {
	if i.space != nil {
		close(i.space)
		i.space = nil
	}
}

// wantsWrite reports whether anything waits for space. mu is held.
func (i *input) wantsWrite() bool {
	return i.space != nil || len(i.replies) > 0 && !i.writing
}

// addReplies queues the terminal's replies to the program. If the program does not read
// them, they are dropped. mu is held.
func (i *input) addReplies(p []byte) {
	if len(i.replies)+len(p) > maxReplies {
		i.unread++
		return
	}
	i.replies = append(i.replies, p...)
}

// flushReplies writes queued replies, never between the bytes of a writer. mu is held.
func (i *input) flushReplies() {
	for len(i.replies) > 0 && !i.writing && !i.s.tty.closed() {
		n, err := i.s.tty.write(i.replies)
		if n > 0 {
			i.replies = i.replies[n:]
			continue
		}
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if !errors.Is(err, unix.EAGAIN) {
			i.replies = nil
		}
		break
	}
	if len(i.replies) == 0 {
		i.replies = nil
	}
}

// send writes p while it holds the lock.
func (i *input) send(ctx context.Context, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	i.cancelledBy(p)
	if err := i.acquire(ctx); err != nil {
		return err
	}
	defer i.release()
	_, err := i.write(ctx, p, 0)
	return err
}

// cancelledBy cancels the nudge that holds the lock if p contains Ctrl-C.
func (i *input) cancelledBy(p []byte) {
	if slices.Contains(p, ctrlC) {
		i.cancelNudge()
	}
}

const (
	ctrlC = 0x03
	ctrlU = 0x15
)

// cancelNudge cancels the nudge that holds the lock, if any.
func (i *input) cancelNudge() {
	i.s.mu.Lock()
	cancel := i.cancel
	i.s.mu.Unlock()
	if cancel != nil {
		cancel(errCancelled)
	}
}

// keys types keys, encoded for the program's modes, or literal text.
func (i *input) keys(ctx context.Context, r api.KeysRequest) error {
	if r.Literal {
		var p []byte
		for _, k := range r.Keys {
			p = append(p, k...)
		}
		return i.send(ctx, p)
	}
	if _, err := keys.Encode(nil, r.Keys, keys.Modes{}); err != nil {
		return err
	}
	for _, k := range r.Keys {
		if p, err := keys.Encode(nil, []string{k}, keys.Modes{}); err == nil && slices.Contains(p, ctrlC) {
			i.cancelNudge()
		}
	}
	if err := i.acquire(ctx); err != nil {
		return err
	}
	defer i.release()
	p, err := keys.Encode(nil, r.Keys, i.s.screen.keyModes())
	if err != nil {
		return err
	}
	if i.s.rec.Pipes { // no terminal turns Enter into a line end
		p = bytes.ReplaceAll(bytes.ReplaceAll(p, []byte("\r\n"), []byte{'\n'}), []byte{'\r'}, []byte{'\n'})
	}
	_, err = i.write(ctx, p, 0)
	return err
}

// paste types data as one paste.
func (i *input) paste(ctx context.Context, data []byte) error {
	s := i.s
	if err := i.acquire(ctx); err != nil {
		return err
	}
	defer i.release()
	s.mu.Lock()
	bracketed := s.screen.term.Modes().BracketedPaste
	s.mu.Unlock()
	_, err := i.write(ctx, keys.AppendPaste(nil, data, bracketed), 0)
	return err
}

func (i *input) press(ctx context.Context, key string) error {
	b, err := keys.Encode(nil, []string{key}, i.s.screen.keyModes())
	if err != nil {
		return err
	}
	_, err = i.write(ctx, b, nudge.Patience)
	return err
}

// sendTyped is send for what a client typed.
func (i *input) sendTyped(ctx context.Context, t *journal.Typist, p []byte) error {
	if t == nil || len(p) == 0 {
		return i.send(ctx, p)
	}
	i.cancelledBy(p)
	if err := i.acquire(ctx); err != nil {
		return err
	}
	defer i.release()
	if i.s.rec.Pipes {
		t.Begin(len(p))
		n, err := i.write(ctx, p, 0)
		t.End(n)
		return err
	}
	i.setTypist(t)
	defer i.setTypist(nil)
	_, err := i.write(ctx, p, 0)
	return err
}

func (i *input) setTypist(t *journal.Typist) {
	i.s.mu.Lock()
	i.typist = t
	i.s.mu.Unlock()
}
