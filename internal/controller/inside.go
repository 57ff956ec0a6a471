package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"gascity.dev/gc/internal/agent"
)

// InsideRequest is what a process inside a session asks for its own agent. The
// token of its instance keeps one that was left over from an earlier instance
// from deciding about a newer one.
type InsideRequest struct {
	Agent string `json:"agent"`
	Token string `json:"token"`
}

// DrainStatus is a drain in progress.
type DrainStatus struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // then the session is ended
	Why   string    `json:"why"`
	Acked bool      `json:"acked"`
}

// drainStatus is nil when the member is not draining.
func (m *member) drainStatus() *DrainStatus {
	d := &m.seen.Drain
	if d.Since.IsZero() {
		return nil
	}
	return &DrainStatus{Since: d.Since, Until: d.Since.Add(d.Limit), Why: d.Why, Acked: d.Ack}
}

// inside finds the running member that a request is about.
func (l *loop) inside(q InsideRequest) (*member, error) {
	picked, err := l.pick([]string{q.Agent})
	switch {
	case err != nil:
		return nil, err
	case len(picked) != 1:
		return nil, fmt.Errorf("%w: %s is a pool of %d, name one member", ErrUnknownAgent, q.Agent, len(picked))
	case q.Token == "" || picked[0].seen.Record.Token != q.Token:
		return nil, hinted("GC_AGENT and GC_INSTANCE_TOKEN of a running session say who asks", "%w: %s", ErrEarlierInstance, q.Agent)
	}
	return picked[0], nil
}

// markInside sets a key of the asking agent's metadata, and looks at it. An
// answer means that the mark is set.
func (l *loop) markInside(ctx context.Context, q InsideRequest, key string, check func(*member) error) error {
	var name string
	var err error
	in := l.inLoop(ctx, func() {
		var m *member
		if m, err = l.inside(q); err == nil {
			err = check(m)
		}
		if err == nil {
			name = m.seen.Session
		}
	})
	if err = errors.Join(in, err); err != nil {
		return err
	}
	if err := setMeta(ctx, l.p, name, map[string]string{key: "1"}); err != nil {
		return err
	}
	return l.inLoop(ctx, l.poke)
}

// ackDrain is an agent's word that it may be ended.
func (l *loop) ackDrain(ctx context.Context, q InsideRequest) error {
	return l.markInside(ctx, q, agent.MetaDrainAck, func(m *member) error {
		if m.seen.Drain.Since.IsZero() && m.op != opDrain {
			return hinted("gc runtime drain asks for one", "%w: %s", ErrNotDraining, m.name())
		}
		return nil
	})
}

// requestRestart is an agent's wish to be ended and started afresh.
func (l *loop) requestRestart(ctx context.Context, q InsideRequest) error {
	return l.markInside(ctx, q, agent.MetaRestart, func(*member) error { return nil })
}

// drainSelf is setDrained of the asking agent.
func (l *loop) drainSelf(ctx context.Context, q InsideRequest) error {
	var err error
	in := l.inLoop(ctx, func() { _, err = l.inside(q) })
	if err = errors.Join(in, err); err != nil {
		return err
	}
	return l.setDrained(ctx, []string{q.Agent}, true)
}

// serveInside adds the calls of this file.
func (s *server) serveInside(mux *http.ServeMux) {
	for path, act := range map[string]func(context.Context, InsideRequest) error{
		"drain": s.l.drainSelf, "drain-ack": s.l.ackDrain, "request-restart": s.l.requestRestart,
	} {
		mux.HandleFunc("POST /v1/inside/"+path, func(w http.ResponseWriter, r *http.Request) {
			var q InsideRequest
			if !decode(w, r, &q) {
				return
			}
			if err := act(r.Context(), q); err != nil {
				fail(w, err)
				return
			}
			reply(w, struct{}{})
		})
	}
}

// DrainSelf is Drain of the asking agent. ErrEarlierInstance when the token is
// not that of the running instance.
func (c *Client) DrainSelf(ctx context.Context, q InsideRequest) error {
	return c.call(ctx, http.MethodPost, "/v1/inside/drain", q, nil)
}

// AckDrain says that the asking agent may be ended now. ErrNotDraining when
// nobody asked it to end; ErrEarlierInstance as above.
func (c *Client) AckDrain(ctx context.Context, q InsideRequest) error {
	return c.call(ctx, http.MethodPost, "/v1/inside/drain-ack", q, nil)
}

// RequestRestart asks to be ended and started afresh, which counts against no
// budget. It returns when the wish is written down; the caller ends soon.
func (c *Client) RequestRestart(ctx context.Context, q InsideRequest) error {
	return c.call(ctx, http.MethodPost, "/v1/inside/request-restart", q, nil)
}
