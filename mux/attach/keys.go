package attach

import (
	"errors"
	"io"
	"slices"
	"time"

	"gascity.dev/gc/mux/keys"
)

// errTerminalGone is the cause of an end by a terminal that was closed.
var errTerminalGone = errors.New("the terminal is gone")

const (
	readSize     = 4 << 10                // bytes of input read at once
	keyTimeout   = 50 * time.Millisecond  // of silence that ends an unfinished key
	leaveTimeout = 300 * time.Millisecond // for the server to take input and detach
)

// keyReader takes replies and the detach keys out of what a terminal sends.
type keyReader struct {
	replies replyFilter
	detach  *keys.DetachMatcher
}

// feed returns what of p goes to the session, and whether the detach keys ended it.
func (k *keyReader) feed(p []byte) (forward []byte, detach bool) {
	return k.detach.Feed(k.replies.feed(p))
}

// flush is feed when no byte came for keyTimeout.
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

// rest returns what was read after the detach keys.
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

// send queues a message. It waits while the queue is full; the person's input waits
// with it.
func (a *attachment) send(m message) {
	select {
	case a.sender.messages <- m:
	case <-a.ctx.Done():
	}
}

// leave ends the attachment at the person's request. The server closes the
// connection once it has taken all input and no longer counts this client;
// leave waits for that at most leaveTimeout.
func (a *attachment) leave(rest []byte) {
	a.link.leave(rest)
	timer := time.NewTimer(leaveTimeout)
	defer timer.Stop()
	select {
	case a.sender.messages <- message{detach: true}:
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

// inputEnded ends the attachment with its input: the end of a pipe is a detach, a
// terminal that hung up is an error.
func (a *attachment) inputEnded(err error) {
	switch {
	case errors.Is(err, errInputClosed):
	case errors.Is(err, io.EOF) && !a.screen.raw():
		a.leave(nil)
	default:
		a.cancel(errors.Join(errTerminalGone, err))
	}
}
