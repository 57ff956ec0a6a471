package wire

import (
	"errors"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Limits, if Options does not say otherwise.
const (
	DefaultMaxLine  = 64 << 20
	DefaultMaxQueue = 8 << 20
)

// bigLine is the length from which the memory of a line is released to the
// system at once.
const bigLine = 4 << 20

// Errors of sending.
var (
	ErrFull   = errors.New("too much is waiting to be read by the agent")
	ErrClosed = errors.New("the connection is closed")
)

// Options of a connection. The zero value is right.
type Options struct {
	MaxLine  int // longest line in bytes; DefaultMaxLine
	MaxQueue int // bytes that may wait to be written; DefaultMaxQueue

	// Junk gets each line that is not a message, at most its first 4 KiB. It is called on
	// the reading goroutine and must neither block nor keep the slice.
	Junk func(line []byte)

	// Record gets each message that was read or is about to be written, without the
	// end of the line. It is called on the goroutine that reads or writes, with the same rules.
	Record func(fromAgent bool, line []byte)
}

// Conn is a connection. Safe for concurrent use.
type Conn struct {
	r    io.Closer
	opts Options

	messages chan Message
	done     chan struct{} // closed by Close
	close    sync.Once
	running  sync.WaitGroup
	junk     atomic.Int64

	out *queue

	mu    sync.Mutex
	calls int64              // the id of the last call
	open  map[int64]struct{} // calls without an answer
	err   error              // why reading ended
}

// New starts a connection, which owns both ends from then on: r is the agent's
// output, w its input. Closing either must end a Read or Write that blocks, as it does
// with pipes.
func New(r io.ReadCloser, w io.WriteCloser, opts Options) *Conn {
	if opts.MaxLine == 0 {
		opts.MaxLine = DefaultMaxLine
	}
	if opts.MaxQueue == 0 {
		opts.MaxQueue = DefaultMaxQueue
	}
	c := &Conn{
		r: r, opts: opts,
		messages: make(chan Message),
		done:     make(chan struct{}),
		out:      newQueue(w, opts.MaxQueue, opts.Record),
		open:     map[int64]struct{}{},
	}
	c.running.Go(func() { c.read(r) })
	c.running.Go(c.out.write)
	return c
}

// Messages returns the channel of the agent's messages. It is closed when the agent's
// output has ended, or by Close; open calls get no answer then.
//
// The channel has no buffer, so that at most one message waits in memory.
func (c *Conn) Messages() <-chan Message { return c.messages }

// Err returns why the agent's output ended: nil for an ordinary end, or before it.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Junk returns how many lines were not messages.
func (c *Conn) Junk() int64 { return c.junk.Load() }

// Close ends the connection at once; unwritten messages are lost. It returns
// when nothing of the connection runs any more.
func (c *Conn) Close() {
	c.close.Do(func() {
		close(c.done)
		c.out.abort()
		c.r.Close()
	})
	c.running.Wait()
}

// CloseWrite closes the agent's input once everything that was sent is written. It
// does not wait.
func (c *Conn) CloseWrite() { c.out.finish() }

// read delivers messages until the input ends.
func (c *Conn) read(r io.Reader) {
	defer close(c.messages)
	in := newLines(r, c.opts.MaxLine)
	for {
		line, long, err := in.next()
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			if !errors.Is(err, io.EOF) {
				c.err = err
			}
			return
		}
		m, ok := c.message(line, long)
		size := len(line)
		if ok && !c.deliver(m) {
			return
		}
		if long || size > bigLine {
			debug.FreeOSMemory()
		}
	}
}

func (c *Conn) deliver(m Message) bool {
	select {
	case c.messages <- m:
		return true
	case <-c.done:
		return false
	}
}

// message returns the message for the owner in a line, if there is one.
func (c *Conn) message(line []byte, long bool) (Message, bool) {
	line = trim(line)
	if long {
		c.addJunk(line)
		return c.tooLong(line)
	}
	if len(line) == 0 {
		return Message{}, false
	}
	m, ok := parse(line)
	if !ok {
		c.addJunk(line)
		return Message{}, false
	}
	if c.opts.Record != nil {
		c.opts.Record(true, line)
	}
	if m.Kind == Response && !c.Forget(m.Call) {
		return Message{}, false // an answer to a forgotten call
	}
	return m, true
}

func (c *Conn) addJunk(line []byte) {
	c.junk.Add(1)
	if c.opts.Junk != nil {
		c.opts.Junk(line[:min(len(line), headSize)])
	}
}

// tooLong fails the call or the request whose line is too long, if its beginning
// names it.
func (c *Conn) tooLong(start []byte) (Message, bool) {
	h := parseHead(start)
	switch {
	case !h.hasID:
	case h.method != "":
		_ = c.ReplyError(h.id, CodeInvalidRequest, "the message is too long")
	case c.Forget(callID(h.id)):
		return Message{Kind: Response, Call: callID(h.id), Err: &Error{Code: CodeInternal, Message: "the agent's answer is too long"}}, true
	}
	return Message{}, false
}

// Unread returns how many bytes the agent has not yet read from its input. It fails
// with errors.ErrUnsupported where the system cannot tell.
func (c *Conn) Unread() (int, error) { return unread(c.out.w) }

// Queued returns how many messages, and bytes, have not been written completely.
func (c *Conn) Queued() (messages, bytes int) { return c.out.waiting() }

// Written reports whether the call has been written completely.
func (c *Conn) Written(call int64) bool { return c.out.wrote(call) }
