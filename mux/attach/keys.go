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

// keyReader takes replies and the keys of commands out of what a terminal sends.
type keyReader struct {
	replies  replyFilter
	commands *keys.DetachMatcher
}

// feed returns what of p goes to the session up to the first command, and whether there
// is one.
func (k *keyReader) feed(p []byte) (forward []byte, command bool) {
	return k.commands.Feed(k.replies.feed(p))
}

// further is feed for what was read after a command.
func (k *keyReader) further() (forward []byte, command bool) {
	return k.commands.Feed(slices.Clone(k.commands.Rest()))
}

// flush is feed when no byte came for keyTimeout.
func (k *keyReader) flush() (forward []byte, command bool) {
	forward, command = k.commands.Feed(k.replies.flush())
	if command || k.replies.scan.Pending() {
		return forward, command
	}
	forward = slices.Clone(forward)
	more, command := k.commands.Flush()
	return append(forward, more...), command
}

// pending reports whether an unfinished key is held.
func (k *keyReader) pending() bool { return k.replies.scan.Pending() || k.commands.Pending() }

// rest returns what was read after a command.
func (k *keyReader) rest() []byte {
	return slices.Concat(k.commands.Rest(), k.replies.scan.Buf)
}

// readKeys carries out what a person types, or sends it, until the end.
func (a *attachment) readKeys(in inputSource) {
	commands := a.o.commands()
	keys := keyReader{replies: replyFilter{note: a.answer}, commands: keys.NewDetachMatcher(sequences(commands)...)}
	for a.ctx.Err() == nil {
		timeout := time.Duration(-1)
		if keys.pending() || a.over.pending() {
			timeout = keyTimeout
		}
		p, err := in.read(timeout)
		var forward []byte
		var command bool
		switch {
		case errors.Is(err, errInputQuiet):
			forward, command = keys.flush()
			a.pass(a.over.flush())
		case err != nil:
			a.inputEnded(err)
			return
		default:
			forward, command = keys.feed(p)
		}
		for a.pass(forward); command; a.pass(forward) {
			if !a.carryOut(commands[keys.commands.Which()].Do, keys.rest()) {
				return
			}
			forward, command = keys.further()
		}
		if a.over.to != "" {
			a.leave(keys.rest())
			return
		}
	}
}

// pass gives input to what is shown over the session, or else to the session.
func (a *attachment) pass(p []byte) {
	if p = a.over.typed(p); len(p) > 0 && !a.o.ReadOnly {
		a.send(message{input: slices.Clone(p)})
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
