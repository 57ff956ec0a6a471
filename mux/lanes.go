package mux

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// lanes serve connections as long as every request gets one answer and comes
// whole: on the goroutine that reads it. net/http begins another goroutine for
// each request, which watches whether the client hangs up; to start it, with the
// thread that this wakes, takes as long as all else of a peek. And its buffers
// are half of what a client takes that waits. With the first request of another
// kind, or in any form that is not the plain one, the connection is net/http's
// for good.
type lanes struct {
	mux    *http.ServeMux
	ctx    context.Context // of requests; ends with the server
	cancel context.CancelFunc

	mu   sync.Mutex
	open map[*lane]struct{}
	shut bool
	work sync.WaitGroup
}

func newLanes(m *http.ServeMux) *lanes {
	ls := &lanes{mux: m, open: make(map[*lane]struct{})}
	ls.ctx, ls.cancel = context.WithCancel(context.Background())
	return ls
}

// listen returns a listener for net/http: of the connections that l accepts,
// those that are no lane's any more.
func (ls *lanes) listen(l net.Listener) net.Listener {
	ll := &laneListener{Listener: l, next: make(chan accepted), closed: make(chan struct{})}
	ls.work.Go(func() { ls.accept(ll) })
	return ll
}

// laneListener is what is left for net/http.
type laneListener struct {
	net.Listener
	next   chan accepted
	once   sync.Once
	closed chan struct{}
}

type accepted struct {
	conn net.Conn
	err  error
}

// Accept implements net.Listener.
func (l *laneListener) Accept() (net.Conn, error) {
	select {
	case a := <-l.next:
		return a.conn, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *laneListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// hand gives net/http a connection or an error; false: it takes nothing more.
func (l *laneListener) hand(a accepted) bool {
	select {
	case l.next <- a:
		return true
	case <-l.closed:
		return false
	}
}

// accept starts a lane for each connection until the listener is closed.
func (ls *lanes) accept(l *laneListener) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			if !l.hand(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		one := &lane{lanes: ls, conn: conn}
		if sc, ok := conn.(syscall.Conn); ok {
			one.raw, err = sc.SyscallConn()
		}
		if one.raw == nil || err != nil || !ls.begin(one) {
			conn.Close()
			continue
		}
		ls.work.Go(func() {
			rest := one.serve()
			ls.end(one)
			if rest == nil || !l.hand(accepted{conn: &begunConn{Conn: conn, rest: rest}}) {
				conn.Close()
			}
		})
	}
}

func (ls *lanes) begin(l *lane) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !ls.shut {
		ls.open[l] = struct{}{}
	}
	return !ls.shut
}

func (ls *lanes) end(l *lane) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.open, l)
}

// leave ends every lane: at once one that waits for a request, others with their
// answer, if that is given and taken before ctx ends.
func (ls *lanes) leave(ctx context.Context) {
	context.AfterFunc(ctx, ls.cancel)
	until, _ := ctx.Deadline()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.shut = true
	for l := range ls.open {
		_ = l.conn.SetReadDeadline(time.Unix(1, 0))
		_ = l.conn.SetWriteDeadline(until)
	}
}

// wait returns when every lane has ended, after leave and the end of net/http.
func (ls *lanes) wait() { ls.work.Wait() }

// begunConn is a connection of which something was read.
type begunConn struct {
	net.Conn
	rest []byte
}

// Read returns that first.
func (c *begunConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}
