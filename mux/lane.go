package mux

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
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
// session does.
var quickRoutes = []string{
	"GET /v1/status", "GET /v1/sessions", "POST /v1/sessions",
	"POST /v1/peek", "POST /v1/activity", "POST /v1/alive",
	"GET /v1/sessions/{name}", "POST /v1/sessions/{name}/peek", "POST /v1/sessions/{name}/alive",
	"GET /v1/sessions/{name}/meta",
}

// quickSize bounds a quick request, in bytes with its head.
const quickSize = 64 << 10

// lanes serve connections as long as every request is quick and comes whole:
// on the goroutine that reads it. net/http begins another goroutine for each
// request, which watches whether the client hangs up; to start it, with the
// thread that this wakes, takes as long as all else of a peek. With the first
// request of another kind, or in any form that is not the plain one, the
// connection is net/http's for good.
type lanes struct {
	mux *http.ServeMux

	mu   sync.Mutex
	open map[*lane]struct{}
	shut bool
	work sync.WaitGroup
}

func newLanes(m *http.ServeMux) *lanes { return &lanes{mux: m, open: make(map[*lane]struct{})} }

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

// close ends every lane, once net/http has ended: at once one that waits, others
// with their answer, or after the time if their clients do not take it.
func (ls *lanes) close(after time.Duration) {
	ls.mu.Lock()
	ls.shut = true
	for l := range ls.open {
		_ = l.conn.SetReadDeadline(time.Unix(1, 0))
		_ = l.conn.SetWriteDeadline(time.Now().Add(after))
	}
	ls.mu.Unlock()
	ls.work.Wait()
}

// lane is one connection.
type lane struct {
	lanes *lanes
	conn  net.Conn
	raw   syscall.RawConn
	until time.Time // when it is hung up on if nothing comes
}

// quickBuffers are *[quickSize]byte. A connection that waits has none.
var quickBuffers = sync.Pool{New: func() any { return new([quickSize]byte) }}

// serve answers until the connection ends, or returns what net/http is to begin
// with.
func (l *lane) serve() (rest []byte) {
	l.stay(headerTimeout)
	for {
		buf := quickBuffers.Get().(*[quickSize]byte)
		n, err := l.read(buf)
		if n == 0 || err != nil {
			quickBuffers.Put(buf)
			return nil
		}
		if !l.answer(buf[:n]) {
			rest = slices.Clone(buf[:n])
			quickBuffers.Put(buf)
			_ = l.conn.SetReadDeadline(time.Time{})
			return rest
		}
		quickBuffers.Put(buf)
		if time.Until(l.until) < idleConn-time.Minute { // a deadline is not free
			l.stay(idleConn)
		}
	}
}

// stay lets the connection wait for d.
func (l *lane) stay(d time.Duration) {
	l.lanes.mu.Lock()
	defer l.lanes.mu.Unlock()
	if !l.lanes.shut {
		l.until = time.Now().Add(d)
		_ = l.conn.SetReadDeadline(l.until)
	}
}

// read waits for a request and returns what came of it.
func (l *lane) read(buf *[quickSize]byte) (n int, err error) {
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

// answer answers a request; false: net/http is to.
func (l *lane) answer(p []byte) bool {
	head, body, whole := bytes.Cut(p, []byte("\r\n\r\n"))
	if !whole {
		return false
	}
	r := requests.Get().(*bufio.Reader)
	defer requests.Put(r)
	r.Reset(bytes.NewReader(p))
	req, err := http.ReadRequest(r)
	if err != nil || req.Close || req.ProtoMinor != 1 || req.ContentLength != int64(len(body)) || len(head) > maxHeader {
		return false
	}
	for key := range req.Header {
		if !slices.Contains(plainFields, key) {
			return false
		}
	}
	if _, pattern := l.lanes.mux.Handler(req); !slices.Contains(quickRoutes, pattern) {
		return false
	}
	l.lanes.mux.ServeHTTP(&laneReply{conn: l.conn, head: make(http.Header)}, req)
	return true
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
}

// Header implements http.ResponseWriter.
func (w *laneReply) Header() http.Header { return w.head }

// WriteHeader implements http.ResponseWriter.
func (w *laneReply) WriteHeader(status int) { w.status = status }

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
	if _, err := parts.WriteTo(w.conn); err != nil {
		w.conn.Close() // half a reply must not be followed by another
		return 0, err
	}
	return len(p), nil
}

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
