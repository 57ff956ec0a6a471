package control

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"time"
)

// Handler carries out a request that is neither OpState nor OpWatch. It is called on
// a goroutine of its own for each request; ctx ends with the connection. The reply's
// Seq is set by the server.
type Handler func(ctx context.Context, r Request) Reply

// Limits of a server.
const (
	maxClients  = 64               // connections at once
	maxRequests = 32               // open requests of a connection
	writeLimit  = 10 * time.Second // for a client to read a line
	lastLimit   = time.Second      // for clients to read what is left when the server closes
)

// Server serves the control protocol to processes of the same user. It keeps the
// latest state and pushes it to watchers.
type Server struct {
	version string
	handle  Handler

	mu      sync.Mutex
	state   State
	changed chan struct{} // closed and replaced at every change
	conns   map[net.Conn]struct{}
	closed  bool
	running sync.WaitGroup
}

// NewServer returns a server for a host of the version. The first state is that of one
// that starts.
func NewServer(version string, h Handler) *Server {
	return &Server{
		version: version, handle: h, state: State{Phase: PhaseStarting, Activity: "starting", Since: time.Now()},
		changed: make(chan struct{}), conns: map[net.Conn]struct{}{},
	}
}

// Publish replaces the state and wakes the watchers. It never blocks.
func (s *Server) Publish(st State) {
	s.mu.Lock()
	s.state = st
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
}

// Serve accepts connections until the listener is closed.
func (s *Server) Serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		if !s.admit(conn) {
			conn.Close()
			continue
		}
		go func() {
			defer s.running.Done()
			s.converse(conn)
			s.forget(conn)
		}()
	}
}

// admit counts a connection, if it is of the same user.
func (s *Server) admit(conn net.Conn) bool {
	if !sameUser(conn) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= maxClients {
		return false
	}
	s.conns[conn] = struct{}{}
	s.running.Add(1)
	return true
}

func (s *Server) forget(conn net.Conn) {
	conn.Close()
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
}

// Close ends every connection and waits for their handlers. Watchers get the latest
// state before that.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.SetReadDeadline(time.Now()) // no request follows
	}
	s.mu.Unlock()
	late := time.AfterFunc(lastLimit, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.conns {
			c.Close()
		}
	})
	defer late.Stop()
	s.running.Wait()
}

// peer is one connection.
type peer struct {
	s    *Server
	conn net.Conn
	mu   sync.Mutex // held for one line
}

// converse serves one connection until it ends. A malformed line ends it.
func (s *Server) converse(conn net.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	p := &peer{s: s, conn: conn}
	if p.send(Hello{Control: Version, Host: s.version}) != nil {
		return
	}
	slots := make(chan struct{}, maxRequests)
	in := newLines(conn)
	for {
		var r Request
		if in.next(&r) != nil || r.Seq <= 0 {
			return
		}
		slots <- struct{}{}
		open.Go(func() {
			defer func() { <-slots }()
			p.serve(ctx, r)
		})
	}
}

// serve answers one request.
func (p *peer) serve(ctx context.Context, r Request) {
	switch r.Op {
	case OpState:
		st, _ := p.s.current()
		p.reply(Reply{Seq: r.Seq, State: &st})
	case OpWatch:
		p.watch(ctx, r.Seq)
	default:
		reply := p.s.handle(ctx, r)
		reply.Seq = r.Seq
		p.reply(reply)
	}
}

// watch sends the state now and after every change.
func (p *peer) watch(ctx context.Context, seq int64) {
	p.reply(Reply{Seq: seq})
	for {
		st, changed := p.s.current()
		p.reply(Reply{State: &st})
		select {
		case <-changed:
			continue
		case <-ctx.Done():
		}
		if last, _ := p.s.current(); last.Version != st.Version || last.Phase != st.Phase {
			p.reply(Reply{State: &last})
		}
		return
	}
}

// current returns the state and the channel that its next change closes.
func (s *Server) current() (State, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.changed
}

// reply sends one line; a client that does not read it is disconnected.
func (p *peer) reply(r Reply) {
	if p.send(r) != nil {
		p.conn.Close()
	}
}

func (p *peer) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.conn.SetWriteDeadline(time.Now().Add(writeLimit)) // a closed connection fails the write
	_, err = p.conn.Write(append(b, '\n'))
	return err
}
