// Package transport carries a client's HTTP requests over connections that are
// kept alive, on the caller's goroutine.
//
// The http.Transport of the standard library has two goroutines for each
// connection: a request is handed to one, and its reply comes back from the other.
// Waking them takes a third of the time of a peek. Messages are still written and
// read with net/http's functions.
//
// A Transport owns its connections until a reply's body or [Transport.Conn] passes
// one on. It does not interpret requests. Only mux/client uses it.
package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// IdleTime is how long a connection is kept after a reply.
const IdleTime = time.Minute

// writers are buffered writers for requests; idle connections have none. A request that
// fits is sent with one write.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 16<<10) }}

// Transport is an http.RoundTripper. The body of a reply with status 101 is the
// connection. It is safe for concurrent use.
type Transport struct {
	Dial    func(ctx context.Context) (net.Conn, error)
	MaxIdle int // connections that are kept while idle

	mu     sync.Mutex
	idle   []*conn // the newest last
	closed bool    // none is kept until the next request
}

// conn is a connection of a transport. It carries one request after the other.
type conn struct {
	net.Conn
	r    *bufio.Reader
	sent bool        // some of the request
	old  bool        // the server may have closed it since its last use
	idle *time.Timer // ends its idle time
}

func newConn(c net.Conn) *conn {
	return &conn{Conn: c, r: bufio.NewReader(c)}
}

// send writes a request.
func (h *conn) send(r *http.Request) error {
	w := writers.Get().(*bufio.Writer)
	w.Reset(h)
	err := r.Write(w)
	if err == nil {
		err = w.Flush()
	}
	w.Reset(nil)
	writers.Put(w)
	return err
}

// Write notes that something was sent.
func (h *conn) Write(p []byte) (int, error) {
	n, err := h.Conn.Write(p)
	h.sent = h.sent || n > 0
	return n, err
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.do(r, nil) }

// While returns a RoundTripper that calls work once while the server answers; work
// may be nil.
func (t *Transport) While(work func()) http.RoundTripper {
	if work == nil {
		return t
	}
	return busy{t, sync.OnceFunc(work)} // once, also for a request that is made again
}

// busy is the result of While.
type busy struct {
	t    *Transport
	work func()
}

// RoundTrip implements http.RoundTripper.
func (b busy) RoundTrip(r *http.Request) (*http.Response, error) { return b.t.do(r, b.work) }

// do makes a request. An idle connection that the server closed is detected here:
// the request is made again on another one if nothing of it was sent, or if it is a
// GET.
func (t *Transport) do(r *http.Request, work func()) (*http.Response, error) {
	for {
		h, err := t.take(r.Context())
		if err != nil {
			return nil, err
		}
		resp, err := t.exchange(h, r, work)
		if err == nil || r.Context().Err() != nil || !h.old || h.sent && r.Method != http.MethodGet {
			return resp, err
		}
		if r.GetBody != nil {
			again := *r
			if again.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
			r = &again
		}
	}
}

// Conn returns an idle connection or a new one. It belongs to the caller.
func (t *Transport) Conn(ctx context.Context) (net.Conn, error) {
	h, err := t.take(ctx)
	if err != nil {
		return nil, err
	}
	return h.Conn, nil
}

// take returns an idle connection or a new one.
func (t *Transport) take(ctx context.Context) (*conn, error) {
	t.mu.Lock()
	t.closed = false
	for n := len(t.idle); n > 0; n = len(t.idle) {
		h := t.idle[n-1]
		t.idle = t.idle[:n-1]
		if h.idle.Stop() {
			t.mu.Unlock()
			return h, nil
		}
	}
	t.mu.Unlock()
	c, err := t.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return newConn(c), nil
}

// exchange sends a request and reads the head of the reply, which then has the
// connection; after an error it is closed.
func (t *Transport) exchange(h *conn, r *http.Request, work func()) (*http.Response, error) {
	ctx := r.Context()
	stop := context.AfterFunc(ctx, func() { _ = h.SetDeadline(time.Unix(1, 0)) })
	h.sent = false
	err := h.send(r)
	if err == nil && work != nil {
		work()
	}
	var resp *http.Response
	if err == nil || h.sent { // a server that hangs up may have said why
		var readErr error
		if resp, readErr = http.ReadResponse(h.r, r); readErr == nil {
			err = nil
		} else if err == nil {
			err = readErr
		}
	}
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols && stop() {
		resp.Body = upgraded{Reader: h.r, Conn: h.Conn}
		return resp, nil
	}
	if err == nil && ctx.Err() == nil {
		resp.Body = &body{from: resp.Body, t: t, h: h, resp: resp, stop: stop}
		return resp, nil
	}
	stop()
	h.Close()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, err
}

// Keep adds an idle connection that the server may close after d.
func (t *Transport) Keep(c net.Conn, d time.Duration) { t.keep(newConn(c), d) }

func (t *Transport) keep(h *conn, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || len(t.idle) >= t.MaxIdle || h.r.Buffered() > 0 {
		h.Close()
		return
	}
	h.old = true
	t.idle = append(t.idle, h)
	if h.idle == nil {
		h.idle = time.AfterFunc(d, func() { t.drop(h) })
	} else {
		h.idle.Reset(d)
	}
}

// drop closes a connection that was idle for long enough.
func (t *Transport) drop(h *conn) {
	t.mu.Lock()
	t.idle = slices.DeleteFunc(t.idle, func(one *conn) bool { return one == h })
	t.mu.Unlock()
	h.Close()
}

// CloseIdleConnections closes idle connections, and those in use after their
// replies, until the next request.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, h := range t.idle {
		h.idle.Stop()
		h.Close()
	}
	t.idle = nil
}

// body is the body of a reply. One goroutine reads it, any may close it.
type body struct {
	from  io.Reader
	t     *Transport
	h     *conn
	resp  *http.Response
	stop  func() bool // ends the watch of the request's context
	ended atomic.Bool // the connection is no longer the body's
}

// Read ends with the context of the request.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if err == io.EOF {
		b.end(!b.resp.Close)
	} else if ended := context.Cause(b.resp.Request.Context()); err != nil && ended != nil {
		err = ended
	}
	return n, err
}

// Close discards unread bytes; a blocked Read returns.
func (b *body) Close() error {
	b.end(false)
	return nil
}

// end gives the connection back, to be kept if keep is set.
func (b *body) end(keep bool) {
	if b.ended.Swap(true) {
		return
	}
	if b.stop() && keep {
		b.t.keep(b.h, IdleTime)
	} else {
		b.h.Close()
	}
}

// upgraded is a connection whose first bytes may be in a buffer.
type upgraded struct {
	io.Reader
	net.Conn
}

// Read empties the buffer first.
func (u upgraded) Read(p []byte) (int, error) { return u.Reader.Read(p) }

// CloseWrite ends the direction to the server, if the connection can do that.
func (u upgraded) CloseWrite() error {
	if half, ok := u.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
