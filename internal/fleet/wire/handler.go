package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"gascity.dev/gc/internal/fleet"
)

// server serves one fleet.
type server struct {
	fleet fleet.Fleet
	ctx   context.Context // of the connections that outlive their request
}

// Handler serves a fleet at the paths below /v1/city, until ctx ends.
func Handler(ctx context.Context, f fleet.Fleet) http.Handler {
	s := &server{fleet: f, ctx: ctx}
	m := http.NewServeMux()
	m.HandleFunc("GET "+base+"/features", answer(func(*http.Request) (any, error) { return featuresReply{features}, nil }))
	m.HandleFunc("GET "+base+"/agents", s.agents)
	m.HandleFunc("GET "+base+"/attention", s.attention)
	m.HandleFunc("GET "+base+"/events", s.events)
	m.HandleFunc("GET "+base+"/load", answer(func(r *http.Request) (any, error) { return f.Load(r.Context()) }))
	m.HandleFunc("GET "+base+"/screens", s.screens)
	m.HandleFunc("GET "+base+"/agents/{id}/explain", answer(func(r *http.Request) (any, error) {
		return f.Explain(r.Context(), r.PathValue("id"))
	}))
	m.HandleFunc("GET "+base+"/agents/{id}/history", paged(func(r *http.Request, p fleet.Page) (any, error) {
		return f.History(r.Context(), r.PathValue("id"), p)
	}))
	m.HandleFunc("GET "+base+"/agents/{id}/recording", s.recording)
	m.HandleFunc("GET "+base+"/agents/{id}/attach", s.attach)
	m.HandleFunc("POST "+base+"/agents/{id}/nudge", bodied(func(r *http.Request, b textBody) (any, error) {
		return f.Nudge(r.Context(), r.PathValue("id"), b.Text)
	}))
	m.HandleFunc("POST "+base+"/agents/{id}/messages", bodied(func(r *http.Request, b textBody) (any, error) {
		return f.Queue(r.Context(), r.PathValue("id"), b.Text)
	}))
	m.HandleFunc("POST "+base+"/agents/{id}/respond", bodied(func(r *http.Request, b fleet.Answer) (any, error) {
		if b.Request == "" {
			return nil, fmt.Errorf("%w: the request of the question is missing", fleet.ErrRefused)
		}
		return struct{}{}, f.Answer(r.Context(), r.PathValue("id"), b)
	}))
	m.HandleFunc("POST "+base+"/agents/{id}/actions", bodied(func(r *http.Request, b actionBody) (any, error) {
		return struct{}{}, f.Do(r.Context(), r.PathValue("id"), b.Action)
	}))
	m.HandleFunc("DELETE "+base+"/messages/{id}", answer(func(r *http.Request) (any, error) {
		return struct{}{}, f.CancelMessage(r.Context(), r.PathValue("id"))
	}))
	m.HandleFunc("POST "+base+"/messages/{id}/retry", answer(func(r *http.Request) (any, error) {
		return struct{}{}, f.RetryMessage(r.Context(), r.PathValue("id"))
	}))
	m.HandleFunc("GET "+base+"/commands", answer(func(r *http.Request) (any, error) {
		list, err := f.Commands(r.Context())
		return commandsReply{list}, err
	}))
	m.HandleFunc("GET "+base+"/commands/{id}/output", paged(func(r *http.Request, p fleet.Page) (any, error) {
		return f.Output(r.Context(), r.PathValue("id"), p)
	}))
	return m
}

// features name what this server can do beyond the first version of /v1/city.
var features = []string{"load"}

type featuresReply struct {
	Features []string `json:"features"`
}

type commandsReply struct {
	Commands []fleet.Command `json:"commands"`
}

// answer handles a request without a body.
func answer(do func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := do(r)
		reply(w, v, err)
	}
}

// bodied handles a request with a body.
func bodied[B any](do func(*http.Request, B) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body B
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&body); err != nil {
			reply(w, nil, fmt.Errorf("%w: %w", fleet.ErrRefused, err))
			return
		}
		v, err := do(r, body)
		reply(w, v, err)
	}
}

// paged handles a request for a page.
func paged(do func(*http.Request, fleet.Page) (any, error)) http.HandlerFunc {
	return answer(func(r *http.Request) (any, error) {
		p, err := pageOf(r.URL.Query())
		if err != nil {
			return nil, err
		}
		return do(r, p)
	})
}

// pageOf reads a page from a query.
func pageOf(q url.Values) (p fleet.Page, err error) {
	p.Search = q.Get("search")
	if text := q.Get("before"); text != "" {
		if p.Before, err = strconv.ParseUint(text, 10, 64); err != nil {
			return p, fmt.Errorf("%w: before=%q is not a number", fleet.ErrRefused, text)
		}
	}
	if text := q.Get("lines"); text != "" {
		if p.Lines, err = strconv.Atoi(text); err != nil || p.Lines < 0 {
			return p, fmt.Errorf("%w: lines=%q is not a number", fleet.ErrRefused, text)
		}
	}
	return p, nil
}

func reply(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		f, status := failed(err)
		w.WriteHeader(status)
		v = f
	}
	_ = json.NewEncoder(w).Encode(v) // fails only if the client is gone
}

// snapshot returns the first snapshot of a watch.
func (s *server) snapshot(ctx context.Context) (fleet.Snapshot, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var first *fleet.Snapshot
	err := s.fleet.Watch(ctx, func(now fleet.Snapshot) {
		if first == nil {
			first = &now
			cancel()
		}
	})
	if first == nil {
		return fleet.Snapshot{}, err
	}
	return *first, nil
}

// agents replies with the snapshot; with watch=1 with patches, one a line.
func (s *server) agents(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "1" {
		now, err := s.snapshot(r.Context())
		reply(w, now, err)
		return
	}
	ctx, cancel := s.until(r)
	defer cancel()
	out := newLines(w)
	var d differ
	_ = s.fleet.Watch(ctx, func(now fleet.Snapshot) { // the end of ctx
		p, err := d.next(now)
		if err == nil {
			p.Agents = nil
			err = out.write(p)
		}
		if err != nil {
			cancel()
		}
	})
}

func (s *server) attention(w http.ResponseWriter, r *http.Request) {
	now, err := s.snapshot(r.Context())
	reply(w, struct {
		Attention []fleet.Attention `json:"attention"`
	}{now.Attention}, err)
}

// events replies with events, one a line, until the client leaves.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := s.until(r)
	defer cancel()
	out := newLines(w)
	if out.flush() != nil {
		return
	}
	_ = s.fleet.Events(ctx, r.URL.Query().Get("after"), func(e fleet.Event) error { return out.write(e) }) // the client asks again
}

// until returns the context of a request that lasts.
func (s *server) until(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// lines writes JSON values, one a line, each at once.
type lines struct {
	enc   *json.Encoder
	flush func() error
}

func newLines(w http.ResponseWriter) lines {
	w.Header().Set("Content-Type", "application/x-ndjson")
	return lines{enc: json.NewEncoder(w), flush: http.NewResponseController(w).Flush}
}

func (l lines) write(v any) error {
	if err := l.enc.Encode(v); err != nil {
		return err
	}
	return l.flush()
}

func (s *server) recording(w http.ResponseWriter, r *http.Request) {
	rec, err := s.fleet.Recording(r.Context(), r.PathValue("id"))
	if err != nil {
		reply(w, nil, err)
		return
	}
	defer rec.Close()
	w.Header().Set("Content-Type", "application/x-asciicast")
	_, _ = io.Copy(w, rec) // the client sees that it is cut off
}
