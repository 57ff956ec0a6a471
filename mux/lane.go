package mux

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// quickRoutes are those whose requests are answered at once, whatever the
// session does: nobody watches their clients.
var quickRoutes = []string{
	"GET /v1/status", "GET /v1/sessions", "POST /v1/sessions",
	"POST /v1/peek", "POST /v1/activity", "POST /v1/alive",
	"GET /v1/sessions/{name}", "POST /v1/sessions/{name}/peek", "POST /v1/sessions/{name}/alive",
	"GET /v1/sessions/{name}/meta",
}

// otherRoutes are those that are not answered with one JSON value, or that end
// the server.
var otherRoutes = []string{
	"POST /v1/shutdown", "POST /v1/upgrade", "GET /v1/events", "POST /v1/exec",
	"POST /v1/processes/{id}/follow", "GET /v1/sessions/{name}/attach", "GET /v1/sessions/{name}/recording",
}

// laneSize bounds a request, in bytes with its head.
const laneSize = 64 << 10

// lane is one connection.
type lane struct {
	lanes *lanes
	conn  net.Conn
	raw   syscall.RawConn
	until time.Time // when it is hung up on if nothing comes
}

// laneBuffers are *[laneSize]byte. A connection that waits has none.
var laneBuffers = sync.Pool{New: func() any { return new([laneSize]byte) }}

// serve answers until the connection ends, or returns what net/http is to begin
// with.
func (l *lane) serve() (rest []byte) {
	l.stay(headerTimeout)
	for {
		buf := laneBuffers.Get().(*[laneSize]byte)
		n, err := l.read(buf)
		var req *http.Request
		var pattern string
		if n > 0 && err == nil {
			if req, pattern = l.request(buf[:n]); req == nil {
				rest = slices.Clone(buf[:n])
			}
		}
		laneBuffers.Put(buf)
		if req == nil {
			_ = l.conn.SetReadDeadline(time.Time{})
			return rest
		}
		if !l.answer(req, pattern) {
			return nil
		}
		if time.Until(l.until) < idleConn-time.Minute { // a deadline is not free
			l.stay(idleConn)
		}
	}
}

// stay lets the connection wait for d, or for ever if that is 0.
func (l *lane) stay(d time.Duration) {
	l.lanes.mu.Lock()
	defer l.lanes.mu.Unlock()
	l.until = time.Now().Add(d)
	if d == 0 {
		_ = l.conn.SetReadDeadline(time.Time{})
	} else if !l.lanes.shut {
		_ = l.conn.SetReadDeadline(l.until)
	} else {
		_ = l.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// read waits for a request and returns what came of it.
func (l *lane) read(buf *[laneSize]byte) (n int, err error) {
	rawErr := l.raw.Read(func(fd uintptr) bool {
		for {
			n, err = unix.Read(int(fd), buf[:])
			if err != unix.EINTR {
				return err != unix.EAGAIN
			}
		}
	})
	return max(n, 0), errors.Join(err, rawErr)
}

// requests are *bufio.Reader.
var requests = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

// request reads a request that is for a lane, and its pattern; nil: it is for
// net/http.
func (l *lane) request(p []byte) (*http.Request, string) {
	_, body, whole := bytes.Cut(p, []byte("\r\n\r\n"))
	if !whole {
		return nil, ""
	}
	r := requests.Get().(*bufio.Reader)
	defer requests.Put(r)
	r.Reset(bytes.NewReader(p))
	req, err := http.ReadRequest(r)
	if err != nil || req.Close || req.ProtoMinor != 1 || req.ContentLength != int64(len(body)) ||
		req.Method == http.MethodHead || req.Host == "" { // no body; an error (RFC 9110, 9.3.2; RFC 9112, 3.2)
		return nil, ""
	}
	for key := range req.Header {
		if !slices.Contains(plainFields, key) {
			return nil, ""
		}
	}
	_, pattern := l.lanes.mux.Handler(req)
	if pattern == "" || slices.Contains(otherRoutes, pattern) {
		return nil, ""
	}
	req.Body = io.NopCloser(bytes.NewReader(slices.Clone(body)))
	return req, pattern
}

// answer answers a request; false: the connection is of no use any more.
func (l *lane) answer(req *http.Request, pattern string) bool {
	w := &laneReply{conn: l.conn, head: make(http.Header)}
	if slices.Contains(quickRoutes, pattern) {
		named(l.lanes.mux).ServeHTTP(w, req)
		return w.end()
	}
	ctx, cancel := context.WithCancel(l.lanes.ctx)
	defer cancel()
	unwatch := l.watch(cancel)
	defer unwatch()
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { // that one gives no answer
			panic(p)
		}
	}()
	named(l.lanes.mux).ServeHTTP(w, req.WithContext(ctx))
	return w.end()
}

// watch calls gone when the client hangs up before the next request.
func (l *lane) watch(gone func()) (stop func()) {
	l.stay(0)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = l.raw.Read(func(fd uintptr) bool {
			var one [1]byte
			n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
			if err == unix.EAGAIN {
				return false
			}
			if n <= 0 {
				gone()
			}
			return true
		})
	}()
	return func() {
		_ = l.conn.SetReadDeadline(time.Unix(1, 0))
		<-over
		l.stay(idleConn)
	}
}

// plainFields are the ones of a plain request; others may ask for more than an
// answer.
var plainFields = []string{"Accept", "Accept-Encoding", "Content-Length", "Content-Type", "User-Agent"}

// laneReply is a reply that its handler writes at once.
type laneReply struct {
	conn   net.Conn
	head   http.Header
	status int
	sent   bool
	err    error
}

// Header implements http.ResponseWriter.
func (w *laneReply) Header() http.Header { return w.head }

// WriteHeader implements http.ResponseWriter.
func (w *laneReply) WriteHeader(status int) { w.status = status }

// end sends a reply of which its handler wrote no body, as a redirection's;
// false: the client did not take it.
func (w *laneReply) end() bool {
	if !w.sent {
		_, _ = w.Write(nil)
	}
	return w.err == nil
}

// Write sends the whole reply.
func (w *laneReply) Write(p []byte) (int, error) {
	if w.sent {
		return 0, fmt.Errorf("mux: a second part of a reply of one")
	}
	w.sent = true
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.head.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	w.head.Set("Content-Length", strconv.Itoa(len(p)))
	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", w.status, http.StatusText(w.status))
	_ = w.head.Write(&head) // a buffer takes all
	head.WriteString("\r\n")
	parts := net.Buffers{head.Bytes(), p}
	if _, w.err = parts.WriteTo(w.conn); w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}
