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

// emit publishes an event of a session. It never blocks.
func (srv *server) emit(s *session, e api.Event) {
	e.Time, e.Session, e.SID = time.Now(), s.name(), s.rec.ID
	srv.events.Append(e)
}

// emitServer publishes that the server accepts requests.
func (srv *server) emitServer() {
	srv.events.Append(api.Event{Type: api.EventServer, Time: time.Now()})
}

func (srv *server) handleStatus(http.ResponseWriter, *http.Request) (any, error) {
	damaged := damaged(srv.paths)
	srv.mu.Lock()
	defer srv.mu.Unlock()
	k := srv.link.Info
	if srv.handing {
		k = keeper.Info{}
	}
	return api.ServerStatus{
		Version: srv.version, API: 1, Features: features, Socket: srv.paths.Socket, StateDir: srv.paths.Dir,
		Epoch:    srv.events.Epoch(),
		Server:   api.ProcessStatus{PID: os.Getpid(), Since: srv.since, MemoryBytes: residentBytes(os.Getpid())},
		Keeper:   api.ProcessStatus{PID: k.PID, Since: k.Since, MemoryBytes: residentBytes(k.PID)},
		Sessions: len(srv.live), Exited: len(srv.exited), Restarts: k.Restarts, UpgradeFailed: k.LastFail,
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

func (srv *server) handleShutdown(w http.ResponseWriter, r *http.Request) (any, error) {
	if err := srv.shutdown(context.WithoutCancel(r.Context()), boolQuery(r, "force")); err != nil {
		return nil, err
	}
	w.Header().Set("Connection", "close")
	_, _ = w.Write([]byte("{}"))
	_ = http.NewResponseController(w).Flush()
	srv.end()
	return hijacked{}, nil
}

// handleUpgrade gives the keeper the image of the new binary and ends this server;
// the keeper starts the new one, or this one again if that fails.
func (srv *server) handleUpgrade(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Path    string `json:"path"`
		Version string `json:"version"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	select { // the keeper takes the next ready message for the new server's
	case <-srv.ready:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if !isExecutable(in.Path) {
		return nil, fmt.Errorf("%w: %s is no executable file", api.ErrRequest, in.Path)
	}
	fd, err := unix.Open(in.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", api.ErrRequest, in.Path, err)
	}
	defer unix.Close(fd)
	if err := srv.currentLink().Upgrade(in.Path, in.Version, fd); err != nil {
		return nil, err
	}
	w.Header().Set("Connection", "close")
	_, _ = w.Write([]byte("{}"))
	_ = http.NewResponseController(w).Flush()
	srv.leave()
	return hijacked{}, nil
}

// handleEvents streams events as server-sent events.
func (srv *server) handleEvents(w http.ResponseWriter, r *http.Request) (any, error) {
	after := r.URL.Query().Get("after")
	if after == "" {
		after = r.Header.Get("Last-Event-ID")
	}
	pos, err := event.ParsePosition(after)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrRequest, err)
	}
	sub, err := srv.events.Subscribe(pos)
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
	srv.stream(r.Context(), w, out, sub)
	return hijacked{}, nil
}

// eventWrite bounds how long a subscriber takes to read one event.
const eventWrite = 10 * time.Second

func (srv *server) stream(ctx context.Context, w http.ResponseWriter, out *http.ResponseController, sub *event.Subscription[api.Event]) {
	epoch := srv.events.Epoch()
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
