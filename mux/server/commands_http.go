package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/exec"
	"gascity.dev/gc/mux/internal/endpoint"
)

// commandRoutes registers the routes of background commands.
func (a *apiServer) commandRoutes(handle func(string, endpoint.Handler)) {
	srv := a.srv
	handle("POST /v1/exec", a.handleExec)
	handle("GET /v1/processes", a.handleCommands)
	handle("GET /v1/deliveries", a.handleDeliveries)
	handle("POST /v1/deliveries/claim", a.handleClaim)
	handle("POST /v1/deliveries/settle", a.handleSettle)
	command := func(pattern string, h func(cmd *exec.Command, w http.ResponseWriter, r *http.Request) (any, error)) {
		handle(pattern, func(w http.ResponseWriter, r *http.Request) (any, error) {
			cmd, err := srv.commands.Find(r.PathValue("id"))
			if err != nil {
				return nil, err
			}
			return h(cmd, w, r)
		})
	}
	// input hands over to the handler of the command's session.
	input := func(pattern string, h func(s *session, w http.ResponseWriter, r *http.Request) (any, error)) {
		command(pattern, func(cmd *exec.Command, w http.ResponseWriter, r *http.Request) (any, error) {
			if _, err := cmd.Input(r.Context()); err != nil {
				return nil, err
			}
			s, err := srv.sessions.find(cmd.ID())
			if err != nil {
				return nil, err
			}
			return h(s, w, r)
		})
	}
	command("GET /v1/processes/{id}", handleCommandGet)
	command("DELETE /v1/processes/{id}", a.handleCommandRemove)
	command("POST /v1/processes/{id}/poll", handleCommandPoll)
	command("POST /v1/processes/{id}/follow", handleCommandFollow)
	command("POST /v1/processes/{id}/wait", handleCommandWait)
	command("POST /v1/processes/{id}/log", a.handleCommandLog)
	command("POST /v1/processes/{id}/write", handleCommandWrite)
	input("POST /v1/processes/{id}/keys", handleKeys)
	input("POST /v1/processes/{id}/paste", handlePaste)
	input("POST /v1/processes/{id}/signal", handleSignal)
	command("POST /v1/processes/{id}/kill", a.handleCommandKill)
	command("POST /v1/processes/{id}/background", handleCommandBackground)
}

func (a *apiServer) handleExec(w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.ExecWire
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	req := api.ExecRequest(in.ExecPlain)
	req.Env = in.Env
	for _, kv := range in.EnvBytes {
		req.Env = append(req.Env, string(kv))
	}
	cmd, existed, err := a.srv.commands.Start(req)
	if err != nil {
		return nil, err
	}
	if req.Follow && !req.Background {
		return streamCommand(cmd, w, r, 0, req.Owner, existed)
	}
	res, err := cmd.Answer(r.Context(), &req)
	res.Existed = existed
	return res, err
}

func handleCommandFollow(cmd *exec.Command, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Cursor uint64 `json:"cursor"`
		Caller string `json:"caller"`
	}
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return streamCommand(cmd, w, r, in.Cursor, in.Caller, false)
}

// streamCommand replies with what [Command.Follow] sends, one JSON object a line.
func streamCommand(cmd *exec.Command, w http.ResponseWriter, r *http.Request, cursor uint64, caller string, existed bool) (any, error) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines, out := json.NewEncoder(w), http.NewResponseController(w)
	err := cmd.Follow(r.Context(), cursor, caller, func(res api.ExecResult) error {
		res.Existed = existed
		if err := lines.Encode(res); err != nil {
			return err
		}
		return out.Flush()
	})
	return endpoint.Hijacked{}, err
}

func (a *apiServer) handleCommands(_ http.ResponseWriter, r *http.Request) (any, error) {
	list := a.srv.commands.List(r.URL.Query().Get("owner"), endpoint.BoolQuery(r, "all"))
	return map[string][]api.ExecResult{"processes": list}, nil
}

func handleCommandGet(cmd *exec.Command, _ http.ResponseWriter, _ *http.Request) (any, error) {
	return cmd.State()
}

func handleCommandPoll(cmd *exec.Command, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.PollRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return cmd.Poll(r.Context(), in)
}

func handleCommandWait(cmd *exec.Command, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Caller  string     `json:"caller"`
		Timeout api.Millis `json:"timeoutMs"`
	}
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return cmd.Wait(r.Context(), in.Caller, time.Duration(in.Timeout))
}

func (a *apiServer) handleCommandLog(cmd *exec.Command, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.LogRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	switch in.Format {
	case "", api.FormatText, api.FormatRaw:
		return cmd.Log(in)
	case api.FormatScreen:
		s, err := a.srv.sessions.find(cmd.ID())
		if err != nil {
			return nil, err
		}
		shown, err := s.screen.peek(api.PeekRequest{Screen: true})
		return api.LogResult{Lines: []api.LogLine{}, Screen: shown.Text}, err
	}
	return nil, fmt.Errorf("%w: format %q (text, raw, screen)", api.ErrRequest, in.Format)
}

func handleCommandWrite(cmd *exec.Command, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.WriteRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, cmd.Write(r.Context(), in)
}

func (a *apiServer) handleCommandKill(cmd *exec.Command, w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Caller string      `json:"caller"`
		Grace  *api.Millis `json:"graceMs"`
	}
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	grace := exec.DefaultGrace
	if in.Grace != nil {
		grace = time.Duration(max(0, *in.Grace))
	}
	ctx, done := a.srv.untilDone(r.Context())
	defer done()
	return cmd.Kill(ctx, in.Caller, grace)
}

func handleCommandBackground(cmd *exec.Command, _ http.ResponseWriter, _ *http.Request) (any, error) {
	if err := cmd.Background(); err != nil {
		return nil, err
	}
	return cmd.Result(), nil
}

func (a *apiServer) handleCommandRemove(cmd *exec.Command, _ http.ResponseWriter, r *http.Request) (any, error) {
	if endpoint.BoolQuery(r, "kill") {
		ctx, done := a.srv.untilDone(r.Context())
		defer done()
		if _, err := cmd.Kill(ctx, "", exec.DefaultGrace); err != nil {
			return nil, err
		}
	}
	return nil, a.srv.commands.Remove(cmd.ID())
}

func (a *apiServer) handleDeliveries(_ http.ResponseWriter, r *http.Request) (any, error) {
	if endpoint.BoolQuery(r, "away") {
		away, err := a.srv.commands.Away()
		return map[string]any{"deliveries": away}, err
	}
	q := r.URL.Query()
	list, counts, err := a.srv.commands.Deliveries(q.Get("owner"), process.DeliveryState(q.Get("state")))
	return map[string]any{"deliveries": list, "counts": counts}, err
}

func (a *apiServer) handleClaim(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct{ Owner, By string }
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return a.srv.commands.Claim(in.Owner, in.By)
}

func (a *apiServer) handleSettle(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Batch, Detail string
		State         process.DeliveryState
	}
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, a.srv.commands.Settle(in.Batch, in.State, in.Detail)
}
