package server

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
	"gascity.dev/gc/mux/internal/muxdb"
	"gascity.dev/gc/mux/internal/program"
	"gascity.dev/gc/mux/keeper"
)

// defaultGrace is the time between TERM and KILL of a kill that does not say.
const defaultGrace = 5 * time.Second

// apiServer has the handlers of /v1.
type apiServer struct {
	srv     *server
	watches watches
}

// features name what this server can do beyond the first version of /v1.
var features = []string{
	"pty", "attach", "nudge", "wait", "peek-many", "events", "upgrade", "queue", "recording", "exec", "activity",
	"resume", "rename", "control", "outbox", "city-requests", "report", "screens",
}

// handler is the API. Every reply is JSON; an error is {"code","message"}.
func (a *apiServer) handler() http.Handler {
	m := http.NewServeMux()
	handle := func(pattern string, h endpoint.Handler) {
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			a.srv.compactor.trim.Note() // also here: a request may wait for hours
			defer a.srv.compactor.trim.Note()
			endpoint.ServeJSON(w, r, h)
		})
	}
	a.routes(handle)
	a.commandRoutes(handle)
	a.sessionRoutes(handle)
	return m
}

// routes registers the routes of the server and of many sessions at once.
func (a *apiServer) routes(handle func(string, endpoint.Handler)) {
	handle("GET /v1/status", a.handleStatus)
	handle("POST /v1/shutdown", a.handleShutdown)
	handle("POST /v1/upgrade", a.handleUpgrade)
	handle("GET /v1/sessions", a.handleList)
	handle("POST /v1/sessions", a.handleCreate)
	handle("POST /v1/peek", a.handlePeekMany)
	handle("POST /v1/activity", a.handleActivities)
	handle("POST /v1/alive", a.handleAliveMany)
	handle("POST /v1/report", a.handleReport)
	handle("GET /v1/events", a.handleEvents)
	handle("GET /v1/screens", a.handleScreens)
	handle("POST /v1/queue", a.handleEnqueue)
	handle("GET /v1/queue", a.handleQueue)
	handle("GET /v1/queue/{id}", a.handleQueueItem)
	handle("DELETE /v1/queue/{id}", a.handleDequeue)
	handle("POST /v1/outbox", a.srv.outbox.HandlePost)
	handle("GET /v1/outbox", a.srv.outbox.HandleList)
	handle("DELETE /v1/outbox/{id}", a.srv.outbox.HandleRemove)
	handle("POST /v1/city/requests", a.srv.cities.HandleAsk)
	handle("GET /v1/city/requests", a.srv.cities.HandleListen)
	handle("POST /v1/city/requests/{id}", a.srv.cities.HandleAnswer)
}

func (a *apiServer) handleStatus(http.ResponseWriter, *http.Request) (any, error) {
	srv := a.srv
	damaged := muxdb.Damaged(srv.settings.paths)
	srv.mu.Lock()
	defer srv.mu.Unlock()
	k := srv.keeper.link.Info
	if srv.keeper.handing {
		k = keeper.Info{}
	}
	return api.ServerStatus{
		Version: srv.settings.version, API: 1, Features: features, Socket: srv.settings.paths.Socket, StateDir: srv.settings.paths.Dir,
		Epoch:    srv.events.log.Epoch(),
		Server:   api.ProcessStatus{PID: os.Getpid(), Since: srv.settings.since, MemoryBytes: residentBytes(os.Getpid())},
		Keeper:   api.ProcessStatus{PID: k.PID, Since: k.Since, MemoryBytes: residentBytes(k.PID)},
		Sessions: len(srv.sessions.byName), Exited: len(srv.sessions.exited), Restarts: k.Restarts, UpgradeFailed: k.LastFail,
		Output: srv.counts.output.Load(), Waits: int(srv.counts.waits.Load()), Damaged: damaged,
	}, nil
}

// residentBytes returns a process's resident memory; 0 if unknown.
func residentBytes(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(f[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

func (a *apiServer) handleShutdown(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := a.srv.shutdown(context.WithoutCancel(r.Context()), endpoint.BoolQuery(r, "force")); err != nil {
		return nil, err
	}
	lastReply(w)
	a.srv.end()
	return endpoint.Hijacked{}, nil
}

// lastReply sends an empty reply, whole: the server ends now.
func lastReply(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	w.Header().Set("Content-Length", "2")
	_, _ = w.Write([]byte("{}"))
	_ = http.NewResponseController(w).Flush()
}

// handleUpgrade gives the keeper the image of the new binary and ends this server;
// the keeper starts the new one, or this one again if that fails.
func (a *apiServer) handleUpgrade(w http.ResponseWriter, r *http.Request) (any, error) {
	srv := a.srv
	var in struct {
		Path    string `json:"path"`
		Version string `json:"version"`
	}
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	select { // the keeper expects the next ready message from the new server
	case <-srv.lifetime.ready:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if !program.IsExecutable(in.Path) {
		return nil, fmt.Errorf("%w: %s: not an executable file", api.ErrRequest, in.Path)
	}
	fd, err := unix.Open(in.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", api.ErrRequest, in.Path, err)
	}
	defer unix.Close(fd)
	if err := srv.keeper.current().Upgrade(in.Path, in.Version, fd); err != nil {
		return nil, err
	}
	lastReply(w)
	srv.leave()
	return endpoint.Hijacked{}, nil
}
