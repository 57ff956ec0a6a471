package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/mux/api"
)

// Limits of requests.
const (
	maxRequest    = 24 << 20 // bytes of a body: the largest paste in base64
	headerTimeout = 10 * time.Second
	bodyTimeout   = 60 * time.Second
	maxHeader     = 64 << 10
	idleConn      = 5 * time.Minute
	defaultGrace  = 5 * time.Second
)

// apiServer serves /v1 on the socket.
type apiServer struct {
	srv     *server
	http    *http.Server
	conns   sync.WaitGroup // listeners, and connections that net/http serves
	watches watches

	// guarded by server.mu
	listener *net.UnixListener
	sock     socketID // identity of the listener's socket in the file system
}

// features name what this server can do beyond the first version of /v1.
var features = []string{
	"pty", "attach", "nudge", "wait", "peek-many", "events", "upgrade", "queue", "recording", "exec", "activity",
	"resume", "rename", "control",
}

// handler returns the reply to a request, which is sent as JSON.
type handler = func(w http.ResponseWriter, r *http.Request) (any, error)

// newHTTP is the API. Every reply is JSON; an error is {"code","message"}.
func (a *apiServer) newHTTP() *http.Server {
	m := http.NewServeMux()
	handle := func(pattern string, h handler) {
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			a.srv.compactor.trim.Note() // also here: a request may wait for hours
			defer a.srv.compactor.trim.Note()
			serveJSON(w, r, h)
		})
	}
	a.routes(handle)
	a.commandRoutes(handle)
	a.sessionRoutes(handle)
	return &http.Server{
		Handler: named(m), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleConn, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn), ConnContext: withPeer, ConnState: a.countConn,
	}
}

// countConn counts a connection until its last handler returns or hijacks it.
func (a *apiServer) countConn(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		a.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		a.conns.Done()
	}
}

// named answers requests with an empty name or id in their path, which net/http
// would redirect to another path.
func named(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if unnamed(r) {
			writeError(w, fmt.Errorf("%w: the name is empty", api.ErrNotFound))
			return
		}
		h.ServeHTTP(w, r)
	})
}

func unnamed(r *http.Request) bool {
	path := r.URL.EscapedPath()
	return strings.Contains(path, "//") || strings.HasSuffix(path, "/")
}

// routes registers the routes of the server and of many sessions at once.
func (a *apiServer) routes(handle func(string, handler)) {
	handle("GET /v1/status", a.handleStatus)
	handle("POST /v1/shutdown", a.handleShutdown)
	handle("POST /v1/upgrade", a.handleUpgrade)
	handle("GET /v1/sessions", a.handleList)
	handle("POST /v1/sessions", a.handleCreate)
	handle("POST /v1/peek", a.handlePeekMany)
	handle("POST /v1/activity", a.handleActivities)
	handle("POST /v1/alive", a.handleAliveMany)
	handle("GET /v1/events", a.handleEvents)
	handle("POST /v1/queue", a.handleEnqueue)
	handle("GET /v1/queue", a.handleQueue)
	handle("GET /v1/queue/{id}", a.handleQueueItem)
	handle("DELETE /v1/queue/{id}", a.handleDequeue)
}

// hijacked is the result of a handler that wrote the reply itself.
type hijacked struct{}

// serveJSON runs a handler and writes its result. A panic costs one request.
func serveJSON(w http.ResponseWriter, r *http.Request, h handler) {
	defer func() {
		p := recover()
		if p == http.ErrAbortHandler {
			panic(p)
		}
		if p != nil {
			slog.Error("a handler panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			writeError(w, errors.New("internal error; see the server's log"))
		}
	}()
	if r.ContentLength > maxRequest { // do not wait for it
		w.Header().Set("Connection", "close")
		writeError(w, &http.MaxBytesError{Limit: maxRequest})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	out, err := h(w, r)
	if err != nil {
		if r.Context().Err() != nil {
			panic(http.ErrAbortHandler) // an empty reply would say 200
		}
		writeError(w, err)
		return
	}
	if _, ok := out.(hijacked); ok {
		return
	}
	if out == nil {
		out = struct{}{}
	}
	b, err := json.Marshal(out)
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b)
}

func writeError(w http.ResponseWriter, err error) {
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		err = fmt.Errorf("%w: more than %d bytes", api.ErrTooLarge, big.Limit)
	}
	e := api.Remote(err)
	b, _ := json.Marshal(e)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(b)
}

// readJSON decodes a request's body, which must arrive within bodyTimeout; an empty
// one leaves out as it is. Unknown fields are ignored: clients may be newer.
func readJSON(w http.ResponseWriter, r *http.Request, out any) error {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTimeout))
	b, err := io.ReadAll(r.Body)
	_ = c.SetReadDeadline(time.Time{})
	if err == nil && len(b) > 0 {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrRequest, err)
	}
	return nil
}

func boolQuery(r *http.Request, key string) bool {
	v, _ := strconv.ParseBool(r.URL.Query().Get(key))
	return v
}
