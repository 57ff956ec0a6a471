// Package web is gc web: a server that shows a fleet to browsers. It serves the
// page's files and one WebSocket per page, which carries everything live.
//
// It keeps no state of the fleet that must last: a server may be killed and
// started again under its pages, which reconnect. internal/web/access decides
// who gets in. A page is never more than one message behind: each source of
// messages waits until its last one was written, then sends the newest.
// cmd/gc-ui makes a Server.
package web

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/web/access"
	"gascity.dev/gc/internal/web/assets"
)

// Server serves one fleet. Its fields do not change once it serves.
type Server struct {
	Fleet   fleet.Fleet
	Gate    *access.Gate
	Version string
	// Patience is how long a page may read nothing before its connection is closed; 0: 30 s. It
	// reconnects when it wakes.
	Patience time.Duration
	// Metrics answers /metrics, without a session; nil: not found.
	Metrics http.Handler
	// Observe is called after each call of a page; nil: it is not.
	Observe func(method, outcome string, took time.Duration)
	// Log is told of errors of the server itself; nil: nobody is.
	Log func(error)

	feed  feed
	pages pages
}

// Serve serves until ctx ends, and closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.feed = feed{fleet: s.Fleet, ctx: ctx}
	server := &http.Server{
		Handler:           s.Gate.Handler(s.routes()),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          nil,
	}
	var keys sync.WaitGroup
	watch := s.watchKeys()
	keys.Go(func() { s.followKeys(ctx, watch) })
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		server.Close()
		<-done
	}
	cancel()
	keys.Wait()
	s.feed.wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", s.Gate.Login)
	mux.HandleFunc("POST /logout", s.Gate.Logout)
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /public/{file}", func(w http.ResponseWriter, r *http.Request) {
		serveFile(w, r, assets.Public(), r.PathValue("file"))
	})
	mux.HandleFunc("GET /app/{file}", s.file)
	mux.HandleFunc("GET /vendor/{file}", s.file)
	mux.HandleFunc("GET /live", s.live)
	mux.HandleFunc("GET /recording", s.recording)
	if s.Metrics != nil {
		mux.Handle("GET /metrics", s.Metrics)
	}
	return mux
}

// page is the login page until the browser has a session.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if _, err := s.Gate.ByCookie(r); err != nil {
		serveFile(w, r, assets.Public(), "login.html")
		return
	}
	serveFile(w, r, assets.App(), "app/index.html")
}

func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	if _, err := s.Gate.ByCookie(r); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	serveFile(w, r, assets.App(), strings.TrimPrefix(r.URL.Path, "/"))
}

// types are spelt out: those of the machine may be wrong.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
}

func serveFile(w http.ResponseWriter, r *http.Request, files fs.FS, name string) {
	kind, known := types[path.Ext(name)]
	data, err := fs.ReadFile(files, name)
	if !known || err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Write(data)
}

// recording sends an agent's recording: GET /recording?id=….
func (s *Server) recording(w http.ResponseWriter, r *http.Request) {
	if _, err := s.Gate.Session(r); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	cast, err := s.Fleet.Recording(r.Context(), r.URL.Query().Get("id"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer cast.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	copyAll(w, cast)
}
