package mux

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Connections of a client that are kept at rest. The server hangs up on who says
// nothing for idleConn, on new ones after headerTimeout.
const (
	heldMost  = 8
	heldTime  = time.Minute
	firstTime = headerTimeout / 2

	heldBuffer = 16 << 10 // a request that fits goes out at once
)

// transport makes requests over connections that are kept alive, on the
// goroutine of who asks. That of net/http has two goroutines for each
// connection, to which a request is handed and from which the reply comes back:
// a third of what a peek takes. It is safe for concurrent use.
type transport struct {
	dial func(ctx context.Context) (net.Conn, error)
	most int // connections at rest

	mu   sync.Mutex
	rest []*held // the newest last
	shut bool    // none is kept until the next request
}

// held is a connection of a transport. It carries one request after the other.
type held struct {
	net.Conn
	r    *bufio.Reader
	w    *bufio.Writer
	sent bool        // something of the request
	old  bool        // the server may have closed it since it was last of use
	rest *time.Timer // ends its rest
}

func newHeld(conn net.Conn) *held {
	h := &held{Conn: conn, r: bufio.NewReader(conn)}
	h.w = bufio.NewWriterSize(h, heldBuffer)
	return h
}

// Write notes that something was sent.
func (h *held) Write(p []byte) (int, error) {
	n, err := h.Conn.Write(p)
	h.sent = h.sent || n > 0
	return n, err
}

// RoundTrip implements http.RoundTripper. The body of a 101 is the connection.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.do(r, nil) }

// upgrader is a transport for a request that something is done beside.
type upgrader struct {
	*transport
	meanwhile func() // is called while the server answers; may be nil
}

// RoundTrip implements http.RoundTripper.
func (u upgrader) RoundTrip(r *http.Request) (*http.Response, error) {
	if u.meanwhile == nil {
		return u.do(r, nil)
	}
	return u.do(r, sync.OnceFunc(u.meanwhile)) // also of a request that is made again
}

// do makes a request. A connection that ended while it was at rest is noticed
// here only: another one is taken when nothing of the request was sent, or when
// it may be made twice.
func (t *transport) do(r *http.Request, meanwhile func()) (*http.Response, error) {
	for {
		h, err := t.take(r.Context())
		if err != nil {
			return nil, err
		}
		resp, err := t.exchange(h, r, meanwhile)
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

// take returns a connection that is at rest, or a new one.
func (t *transport) take(ctx context.Context) (*held, error) {
	t.mu.Lock()
	t.shut = false
	for n := len(t.rest); n > 0; n = len(t.rest) {
		h := t.rest[n-1]
		t.rest = t.rest[:n-1]
		if h.rest.Stop() {
			t.mu.Unlock()
			return h, nil
		}
	}
	t.mu.Unlock()
	conn, err := t.dial(ctx)
	if err != nil {
		return nil, err
	}
	return newHeld(conn), nil
}

// exchange sends a request and reads the head of the reply. The connection is
// the reply's then; after an error it is closed.
func (t *transport) exchange(h *held, r *http.Request, meanwhile func()) (*http.Response, error) {
	ctx := r.Context()
	stop := context.AfterFunc(ctx, func() { _ = h.SetDeadline(time.Unix(1, 0)) })
	h.sent = false
	err := r.Write(h.w)
	if err == nil {
		err = h.w.Flush()
	}
	if err == nil && meanwhile != nil {
		meanwhile()
	}
	var resp *http.Response
	if err == nil || h.sent { // a server that hangs up may have said why
		var none error
		if resp, none = http.ReadResponse(h.r, r); none == nil {
			err = nil
		} else if err == nil {
			err = none
		}
	}
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols && stop() {
		resp.Body = upgraded{Reader: h.r, Conn: h.Conn}
		return resp, nil
	}
	if err == nil && ctx.Err() == nil {
		resp.Body = &reply{body: resp.Body, t: t, h: h, resp: resp, stop: stop}
		return resp, nil
	}
	stop()
	h.Close()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, err
}

// put keeps a connection that has nothing to do for a time.
func (t *transport) put(h *held, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shut || len(t.rest) >= t.most || h.r.Buffered() > 0 {
		h.Close()
		return
	}
	t.rest = append(t.rest, h)
	if h.rest == nil {
		h.rest = time.AfterFunc(d, func() { t.drop(h) })
	} else {
		h.rest.Reset(d)
	}
}

// drop closes a connection that has rested long enough.
func (t *transport) drop(h *held) {
	t.mu.Lock()
	t.rest = slices.DeleteFunc(t.rest, func(one *held) bool { return one == h })
	t.mu.Unlock()
	h.Close()
}

// close closes the connections at rest, and those in use after their replies,
// until there is another request.
func (t *transport) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shut = true
	for _, h := range t.rest {
		h.rest.Stop()
		h.Close()
	}
	t.rest = nil
}

// reply is the body of a reply. One goroutine reads it, any may close it.
type reply struct {
	body io.Reader
	t    *transport
	h    *held
	resp *http.Response
	stop func() bool // watching the request's context
	over atomic.Bool // the connection is not the reply's any more
}

// Read ends with the context of the request.
func (b *reply) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if err == io.EOF {
		b.end(!b.resp.Close)
	} else if ended := context.Cause(b.resp.Request.Context()); err != nil && ended != nil {
		err = ended
	}
	return n, err
}

// Close gives up what was not read; a Read that waits returns.
func (b *reply) Close() error {
	b.end(false)
	return nil
}

// end gives the connection back, to be kept when it may be.
func (b *reply) end(keep bool) {
	if b.over.Swap(true) {
		return
	}
	if b.stop() && keep {
		b.h.old = true
		b.t.put(b.h, heldTime)
	} else {
		b.h.Close()
	}
}

// upgraded is a connection whose first bytes may be in a buffer.
type upgraded struct {
	io.Reader
	net.Conn
}

// Read takes what is in the buffer first.
func (u upgraded) Read(p []byte) (int, error) { return u.Reader.Read(p) }
