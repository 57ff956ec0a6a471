package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"github.com/coder/websocket"
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
	"resume", "rename",
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

// sessionRoutes registers the routes of one session.
func (a *apiServer) sessionRoutes(handle func(string, handler)) {
	session := func(pattern string, h func(s *session, w http.ResponseWriter, r *http.Request) (any, error)) {
		handle(pattern, func(w http.ResponseWriter, r *http.Request) (any, error) {
			s, err := a.srv.sessions.find(r.PathValue("name"))
			if err != nil {
				return nil, err
			}
			return h(s, w, r)
		})
	}
	session("GET /v1/sessions/{name}", handleGet)
	session("DELETE /v1/sessions/{name}", a.handleKill)
	session("POST /v1/sessions/{name}/interrupt", handleInterrupt)
	session("POST /v1/sessions/{name}/signal", handleSignal)
	session("POST /v1/sessions/{name}/resize", handleResize)
	session("POST /v1/sessions/{name}/rename", a.handleRename)
	session("POST /v1/sessions/{name}/peek", handlePeek)
	session("POST /v1/sessions/{name}/keys", handleKeys)
	session("POST /v1/sessions/{name}/paste", handlePaste)
	session("POST /v1/sessions/{name}/nudge", handleNudge)
	session("POST /v1/sessions/{name}/wait", handleWait)
	session("GET /v1/sessions/{name}/activity", handleActivity)
	session("POST /v1/sessions/{name}/respond", handleRespond)
	session("POST /v1/sessions/{name}/seen", handleSeen)
	session("POST /v1/sessions/{name}/clear", handleClear)
	session("GET /v1/sessions/{name}/meta", a.handleMetaGet)
	session("PUT /v1/sessions/{name}/meta", a.handleMetaSet)
	session("DELETE /v1/sessions/{name}/meta", a.handleMetaRemove)
	session("GET /v1/sessions/{name}/processes", handleProcesses)
	session("POST /v1/sessions/{name}/alive", handleAlive)
	session("GET /v1/sessions/{name}/attach", handleAttach)
	session("GET /v1/sessions/{name}/recording", handleRecording)
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

func (a *apiServer) handleList(_ http.ResponseWriter, r *http.Request) (any, error) {
	return map[string][]api.SessionInfo{"sessions": a.srv.sessions.list(r.URL.Query().Get("prefix"), boolQuery(r, "all"))}, nil
}

func (a *apiServer) handleCreate(w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.CreateRequest
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	s, err := a.srv.create(in, nil)
	if err != nil {
		return nil, err
	}
	return s.info(), nil
}

func handleGet(s *session, _ http.ResponseWriter, _ *http.Request) (any, error) {
	return s.info(), nil
}

func (a *apiServer) handleKill(s *session, _ http.ResponseWriter, r *http.Request) (any, error) {
	grace := defaultGrace
	if v := r.URL.Query().Get("grace"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			return nil, fmt.Errorf("%w: grace: %w", api.ErrRequest, err)
		}
		grace = d
	}
	ctx, done := a.srv.untilDone(r.Context())
	defer done()
	return nil, a.srv.reaper.kill(ctx, s, grace)
}

func handleInterrupt(s *session, _ http.ResponseWriter, _ *http.Request) (any, error) {
	return nil, s.input.interrupt()
}

func handleSignal(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Signal string `json:"signal"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, s.tty.signal(in.Signal)
}

func handleResize(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.Size
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, s.clients.configure(in.Cols, in.Rows)
}

func handleKeys(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.KeysRequest
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, s.input.keys(r.Context(), in)
}

func handlePaste(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Data []byte `json:"data"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	if len(in.Data) > maxPaste {
		return nil, fmt.Errorf("%w: a paste of %d bytes, at most %d", api.ErrTooLarge, len(in.Data), maxPaste)
	}
	return nil, s.input.paste(r.Context(), in.Data)
}

func handleNudge(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.NudgeRequest
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	return s.nudges.once(r.Context(), in)
}

func handleWait(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.WaitRequest
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	return s.waitFor(r.Context(), in)
}

func handleClear(s *session, _ http.ResponseWriter, _ *http.Request) (any, error) {
	s.screen.clearHistory()
	return nil, nil
}

func (a *apiServer) handleMetaGet(s *session, _ http.ResponseWriter, r *http.Request) (any, error) {
	if !r.URL.Query().Has("key") {
		m, err := a.srv.meta.all(s.rec.ID)
		return map[string]map[string][]byte{"meta": m}, err
	}
	v, err := a.srv.meta.get(s.rec.ID, r.URL.Query().Get("key"))
	return map[string][]byte{"value": v}, err
}

func (a *apiServer) handleMetaSet(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Value []byte `json:"value"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, a.srv.meta.put(s.rec.ID, map[string]string{r.URL.Query().Get("key"): string(in.Value)})
}

func (a *apiServer) handleMetaRemove(s *session, _ http.ResponseWriter, r *http.Request) (any, error) {
	return nil, a.srv.meta.remove(s.rec.ID, r.URL.Query().Get("key"))
}

func handleRecording(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	format := r.URL.Query().Get("format")
	if format != "" && format != api.RecordingASCIICast && format != api.RecordingRaw {
		return nil, fmt.Errorf("%w: format %q (%s, %s)", api.ErrRequest, format, api.RecordingASCIICast, api.RecordingRaw)
	}
	f, err := s.storage.readRecording()
	if err != nil {
		return nil, err
	}
	f.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	if err := s.storage.export(w, format); err != nil {
		slog.Warn("cannot send a recording", "session", s.rec.ID, "error", err)
		panic(http.ErrAbortHandler) // the client must not take half of it for the whole
	}
	return hijacked{}, nil
}

func handleAttach(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	q := r.URL.Query()
	cols, _ := strconv.Atoi(q.Get("cols"))
	rows, _ := strconv.Atoi(q.Get("rows"))
	if cols != 0 || rows != 0 {
		if err := checkSize(cols, rows); err != nil {
			return nil, err
		}
	}
	if boolQuery(r, "running") && !s.life.running() {
		return nil, fmt.Errorf("%s: %w", s.name(), api.ErrExited)
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return nil, fmt.Errorf("%w: attach requires a WebSocket", api.ErrRequest)
	}
	c := newAttachClient(s, cols, rows)
	c.readOnly, c.alone = boolQuery(r, "readonly"), boolQuery(r, "alone")
	c.out.scrollback, c.out.back = boolQuery(r, "scrollback"), placeOf(r)
	inside := s.srv.sessions.aroundAny(throughOf(r))
	if err := s.srv.nesting.enter(c, inside); err != nil {
		return nil, err
	}
	defer s.srv.nesting.leave(c)
	if len(inside) == 0 {
		s.srv.nesting.mark(c)
	}
	var t *journal.Typist
	if id := typedID(r); id != 0 {
		var err error
		if t, err = s.input.typistOf(r.Context(), id); err != nil {
			return nil, err
		}
		defer s.input.dropTypist(t)
		if t.Known || !boolQuery(r, "back") {
			tellTyped(t, w.Header())
		}
	}
	w.Header().Set(api.SessionHeader, s.rec.ID) // saves the client a request
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // no browser reaches this socket; its peer's uid was checked
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return hijacked{}, nil // Accept has answered
	}
	c.ws = ws
	if t != nil {
		t.Done = t.Next // the reply's header reports what may be lost
		c.in.typist, c.in.taken, c.in.acked = t, t.Done, t.Done
	}
	s.clients.serve(r.Context(), c)
	return hijacked{}, nil
}

// throughOf returns the processes that show the client's terminal: those that it
// names, or itself.
func throughOf(r *http.Request) []int {
	var pids []int
	for field := range strings.SplitSeq(r.URL.Query().Get("through"), ",") {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 && len(pids) < maxThrough {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		pid, _ := r.Context().Value(peerKey{}).(int)
		pids = []int{pid}
	}
	return pids
}

// maxThrough bounds how many processes are examined for one client.
const maxThrough = 32

// placeOf returns where a returning client left off; nil for a new one. A client that
// needs a paint gets an offset that no output has.
func placeOf(r *http.Request) *place {
	if !boolQuery(r, "back") {
		return nil
	}
	q := r.URL.Query()
	offset, err := strconv.ParseUint(q.Get("offset"), 10, 64)
	skip, serr := strconv.ParseUint(q.Get("skip"), 10, 64)
	if err != nil || serr != nil {
		return &place{offset: math.MaxUint64}
	}
	return &place{offset, skip}
}
