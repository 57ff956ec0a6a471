package attach

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

// fakeServer speaks the client's side of /v1 on a real socket: one session, and
// attach connections that the test drives.
type fakeServer struct {
	t        *testing.T
	socket   string
	attached chan *fakeConn
	over     chan struct{} // closed when the test has ended

	mu   sync.Mutex
	info api.SessionInfo
	err  *api.RemoteError // of every request, when set
	http *http.Server
	dead chan struct{}
}

// fakeConn is the server's end of one attach connection.
type fakeConn struct {
	t     *testing.T
	ws    *websocket.Conn
	query url.Values
	path  string
	done  chan struct{} // closed to end the connection
	ended chan struct{} // closed when it has ended
}

func newFakeServer(t *testing.T) *fakeServer {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	s := &fakeServer{
		t: t, socket: filepath.Join(t.TempDir(), "mux.sock"), attached: make(chan *fakeConn, 16), over: make(chan struct{}),
		info: api.SessionInfo{ID: "id-1", Name: "demo", State: api.StateRunning},
	}
	s.listen()
	t.Cleanup(func() {
		close(s.over) // for a client that reconnected and was not waited for
		s.stop()
	})
	return s
}

// client returns a real client of the server.
func (s *fakeServer) client() *client.Client {
	c := client.NewClient(func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.socket)
	})
	s.t.Cleanup(func() { c.Close() })
	return c
}

func (s *fakeServer) listen() {
	l, err := net.Listen("unix", s.socket)
	if err != nil {
		s.t.Fatal(err)
	}
	m := http.NewServeMux()
	m.HandleFunc("GET /v1/sessions/{name}", s.get)
	m.HandleFunc("GET /v1/sessions/{name}/attach", s.attach)
	srv, dead := &http.Server{Handler: m}, make(chan struct{})
	s.mu.Lock()
	s.http, s.dead = srv, dead
	s.mu.Unlock()
	go func() { defer close(dead); srv.Serve(l) }()
}

// stop ends the server; attach connections stay.
func (s *fakeServer) stop() {
	s.mu.Lock()
	srv, dead := s.http, s.dead
	s.mu.Unlock()
	srv.Close()
	<-dead
}

// set changes the session's info.
func (s *fakeServer) set(change func(*api.SessionInfo)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.info)
}

// fail makes every request fail.
func (s *fakeServer) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = api.Remote(err)
}

func (s *fakeServer) reply(w http.ResponseWriter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return false
	}
	w.WriteHeader(s.err.Status)
	json.NewEncoder(w).Encode(s.err)
	return true
}

func (s *fakeServer) get(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("name") == "gone" {
		s.fail(api.ErrNotFound)
	}
	s.mu.Lock()
	info, failed := s.info, s.err != nil && info404(r)
	s.mu.Unlock()
	if failed && s.reply(w) {
		return
	}
	json.NewEncoder(w).Encode(info)
}

// info404 reports whether a request for the session's state fails, too: by id it
// succeeds, as an ended session is kept.
func info404(r *http.Request) bool { return r.PathValue("name") != "id-1" }

func (s *fakeServer) attach(w http.ResponseWriter, r *http.Request) {
	if s.reply(w) {
		return
	}
	w.Header().Set(api.SessionHeader, s.info.ID)
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	ws.SetReadLimit(-1)
	c := &fakeConn{t: s.t, ws: ws, query: r.URL.Query(), path: r.PathValue("name"), done: make(chan struct{}), ended: make(chan struct{})}
	s.attached <- c
	select {
	case <-c.done:
	case <-s.over:
	}
	ws.CloseNow()
	close(c.ended)
}

// next returns the next attach connection.
func (s *fakeServer) next() *fakeConn {
	s.t.Helper()
	select {
	case c := <-s.attached:
		s.t.Cleanup(c.drop)
		return c
	case <-time.After(persontest.Patience):
		s.t.Fatal("no client attached")
		return nil
	}
}

func (c *fakeConn) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), persontest.Patience)
}

// drop breaks the connection without a close frame.
func (c *fakeConn) drop() {
	select {
	case <-c.done:
	default:
		close(c.done)
	}
	<-c.ended
}

// paint sends a repaint, and raw output after it.
func (c *fakeConn) paint(screen string) {
	c.t.Helper()
	c.control(api.AttachControl{Type: "paint", Offset: 7})
	c.raw(screen)
}

func (c *fakeConn) raw(p string) {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	if err := c.ws.Write(ctx, websocket.MessageBinary, []byte(p)); err != nil {
		c.t.Error(err)
	}
}

func (c *fakeConn) control(m any) {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	b, err := json.Marshal(m)
	if err == nil {
		err = c.ws.Write(ctx, websocket.MessageText, b)
	}
	if err != nil {
		c.t.Error(err)
	}
}

// end closes the connection with a close frame.
func (c *fakeConn) end(status websocket.StatusCode) {
	c.ws.Close(status, "")
	c.drop()
}

// input returns the next n bytes of input.
func (c *fakeConn) input(n int) string {
	c.t.Helper()
	var got []byte
	for len(got) < n {
		kind, p := c.read()
		if kind == websocket.MessageBinary {
			got = append(got, p...)
		}
	}
	return string(got)
}

// resize reads until the client sends its size.
func (c *fakeConn) resize() api.AttachControl {
	c.t.Helper()
	for {
		kind, p := c.read()
		if kind != websocket.MessageText {
			c.t.Fatalf("input %q came before a size", p)
		}
		var m api.AttachControl
		if err := json.Unmarshal(p, &m); err != nil {
			c.t.Fatal(err)
		}
		if m.Type == "resize" {
			return m
		}
	}
}

func (c *fakeConn) read() (websocket.MessageType, []byte) {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	kind, p, err := c.ws.Read(ctx)
	if err != nil {
		c.t.Fatalf("read from the client: %v", err)
	}
	return kind, p
}

// rest reads until the client is gone and returns its input. It answers a
// detach as a server does.
func (c *fakeConn) rest() string {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	var got []byte
	for {
		kind, p, err := c.ws.Read(ctx)
		if err != nil {
			if ctx.Err() != nil {
				c.t.Error("the client stays")
			}
			return string(got)
		}
		if kind == websocket.MessageBinary {
			got = append(got, p...)
			continue
		}
		var m api.AttachControl
		if json.Unmarshal(p, &m) == nil && m.Type == "detach" {
			c.ws.Close(websocket.StatusNormalClosure, "detached")
			return string(got)
		}
	}
}
