package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/web/access"
)

// maxCall is how long a call may take: a nudge waits up to 30 s for a dialog.
const maxCall = 2 * time.Minute

// result answers a call.
type result struct {
	Op    string   `json:"op"`
	N     uint32   `json:"n"`
	Value any      `json:"value,omitempty"`
	Error *failure `json:"error,omitempty"`
}

type failure struct {
	Code    string `json:"code"` // changed, unsupported, not_found, away, refused, read_only, busy, failed
	Message string `json:"message"`
}

// params are those of all methods.
type params struct {
	ID      string       `json:"id"`
	Text    string       `json:"text"`
	Action  fleet.Action `json:"action"`
	Answer  fleet.Answer `json:"answer"`
	Page    fleet.Page   `json:"page"`
	Message string       `json:"message"`
	// ReadOnly of a new link.
	ReadOnly bool `json:"readOnly"`
}

// method is what a page may call.
type method struct {
	changes bool // not by a read-only link
	do      func(context.Context, *Server, params) (any, error)
}

var methods = map[string]method{
	"explain":  {false, func(ctx context.Context, s *Server, p params) (any, error) { return s.Fleet.Explain(ctx, p.ID) }},
	"history":  {false, func(ctx context.Context, s *Server, p params) (any, error) { return s.Fleet.History(ctx, p.ID, p.Page) }},
	"commands": {false, func(ctx context.Context, s *Server, _ params) (any, error) { return s.Fleet.Commands(ctx) }},
	"output":   {false, func(ctx context.Context, s *Server, p params) (any, error) { return s.Fleet.Output(ctx, p.ID, p.Page) }},
	"nudge":    {true, func(ctx context.Context, s *Server, p params) (any, error) { return s.Fleet.Nudge(ctx, p.ID, p.Text) }},
	"queue":    {true, func(ctx context.Context, s *Server, p params) (any, error) { return s.Fleet.Queue(ctx, p.ID, p.Text) }},
	"answer": {true, func(ctx context.Context, s *Server, p params) (any, error) {
		return nil, s.Fleet.Answer(ctx, p.ID, p.Answer)
	}},
	"do": {true, func(ctx context.Context, s *Server, p params) (any, error) {
		return nil, s.Fleet.Do(ctx, p.ID, p.Action)
	}},
	"cancel": {true, func(ctx context.Context, s *Server, p params) (any, error) {
		return nil, s.Fleet.CancelMessage(ctx, p.Message)
	}},
	"retry": {true, func(ctx context.Context, s *Server, p params) (any, error) {
		return nil, s.Fleet.RetryMessage(ctx, p.Message)
	}},
	"link": {true, func(_ context.Context, s *Server, p params) (any, error) { return s.Gate.Keys.NewToken(p.ReadOnly) }},
}

// call runs one call of a page.
func (l *live) call(m message) result {
	began := time.Now()
	value, err := l.answer(m)
	r := result{Op: "result", N: m.N, Value: value}
	outcome := "ok"
	if err != nil {
		outcome = code(err)
		r.Value, r.Error = nil, &failure{outcome, err.Error()}
	} else if receipt, ok := value.(fleet.Receipt); ok {
		outcome = receipt.State
	}
	if l.server.Observe != nil {
		if _, known := methods[m.Method]; known {
			l.server.Observe(m.Method, outcome, time.Since(began))
		}
	}
	return r
}

func (l *live) answer(m message) (any, error) {
	f, known := methods[m.Method]
	if !known {
		return nil, fmt.Errorf("no method %q: %w", m.Method, fleet.ErrUnsupported)
	}
	if f.changes && l.session.ReadOnly {
		return nil, access.ErrReadOnly
	}
	if f.changes && !l.server.Gate.Keys.Valid(l.session) {
		l.cancel()
		return nil, access.ErrNoSession
	}
	var p params
	if len(m.Params) > 0 {
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return nil, fmt.Errorf("%w: %v", fleet.ErrRefused, err)
		}
	}
	ctx, cancel := context.WithTimeout(l.ctx, maxCall)
	defer cancel()
	return f.do(ctx, l.server, p)
}

// codes are the words for errors that a page can act on.
var codes = []struct {
	err  error
	code string
}{
	{fleet.ErrChanged, "changed"},
	{fleet.ErrUnsupported, "unsupported"},
	{fleet.ErrNotFound, "not_found"},
	{fleet.ErrAway, "away"},
	{fleet.ErrRefused, "refused"},
	{access.ErrReadOnly, "read_only"},
	{context.DeadlineExceeded, "timeout"},
}

func code(err error) string {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return "failed"
}
