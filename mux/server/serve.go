package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/event"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/keeper"
)

func (a *apiServer) handleStatus(http.ResponseWriter, *http.Request) (any, error) {
	srv := a.srv
	damaged := damaged(srv.settings.paths)
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
		Damaged: damaged,
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
	if err := a.srv.shutdown(context.WithoutCancel(r.Context()), boolQuery(r, "force")); err != nil {
		return nil, err
	}
	w.Header().Set("Connection", "close")
	_, _ = w.Write([]byte("{}"))
	_ = http.NewResponseController(w).Flush()
	a.srv.end()
	return hijacked{}, nil
}

// handleUpgrade gives the keeper the image of the new binary and ends this server;
// the keeper starts the new one, or this one again if that fails.
func (a *apiServer) handleUpgrade(w http.ResponseWriter, r *http.Request) (any, error) {
	srv := a.srv
	var in struct {
		Path    string `json:"path"`
		Version string `json:"version"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	select { // the keeper expects the next ready message from the new server
	case <-srv.lifetime.ready:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if !isExecutable(in.Path) {
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
	w.Header().Set("Connection", "close")
	_, _ = w.Write([]byte("{}"))
	_ = http.NewResponseController(w).Flush()
	srv.leave()
	return hijacked{}, nil
}

// handleEvents streams events as server-sent events.
func (a *apiServer) handleEvents(w http.ResponseWriter, r *http.Request) (any, error) {
	after := r.URL.Query().Get("after")
	if after == "" {
		after = r.Header.Get("Last-Event-ID")
	}
	pos, err := event.ParsePosition(after)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrRequest, err)
	}
	sub, err := a.srv.events.log.Subscribe(pos)
	if errors.Is(err, event.ErrGone) {
		return nil, fmt.Errorf("%w: %w", api.ErrTooOld, err)
	} else if err != nil {
		return nil, err
	}
	defer sub.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	if err := out.Flush(); err != nil {
		return hijacked{}, nil
	}
	a.stream(r.Context(), w, out, sub)
	return hijacked{}, nil
}

// eventWrite limits the time a subscriber takes to read one event.
const eventWrite = 10 * time.Second

func (a *apiServer) stream(ctx context.Context, w http.ResponseWriter, out *http.ResponseController, sub *event.Subscription[api.Event]) {
	epoch := a.srv.events.log.Epoch()
	for {
		item, err := sub.Next(ctx)
		_ = out.SetWriteDeadline(time.Now().Add(eventWrite))
		var slow *event.SlowError
		if errors.As(err, &slow) {
			fmt.Fprintf(w, "event: slow\ndata: %s\n\n", slow.Resume)
			_ = out.Flush()
			return
		}
		if err != nil {
			return
		}
		e := item.Value
		e.ID = event.Position{Epoch: epoch, Seq: item.Seq}.String()
		b, err := json.Marshal(e)
		if err != nil {
			slog.Error("cannot encode an event", "error", err)
			continue
		}
		fmt.Fprintf(w, "id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Type, b)
		if out.Flush() != nil {
			return
		}
	}
}

func handleProcesses(s *session, _ http.ResponseWriter, _ *http.Request) (any, error) {
	members, err := s.life.tree().Members()
	if err != nil {
		return nil, err
	}
	list := make([]api.ProcessInfo, 0, len(members))
	for _, p := range members {
		if p.Zombie() {
			continue
		}
		argv, _ := proctree.Cmdline(p.PID) // it may have ended
		list = append(list, api.ProcessInfo{
			PID: p.PID, PPID: p.PPID, PGID: p.PGID, SID: p.SID, State: string(rune(p.State)), Command: p.Comm, Argv: argv,
		})
	}
	return map[string][]api.ProcessInfo{"processes": list}, nil
}

func handleAlive(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Names []string `json:"names"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	alive, err := s.life.alive(in.Names)
	return map[string]bool{"alive": alive}, err
}
