package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// server answers on the city's socket.
type server struct {
	l    *loop
	http *http.Server
	ln   net.Listener
	done chan struct{}
}

// bodyLimit bounds a request's body, in bytes.
const bodyLimit = 8 << 20

func serve(city string, l *loop) (*server, error) {
	ln, err := listenUnix(socketPath(city))
	if err != nil {
		return nil, stateDirError(city, err)
	}
	s := &server{l: l, ln: ln, done: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", s.status)
	mux.HandleFunc("POST /v1/stop", s.stop)
	mux.HandleFunc("POST /v1/restart", s.named(l.restartAgents))
	mux.HandleFunc("POST /v1/agents/stop", s.named(l.stopAgents))
	s.serveSuspend(mux)
	s.serveInside(mux)
	mux.HandleFunc("POST /v1/poke", s.poke)
	mux.HandleFunc("POST /v1/reload", s.reload)
	mux.HandleFunc("GET /v1/events", s.events)
	mux.HandleFunc("GET /v1/nudges", s.nudges)
	mux.HandleFunc("POST /v1/nudges", s.queue)
	mux.HandleFunc("DELETE /v1/nudges/{id}", s.dropNudge)
	mux.HandleFunc("DELETE /v1/nudges/{$}", s.dropNudge) // an empty id is one that is not known
	mux.HandleFunc("GET /v1/waits", s.waits)
	mux.HandleFunc("POST /v1/waits", s.storeWait)
	mux.HandleFunc("DELETE /v1/waits/{id}", s.dropWait)
	mux.HandleFunc("DELETE /v1/waits/{$}", s.dropWait)
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(ln) // ends with close
	}()
	return s, nil
}

// close lets running answers out and removes the socket.
func (s *server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.http.Close()
	}
	<-s.done
}

// inLoop runs fn on the loop and waits for it. With an error fn did not run and
// never will, so that the caller may use what fn writes.
func (l *loop) inLoop(ctx context.Context, fn func()) error {
	var claimed atomic.Bool // by the loop, or by a caller that gave up
	done := make(chan struct{})
	run := func() {
		if claimed.CompareAndSwap(false, true) {
			defer close(done)
			fn()
		}
	}
	select {
	case l.inbox <- run:
	case <-l.done:
		return ErrShuttingDown
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	select {
	case <-done:
		return nil
	case <-l.done:
		err = ErrShuttingDown
	case <-ctx.Done():
		err = ctx.Err()
	}
	if claimed.CompareAndSwap(false, true) {
		return err
	}
	<-done // it is being run, and blocks on nothing
	return nil
}

// awaitIn registers a condition from outside the loop and waits for it, or for
// the end of the loop.
func (l *loop) awaitIn(ctx context.Context, met func() bool) error {
	a := await{met: met, done: make(chan struct{})}
	if err := l.inLoop(ctx, func() { l.awaits = append(l.awaits, a) }); err != nil {
		return err
	}
	select {
	case <-a.done:
		return nil
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client is gone: nothing to do
}

func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, ErrUnknownAgent), errors.Is(err, ErrUnknownRig):
		status = http.StatusNotFound
	case errors.Is(err, ErrShuttingDown), errors.Is(err, ErrEarlierInstance), errors.Is(err, ErrNotDraining):
		status = http.StatusConflict
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(wireError{Error: err.Error(), Hint: Hint(err), Code: codeOf(err)})
}

func (s *server) status(w http.ResponseWriter, r *http.Request) {
	st, err := s.l.currentStatus(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	reply(w, st)
}

// stop answers when every agent has ended. The client going away changes
// nothing.
func (s *server) stop(w http.ResponseWriter, r *http.Request) {
	var body StopRequest
	if !decode(w, r, &body) {
		return
	}
	ctx := context.WithoutCancel(r.Context())
	err := s.l.inLoop(ctx, func() { s.l.shutdownWithin(body.limit(s.l.o.City.Daemon.ShutdownTimeout)) })
	if err != nil {
		fail(w, err)
		return
	}
	if err := s.l.awaitIn(ctx, func() bool { return s.l.stopDone }); err != nil && !errors.Is(err, ErrShuttingDown) {
		fail(w, err)
		return
	}
	<-s.l.done
	if err := s.l.stopErr; err != nil {
		fail(w, err)
		return
	}
	reply(w, struct{}{})
}

func (s *server) poke(w http.ResponseWriter, r *http.Request) {
	if err := s.l.inLoop(r.Context(), s.l.poke); err != nil {
		fail(w, err)
		return
	}
	reply(w, struct{}{})
}

// poke looks at everything now, also at what agents set from inside.
func (l *loop) poke() {
	l.poked = true
	l.patrolNow()
}

// reload answers when the file was read; a broken one is the error.
func (s *server) reload(w http.ResponseWriter, r *http.Request) {
	l, reads := s.l, 0
	err := l.inLoop(r.Context(), func() {
		if reads = l.reads + 1; l.reading {
			reads++ // the one in flight may have read the file too early
		}
		l.reload()
	})
	if err == nil {
		err = l.awaitIn(r.Context(), func() bool { return l.reads >= reads })
	}
	var bad error
	if err == nil {
		err = l.inLoop(r.Context(), func() {
			if l.configErr != "" {
				bad = hinted(l.configHint, "%s", l.configErr)
			}
		})
	}
	if err = errors.Join(err, bad); err != nil {
		fail(w, err)
		return
	}
	reply(w, struct{}{})
}

// decode reads a request's body, or answers that it cannot.
func decode(w http.ResponseWriter, r *http.Request, v any) bool {
	err := json.NewDecoder(io.LimitReader(r.Body, bodyLimit)).Decode(v)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		reply(w, wireError{Error: fmt.Sprintf("bad request: %v", err)})
	}
	return err == nil
}

// named serves a call about agents.
func (s *server) named(do func(context.Context, []string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body names
		if !decode(w, r, &body) {
			return
		}
		if err := do(r.Context(), body.Agents); err != nil {
			fail(w, err)
			return
		}
		reply(w, struct{}{})
	}
}
