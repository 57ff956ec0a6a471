package many

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"
)

// maxFrame is how much of one connection is sent before the others have their turn.
const maxFrame = 16 << 10

// An answer is at most maxAnswer bytes; the text of a refusal, which JSON may make six
// times as long, is cut to fit.
const (
	maxAnswer = 16 << 10
	maxText   = 2 << 10
)

// conn is one connection: a yamux stream that can be closed for both directions, whose
// reads do not confuse the end of the session with the end of the data, and whose
// writes keep their deadline while the link is full.
type conn struct {
	*yamux.Stream
	session *Session
	ctx     context.Context // ends when either side has closed the connection, or the session ended
	cancel  context.CancelCauseFunc
	wrote   deadline

	reading sync.Mutex
	in      *bufio.Reader // while lines are read, and until its buffer is empty
	expect  bool          // the far side's answer was not yet read
	refused error

	mu     sync.Mutex    // also for deadlines, which the end of a direction fixes
	closed bool          // on this side
	gone   chan struct{} // closed once the peer has closed it
}

func newConn(s *Session, y *yamux.Stream) *conn {
	c := &conn{Stream: y, session: s, gone: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

// errPeerClosed is why the context of a connection ends that the peer has closed.
var errPeerClosed = errors.New("the other side closed the connection")

// peerClosed ends the writes. What the peer had sent before can still be read.
func (c *conn) peerClosed() {
	c.cancel(errPeerClosed)
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.gone:
	default:
		close(c.gone)
		_ = c.Stream.SetWriteDeadline(time.Unix(1, 0))
	}
}

// Read returns what follows the answer of the far side.
func (c *conn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if c.isClosed() {
		return 0, net.ErrClosed
	}
	if err := c.readAnswer(); err != nil {
		return 0, err
	}
	if c.in != nil {
		if c.in.Buffered() > 0 {
			return c.in.Read(p)
		}
		c.in = nil
	}
	n, err := c.Stream.Read(p)
	return n, c.failure(err)
}

// lines returns the reader for lines at the beginning of the connection.
func (c *conn) lines() *bufio.Reader {
	if c.in == nil {
		c.in = bufio.NewReaderSize(readerFunc(func(p []byte) (int, error) {
			n, err := c.Stream.Read(p)
			return n, c.failure(err)
		}), maxAnswer)
	}
	return c.in
}

type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// readAnswer reads the far side's answer once. After a deadline it can be called again,
// since the line is left in the reader.
func (c *conn) readAnswer() error {
	if !c.expect || c.refused != nil {
		return c.refused
	}
	for n := 1; ; n++ {
		b, err := c.lines().Peek(n)
		switch {
		case errors.Is(err, io.EOF):
			c.refused = io.ErrUnexpectedEOF
			return c.refused
		case errors.Is(err, bufio.ErrBufferFull):
			c.refused = errors.New("the answer of the other side has no end")
			return c.refused
		case err != nil:
			return err
		}
		if b[n-1] == '\n' {
			break
		}
	}
	line, _ := c.in.ReadSlice('\n')
	c.expect = false
	var r Refused
	if err := json.Unmarshal(line, &r); err != nil {
		c.refused = errors.New("the answer of the other side is not JSON")
	} else if r != (Refused{}) {
		c.refused = &r
	}
	return c.refused
}

// request reads the near side's request.
func (c *conn) request() (Request, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	var r Request
	line, err := readLine(c.lines(), maxRequest)
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	return r, err
}

// Write sends p in frames, each when the link has space.
func (c *conn) Write(p []byte) (int, error) {
	for n := 0; ; {
		if err := c.awaitSpace(); err != nil {
			return n, err
		}
		m, err := c.Stream.Write(p[n:min(len(p), n+maxFrame)])
		if n += m; err != nil || n == len(p) {
			return n, c.writeFailure(err)
		}
	}
}

// awaitSpace waits until the link has space.
func (c *conn) awaitSpace() error {
	passed := c.wrote.passed()
	select { // first, since a full link must not hide it
	case <-passed:
		return c.writeFailure(os.ErrDeadlineExceeded)
	default:
	}
	full := c.session.link.full()
	if full == nil {
		return nil
	}
	select {
	case <-full:
		return nil
	case <-passed:
		return c.writeFailure(os.ErrDeadlineExceeded)
	case <-c.ctx.Done():
		return c.writeFailure(syscall.EPIPE)
	}
}

// writeFailure is failure for a write. A far side that refused the connection has closed
// it, and its answer says why.
func (c *conn) writeFailure(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-c.gone:
	default:
		return c.failure(err)
	}
	if err := c.failure(syscall.EPIPE); !errors.Is(err, syscall.EPIPE) {
		return err
	}
	if c.reading.TryLock() {
		defer c.reading.Unlock()
		if refused := new(Refused); errors.As(c.readAnswer(), &refused) {
			return refused
		}
	}
	return syscall.EPIPE
}

// failure translates an error of yamux.
func (c *conn) failure(err error) error {
	if err == nil {
		return nil
	}
	switch {
	case c.isClosed():
		return net.ErrClosed
	case c.session.yam.IsClosed(): // yamux reports it as the end of the data
		<-c.session.done
		return c.session.err
	case errors.Is(err, yamux.ErrTimeout):
		return os.ErrDeadlineExceeded
	case errors.Is(err, yamux.ErrConnectionReset):
		return syscall.ECONNRESET
	case errors.Is(err, yamux.ErrStreamClosed):
		return syscall.EPIPE
	}
	return err
}

func (c *conn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// CloseWrite ends the data of this side; Read still works.
func (c *conn) CloseWrite() error { return c.failure(c.Stream.Close()) }

// Close closes the connection for both sides. Blocked calls return net.ErrClosed.
func (c *conn) Close() error {
	c.mu.Lock()
	was := c.closed
	c.closed = true
	c.mu.Unlock()
	if was {
		return nil
	}
	c.cancel(net.ErrClosed)
	_ = c.Stream.SetDeadline(time.Unix(1, 0))
	_ = c.Stream.Close()
	c.session.remove(c.StreamID())
	return nil
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	return c.Stream.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.wrote.set(t)
	select {
	case <-c.gone:
		return nil // writes have ended
	default:
		return c.Stream.SetWriteDeadline(t)
	}
}

// Accept answers that the request of a connection is served.
func Accept(conn net.Conn) error { return answer(conn, struct{}{}) }

// Refuse answers that it is not, and why; the code is for programs.
func Refuse(conn net.Conn, code, text string) error {
	text = strings.ToValidUTF8(text[:min(len(text), maxText)], "")
	return answer(conn, Refused{Code: code, Text: text})
}

// deadline is a channel that is closed once a time has passed.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	done  chan struct{}
}

// passed returns the channel; a later set may replace it only after it was closed.
func (d *deadline) passed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.channel()
}

// channel makes the channel on first use. The lock is held.
func (d *deadline) channel() chan struct{} {
	if d.done == nil {
		d.done = make(chan struct{})
	}
	return d.done
}

// set moves the deadline to t; zero removes it.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	done := d.channel()
	if d.timer != nil && !d.timer.Stop() {
		<-done // about to be closed
	}
	d.timer = nil
	left := time.Until(t)
	select {
	case <-done:
		if t.IsZero() || left > 0 {
			d.done = nil
			done = d.channel()
		}
	default:
		if !t.IsZero() && left <= 0 {
			close(done)
		}
	}
	if !t.IsZero() && left > 0 {
		d.timer = time.AfterFunc(left, func() { close(done) })
	}
}
