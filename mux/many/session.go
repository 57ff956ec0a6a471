package many

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// Session is one side of a stream after the greetings. It is safe for concurrent use.
type Session struct {
	link *link
	yam  *yamux.Session
	peer Hello

	control *yamux.Stream
	opening chan struct{} // capacity 1: streams are opened one by one, so that their numbers grow

	mu    sync.Mutex
	conns map[uint32]*conn
	last  uint32          // the highest number that conns ever had
	early map[uint32]bool // closed by the peer before they were added to conns

	done chan struct{} // closed when err is set
	err  error
}

// newSession begins yamux and opens the stream of closed connections. It owns l.
func newSession(l *link, peer Hello, o Options, near bool) (*Session, error) {
	every, timeout := cmp.Or(o.PingEvery, 30*time.Second), cmp.Or(o.PingTimeout, 15*time.Second)
	config := yamux.DefaultConfig()
	config.EnableKeepAlive = false
	config.ConnectionWriteTimeout = timeout // of a ping; writes never block
	config.StreamOpenTimeout = 0
	config.StreamCloseTimeout = 0 // a direction may stay open after the other was closed
	config.LogOutput = io.Discard
	s := &Session{
		link: l, peer: peer,
		opening: make(chan struct{}, 1),
		conns:   map[uint32]*conn{}, early: map[uint32]bool{},
		done: make(chan struct{}),
	}
	var err error
	if near {
		s.yam, err = yamux.Client(l, config)
	} else {
		s.yam, err = yamux.Server(l, config)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	if near {
		s.control, err = s.yam.OpenStream()
	} else {
		s.control, err = s.yam.AcceptStream()
	}
	if err != nil {
		s.yam.Close()
		_, err = s.yam.AcceptStream() // its error says why yamux ended
		return nil, s.reason(err)
	}
	s.last = s.control.StreamID()
	go s.readClosed()
	go s.keepAlive(every, timeout)
	return s, nil
}

// Peer is the greeting of the other side.
func (s *Session) Peer() Hello { return s.peer }

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err is why the session ended; nil while it has not.
func (s *Session) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Close ends the session and its connections. It is idempotent.
func (s *Session) Close() error {
	s.yam.Close()
	<-s.done
	return nil
}

// reason is why the session ended, which yamux reports as err.
func (s *Session) reason(err error) error {
	cause := s.link.cause()
	if cause == nil || errors.Is(cause, errClosed) && !errors.Is(err, yamux.ErrSessionShutdown) {
		cause = err // of the protocol; yamux then closed the link itself
	}
	switch {
	case errors.Is(cause, io.EOF):
		return fmt.Errorf("the other side ended the stream: %w", io.ErrUnexpectedEOF)
	case errors.Is(cause, errClosed):
		return fmt.Errorf("the stream was %w: %w", errClosed, net.ErrClosed)
	default:
		return cause
	}
}

// accept returns the next connection that the peer opens. Its first error ends the
// session. One goroutine calls it.
func (s *Session) accept() (*conn, error) {
	y, err := s.yam.AcceptStream()
	if err == nil {
		return s.add(y), nil
	}
	s.yam.Close()
	s.err = s.reason(err)
	close(s.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.cancel(s.err)
	}
	return nil, s.err
}

// refuseAll is the near side's accept: the far side opens no connections.
func (s *Session) refuseAll() {
	for {
		c, err := s.accept()
		if err != nil {
			return
		}
		c.Close()
	}
}

// add makes the connection of a new stream.
func (s *Session) add(y *yamux.Stream) *conn {
	c := newConn(s, y)
	s.mu.Lock()
	defer s.mu.Unlock()
	id := y.StreamID()
	s.last = max(s.last, id)
	s.conns[id] = c
	if s.early[id] {
		delete(s.early, id)
		c.peerClosed()
	}
	return c
}

// remove forgets a connection that was closed here, and tells the peer.
func (s *Session) remove(id uint32) {
	s.mu.Lock()
	delete(s.conns, id)
	s.mu.Unlock()
	_, _ = s.control.Write(binary.BigEndian.AppendUint32(nil, id))
}

// readClosed learns which connections the peer has closed.
func (s *Session) readClosed() {
	for {
		var b [4]byte
		if _, err := io.ReadFull(s.control, b[:]); err != nil {
			s.yam.Close()
			return
		}
		id := binary.BigEndian.Uint32(b[:])
		s.mu.Lock()
		if c := s.conns[id]; c != nil {
			c.peerClosed()
		} else if id > s.last && len(s.early) < maxEarly {
			s.early[id] = true
		}
		s.mu.Unlock()
	}
}

// maxEarly bounds what a peer that names connections which never come can make us keep.
const maxEarly = 1 << 10

// keepAlive sends a ping whenever nothing has arrived for a while, and ends the session
// if nothing follows. A slow link is not a stalled one: any byte counts.
func (s *Session) keepAlive(every, timeout time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for seen := s.link.received.Load(); ; seen = s.link.received.Load() {
		select {
		case <-tick.C:
		case <-s.yam.CloseChan():
			return
		}
		if s.link.received.Load() != seen {
			continue
		}
		if _, err := s.yam.Ping(); err != nil && s.link.received.Load() == seen {
			s.link.fail(fmt.Errorf("stalled: nothing was received for %v", every+timeout))
			s.yam.Close()
			return
		}
	}
}

// Ping returns the time of one round trip.
func (s *Session) Ping(ctx context.Context) (time.Duration, error) {
	type result struct {
		took time.Duration
		err  error
	}
	ended := make(chan result, 1)
	go func() {
		took, err := s.yam.Ping()
		ended <- result{took, err}
	}()
	select {
	case r := <-ended:
		if r.err != nil && s.yam.IsClosed() {
			<-s.done
			r.err = s.err
		}
		return r.took, r.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// Dial opens a connection of the kind, with args as JSON. It returns before the far side
// has answered: a refusal is the error of Read, a *[Refused]. The connection has
// CloseWrite. Close closes it for both sides.
func (s *Session) Dial(ctx context.Context, kind string, args any) (net.Conn, error) {
	request := Request{Kind: kind}
	if args != nil {
		b, err := json.Marshal(args)
		if err != nil {
			return nil, err
		}
		request.Args = b
	}
	c, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetWriteDeadline(time.Unix(1, 0)) })
	err = answer(c, request)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// open opens a stream. yamux waits while too many are not yet accepted.
func (s *Session) open(ctx context.Context) (*conn, error) {
	select {
	case s.opening <- struct{}{}:
	case <-s.done:
		return nil, s.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	opened := make(chan *conn)
	go func() {
		defer close(opened)
		y, err := s.yam.OpenStream()
		var c *conn
		if err == nil {
			c = s.add(y)
			c.expect = true
		}
		<-s.opening
		if c == nil {
			return
		}
		select {
		case opened <- c:
		case <-ctx.Done():
			c.Close()
		}
	}()
	select {
	case c := <-opened:
		if c != nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s.yam.Close() // it opens none any more
		<-s.done
		return nil, s.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Serve greets the near side of rw as the far side, and calls handle for each of its
// connections, in a goroutine of its own, until the stream or ctx ends; it owns rw.
// handle answers with [Accept] or [Refuse]; its context ends when the peer has closed
// the connection or the session ended, and the connection is closed when it returns.
// Serve returns when every handle has: nil after the near side has closed the stream.
// Closing rw must end a blocked Read.
func Serve(ctx context.Context, rw io.ReadWriteCloser, mine Hello, handle func(ctx context.Context, r Request, conn net.Conn)) error {
	return serve(ctx, rw, mine, Options{}, handle)
}

func serve(ctx context.Context, rw io.ReadWriteCloser, mine Hello, o Options, handle func(ctx context.Context, r Request, conn net.Conn)) error {
	r := bufio.NewReaderSize(rw, readBuffer)
	peer, err := exchange(ctx, rw, func() (Hello, error) {
		if err := greet(rw, mine); err != nil {
			return Hello{}, err
		}
		return readHello(r)
	})
	if err != nil {
		return err
	}
	l := newLink(rw, r)
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	s, err := newSession(l, peer, o, false)
	if err != nil {
		return endOf(ctx, err)
	}
	var handlers sync.WaitGroup
	defer handlers.Wait()
	for {
		c, err := s.accept()
		if err != nil {
			return endOf(ctx, err)
		}
		handlers.Go(func() {
			defer c.Close()
			r, err := c.request()
			if err != nil {
				_ = Refuse(c, "request", "not a request: "+err.Error())
				return
			}
			handle(c.ctx, r, c)
		})
	}
}

// endOf is the result of Serve for the error that ended the session.
func endOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
