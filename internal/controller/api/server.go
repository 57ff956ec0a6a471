package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"gascity.dev/gc/internal/mail"
	"gascity.dev/gc/internal/session"
)

// City is the controller behind the socket. Its methods are called from many
// goroutines and return when ctx ends, unless they say otherwise.
type City interface {
	Status(ctx context.Context) (Status, error)
	// Hosting returns what hosts the sessions, without asking them.
	Hosting(ctx context.Context) (Hosting, error)
	// Stop ends every agent and the controller, and returns when they are gone,
	// whatever happens to ctx.
	Stop(ctx context.Context, r StopRequest) error
	Restart(ctx context.Context, agents []string) error
	StopAgents(ctx context.Context, agents []string) error
	// SetSuspended without names is about the whole city.
	SetSuspended(ctx context.Context, agents []string, on bool) error
	SetRigsSuspended(ctx context.Context, rigs []string, on bool) error
	SetDrained(ctx context.Context, agents []string, on bool) error
	DrainSelf(ctx context.Context, r InsideRequest) error
	AckDrain(ctx context.Context, r InsideRequest) error
	RequestRestart(ctx context.Context, r InsideRequest) error
	CarryConversation(ctx context.Context, r CarriedConversation) error
	Poke(ctx context.Context) error
	Reload(ctx context.Context) error

	Queue(ctx context.Context, r QueueRequest) (session.Nudge, error)
	Nudges(ctx context.Context) ([]session.Nudge, error)
	DropNudge(ctx context.Context, id string) error
	StoreWait(ctx context.Context, r WaitRequest) (session.Wait, error)
	Waits(ctx context.Context) ([]session.Wait, error)
	DropWait(ctx context.Context, id string) error
	Post

	// Attention returns what needs somebody, oldest first.
	Attention(ctx context.Context) ([]Attention, error)

	// HostStream returns what serves a connection with the machine of that name, until
	// the connection ends, and closes it; nil if the controller holds no stream to it.
	HostStream(host string) func(ctx context.Context, rw io.ReadWriteCloser) error

	// Events returns the kept events after seq, oldest first.
	Events(after uint64) ([]Event, error)
	// Feed publishes the events that follow.
	Feed() *Feed
}

// Server serves a city's socket.
type Server struct {
	city City
	http *http.Server
	done chan struct{}
}

// bodyLimit bounds the body of a request, in bytes.
const bodyLimit = 8 << 20

// Serve listens on the socket of the city in dir, whose lock the caller holds.
func Serve(dir string, city City) (*Server, error) { return ServeFleet(dir, city, nil) }

// ServeFleet is Serve with a handler of the paths below /v1/city; nil for none.
func ServeFleet(dir string, city City, fleet http.Handler) (*Server, error) {
	ln, err := listenUnix(SocketPath(dir))
	if err != nil {
		return nil, StateDirError(dir, err)
	}
	s := &Server{city: city, done: make(chan struct{})}
	routes := s.routes()
	if fleet != nil {
		routes.Handle("/v1/city/", fleet)
	}
	s.http = &http.Server{
		Handler: routes, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), ConnContext: withPeer,
	}
	go s.accept(ln)
	return s, nil
}

func (s *Server) accept(ln net.Listener) {
	defer close(s.done)
	_ = s.http.Serve(ln) // returns after Close
}

// Close removes the socket and waits for replies in flight, 2 s at most.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.http.Close()
	}
	<-s.done
}

func (s *Server) routes() *http.ServeMux {
	c, mux := s.city, http.NewServeMux()
	mux.HandleFunc("GET /v1/status", query(func(r *http.Request) (Status, error) { return c.Status(r.Context()) }))
	mux.HandleFunc("GET /v1/hosting", query(func(r *http.Request) (Hosting, error) { return c.Hosting(r.Context()) }))
	mux.HandleFunc("GET /v1/attention", query(func(r *http.Request) ([]Attention, error) { return c.Attention(r.Context()) }))
	mux.HandleFunc("POST /v1/stop", command(func(ctx context.Context, b StopRequest) error { return c.Stop(context.WithoutCancel(ctx), b) }))
	mux.HandleFunc("POST /v1/poke", query(func(r *http.Request) (struct{}, error) { return struct{}{}, c.Poke(r.Context()) }))
	mux.HandleFunc("POST /v1/reload", query(func(r *http.Request) (struct{}, error) { return struct{}{}, c.Reload(r.Context()) }))
	mux.HandleFunc("GET /v1/events", s.events)
	mux.HandleFunc("POST /v1/hosts/stream", s.stream)

	mux.HandleFunc("POST /v1/restart", named(c.Restart))
	mux.HandleFunc("POST /v1/agents/stop", named(c.StopAgents))
	mux.HandleFunc("POST /v1/agents/suspend", switched(c.SetSuspended, true))
	mux.HandleFunc("POST /v1/agents/resume", switched(c.SetSuspended, false))
	mux.HandleFunc("POST /v1/rigs/suspend", switched(c.SetRigsSuspended, true))
	mux.HandleFunc("POST /v1/rigs/resume", switched(c.SetRigsSuspended, false))
	mux.HandleFunc("POST /v1/agents/drain", switched(c.SetDrained, true))
	mux.HandleFunc("POST /v1/agents/undrain", switched(c.SetDrained, false))
	mux.HandleFunc("POST /v1/agents/conversation", command(c.CarryConversation))

	mux.HandleFunc("POST /v1/inside/drain", command(c.DrainSelf))
	mux.HandleFunc("POST /v1/inside/drain-ack", command(c.AckDrain))
	mux.HandleFunc("POST /v1/inside/request-restart", command(c.RequestRestart))

	s.mailRoutes(mux)
	mux.HandleFunc("GET /v1/nudges", query(func(r *http.Request) ([]session.Nudge, error) { return c.Nudges(r.Context()) }))
	mux.HandleFunc("POST /v1/nudges", create(c.Queue))
	mux.HandleFunc("GET /v1/waits", query(func(r *http.Request) ([]session.Wait, error) { return c.Waits(r.Context()) }))
	mux.HandleFunc("POST /v1/waits", create(c.StoreWait))
	for path, drop := range map[string]func(context.Context, string) error{"nudges": c.DropNudge, "waits": c.DropWait} {
		handler := query(func(r *http.Request) (struct{}, error) { return struct{}{}, drop(r.Context(), r.PathValue("id")) })
		mux.HandleFunc("DELETE /v1/"+path+"/{id}", handler)
		mux.HandleFunc("DELETE /v1/"+path+"/{$}", handler) // an empty id is an unknown one
	}
	return mux
}

// query handles a request without a body.
func query[T any](ask func(*http.Request) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := ask(r)
		respond(w, v, err)
	}
}

// create handles a request with a body and a result.
func create[B, T any](do func(context.Context, B) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body B
		if !decode(w, r, &body) {
			return
		}
		v, err := do(r.Context(), body)
		respond(w, v, err)
	}
}

// command handles a request with a body and no result.
func command[B any](do func(context.Context, B) error) http.HandlerFunc {
	return create(func(ctx context.Context, body B) (struct{}, error) { return struct{}{}, do(ctx, body) })
}

// named handles a request about agents or rigs.
func named(do func(context.Context, []string) error) http.HandlerFunc {
	return command(func(ctx context.Context, body names) error { return do(ctx, body.Agents) })
}

// switched handles a request that switches a property of agents or rigs on or
// off.
func switched(set func(context.Context, []string, bool) error, on bool) http.HandlerFunc {
	return named(func(ctx context.Context, list []string) error { return set(ctx, list, on) })
}

func respond(w http.ResponseWriter, v any, err error) {
	if err != nil {
		fail(w, err)
		return
	}
	reply(w, v)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // fails only if the client is gone
}

func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, ErrUnknownAgent), errors.Is(err, ErrUnknownRig), errors.Is(err, ErrNoLetter):
		status = http.StatusNotFound
	case errors.Is(err, mail.ErrLetter):
		status = http.StatusBadRequest
	case errors.Is(err, ErrShuttingDown), errors.Is(err, ErrEarlierInstance), errors.Is(err, ErrNotDraining):
		status = http.StatusConflict
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(NewWireError(err))
}

// decode reads the body of a request, or replies that it cannot.
func decode(w http.ResponseWriter, r *http.Request, v any) bool {
	err := json.NewDecoder(io.LimitReader(r.Body, bodyLimit)).Decode(v)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		reply(w, WireError{Text: fmt.Sprintf("bad request: %v", err)})
	}
	return err == nil
}

// events replies with one JSON object a line; with follow=1 until the client or
// the controller ends.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint(r.FormValue("after"), 10, 64)
	if err != nil && r.FormValue("after") != "" {
		w.WriteHeader(http.StatusBadRequest)
		reply(w, WireError{Text: fmt.Sprintf("after=%s is not a number", r.FormValue("after"))})
		return
	}
	ch, stop := s.city.Feed().follow()
	defer stop()
	past, err := s.city.Events(after)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	flush := http.NewResponseController(w)
	for _, e := range past {
		after = e.Seq
		if out.Encode(e) != nil {
			return
		}
	}
	if r.FormValue("follow") != "1" {
		return
	}
	for {
		if flush.Flush() != nil {
			return
		}
		select {
		case e, ok := <-ch:
			if !ok {
				return
			}
			if e.Seq > after && out.Encode(e) != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}
