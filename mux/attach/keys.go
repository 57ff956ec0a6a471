package attach

import (
	"errors"
	"io"
	"slices"
	"time"

	"gascity.dev/gc/mux/keys"
)

// errTerminalGone is why an attachment ends whose terminal was closed.
var errTerminalGone = errors.New("the terminal is gone")

// keyReader is what stands between a person's terminal and the session.
type keyReader struct {
	replies replyFilter
	detach  *keys.DetachMatcher
}

// feed takes input and returns what of it goes to the session.
func (k *keyReader) feed(p []byte) (forward []byte, detach bool) {
	return k.detach.Feed(k.replies.feed(p))
}

// flush does the same when no byte came for keyTimeout.
func (k *keyReader) flush() (forward []byte, detach bool) {
	forward, detach = k.detach.Feed(k.replies.flush())
	if detach || k.replies.scan.Pending() {
		return forward, detach
	}
	forward = slices.Clone(forward)
	more, detach := k.detach.Flush()
	return append(forward, more...), detach
}

// pending reports whether an unfinished key is held.
func (k *keyReader) pending() bool { return k.replies.scan.Pending() || k.detach.Pending() }

// rest returns what was read behind the detach keys.
func (k *keyReader) rest() []byte {
	return slices.Concat(k.detach.Rest(), k.replies.scan.Buf)
}

// readKeys sends what a person types until the end.
func (a *attachment) readKeys(in inputSource) {
	keys := keyReader{replies: replyFilter{note: a.answer}, detach: keys.NewDetachMatcher(a.o.DetachKeys)}
	for a.ctx.Err() == nil {
		timeout := time.Duration(-1)
		if keys.pending() {
			timeout = keyTimeout
		}
		p, err := in.read(timeout)
		var forward []byte
		var detach bool
		switch {
		case errors.Is(err, errInputQuiet):
			forward, detach = keys.flush()
		case err != nil:
			a.inputEnded(err)
			return
		default:
			forward, detach = keys.feed(p)
		}
		if len(forward) > 0 && !a.o.ReadOnly {
			a.send(message{input: slices.Clone(forward)})
		}
		if detach {
			a.leave(keys.rest())
			return
		}
	}
}

// send queues a message; while the server takes none and the queue is full it
// waits, and with it what the person types.
func (a *attachment) send(m message) {
	select {
	case a.messages <- m:
	case <-a.ctx.Done():
	}
}

// leave ends the attachment from the person's side. The server closes the
// connection when it has taken what was typed before and does not count this
// client any more; one that does not answer is not waited for.
func (a *attachment) leave(rest []byte) {
	a.mu.Lock()
	a.leaving, a.rest = true, rest
	a.mu.Unlock()
	timer := time.NewTimer(leaveTimeout)
	defer timer.Stop()
	select {
	case a.messages <- message{detach: true}:
	case <-timer.C:
		a.cancel(errDetachKeys)
		return
	case <-a.ctx.Done():
		return
	}
	select {
	case <-timer.C:
		a.cancel(errDetachKeys)
	case <-a.ctx.Done():
	}
}

// left reports whether a connection ended because of leave.
func (a *attachment) left(e ending) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leaving && e.lost != nil
}

// inputEnded ends the attachment with its input: a pipe that was read to its
// end is a detach, a terminal that hung up is an error.
func (a *attachment) inputEnded(err error) {
	switch {
	case errors.Is(err, errInputClosed):
	case errors.Is(err, io.EOF) && !a.screen.raw():
		a.leave(nil)
	default:
		a.cancel(errors.Join(errTerminalGone, err))
	}
}
