package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
)

// sessionRoutes registers the routes of one session.
func (a *apiServer) sessionRoutes(handle func(string, endpoint.Handler)) {
	session := func(pattern string, h func(s *session, w http.ResponseWriter, r *http.Request) (any, error)) {
		awaits := strings.HasSuffix(pattern, "{name}") // GET and DELETE of the session itself
		handle(pattern, func(w http.ResponseWriter, r *http.Request) (any, error) {
			name := r.PathValue("name")
			if awaits {
				a.srv.sessions.awaitCreated(name) // its caller may have given up: nothing else would end it
			}
			s, err := a.srv.sessions.find(name)
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
	session("POST /v1/sessions/{name}/history", handleHistory)
	session("POST /v1/sessions/{name}/keys", handleKeys)
	session("POST /v1/sessions/{name}/paste", handlePaste)
	session("POST /v1/sessions/{name}/nudge", handleNudge)
	session("POST /v1/sessions/{name}/redirect", handleRedirect)
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
	session("DELETE /v1/sessions/{name}/recording", handleDropRecording)
	session("GET /v1/sessions/{name}/control", handleControl)
}

func (a *apiServer) handleList(_ http.ResponseWriter, r *http.Request) (any, error) {
	return map[string][]api.SessionInfo{"sessions": a.srv.sessions.list(r.URL.Query().Get("prefix"), endpoint.BoolQuery(r, "all"))}, nil
}

func (a *apiServer) handleCreate(w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.CreateRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
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
	if q := r.URL.Query(); q.Has("input") || q.Has("output") {
		release, err := s.untouched(ctx, q.Get("input"), q.Get("output"))
		if err != nil {
			return nil, err
		}
		defer release()
	}
	if endpoint.BoolQuery(r, "keep") {
		return nil, a.srv.reaper.end(ctx, s, grace)
	}
	return nil, a.srv.reaper.kill(ctx, s, grace)
}

func handleInterrupt(s *session, _ http.ResponseWriter, r *http.Request) (any, error) {
	interrupt := s.input.interrupt
	if s.rec.Control != nil {
		interrupt = func() error { return s.interruptAgent(r.Context()) }
	}
	err := interrupt()
	if err == nil {
		s.srv.events.emit(s, api.Event{Type: api.EventInterrupted, By: s.srv.sessions.actor(r)})
	}
	return nil, err
}

func handleSignal(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Signal string `json:"signal"`
	}
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, s.tty.signal(in.Signal)
}

func handleResize(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.Size
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, s.configure(in.Cols, in.Rows)
}

func handleKeys(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.KeysRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, s.input.keys(r.Context(), in)
}

func handlePaste(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Data []byte `json:"data"`
	}
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	if len(in.Data) > maxPaste {
		return nil, fmt.Errorf("%w: a paste of %d bytes, at most %d", api.ErrTooLarge, len(in.Data), maxPaste)
	}
	return nil, s.input.paste(r.Context(), in.Data)
}

func handleNudge(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.NudgeRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	in.By = s.srv.sessions.actor(r)
	return s.nudge(r.Context(), in)
}

func handleRedirect(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.NudgeRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	in.By, in.Interrupt = s.srv.sessions.actor(r), true
	return s.nudge(r.Context(), in)
}

func handleWait(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.WaitRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return s.waitFor(r.Context(), in)
}

func handlePeek(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.PeekRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return s.screen.peek(in)
}

func (a *apiServer) handleRename(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.RenameRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, a.srv.sessions.rename(s, in.Name)
}

func handleClear(s *session, _ http.ResponseWriter, _ *http.Request) (any, error) {
	s.screen.clearHistory()
	return nil, nil
}

func (a *apiServer) handleMetaGet(s *session, _ http.ResponseWriter, r *http.Request) (any, error) {
	if !r.URL.Query().Has("key") {
		m, err := a.srv.meta.All(s.rec.ID)
		return map[string]map[string][]byte{"meta": m}, err
	}
	v, err := a.srv.meta.Get(s.rec.ID, r.URL.Query().Get("key"))
	return map[string][]byte{"value": v}, err
}

func (a *apiServer) handleMetaSet(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Value []byte `json:"value"`
	}
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, a.srv.meta.Put(s.rec.ID, map[string]string{r.URL.Query().Get("key"): string(in.Value)})
}

func (a *apiServer) handleMetaRemove(s *session, _ http.ResponseWriter, r *http.Request) (any, error) {
	return nil, a.srv.meta.Remove(s.rec.ID, r.URL.Query().Get("key"))
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
	return endpoint.Hijacked{}, nil
}

func handleDropRecording(s *session, _ http.ResponseWriter, _ *http.Request) (any, error) {
	return nil, s.storage.dropRecording()
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
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	alive, err := s.life.alive(in.Names)
	return map[string]bool{"alive": alive}, err
}

func handleSeen(s *session, _ http.ResponseWriter, _ *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.ended() {
		return nil, api.ErrExited
	}
	s.activity.see()
	return nil, nil
}

func handleActivity(s *session, _ http.ResponseWriter, r *http.Request) (any, error) {
	if s.rec.Control != nil {
		return s.agentActivity(r.Context())
	}
	if r.URL.Query().Get("question") != "" {
		return s.activity.asked(r.Context())
	}
	return s.activity.current(r.Context())
}

func handleRespond(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.RespondRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	by := s.srv.sessions.actor(r)
	var err error
	switch {
	case s.rec.Control != nil:
		err = s.respondAgent(r.Context(), in, by)
	case in.Text != "":
		err = fmt.Errorf("%w: a question on a terminal is answered by an option", api.ErrRequest)
	default:
		err = s.respond(r.Context(), in)
	}
	if err == nil {
		s.srv.events.emit(s, api.Event{Type: api.EventAnswered, Text: excerpt(cmp.Or(in.Action, in.Text)), By: by})
	}
	return nil, err
}
