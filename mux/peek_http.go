package mux

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

func handlePeek(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	b, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	in := PeekRequest{}
	if len(b) > 0 {
		if in, err = decodePeek(b, (*reading).peekRequest); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRequest, err)
		}
	}
	out, err := s.peek(in)
	if err != nil {
		return nil, err
	}
	raw, err := appendPeekResult(newReply(), &out)
	return rawJSON(raw), err
}

func (srv *server) handlePeekMany(w http.ResponseWriter, r *http.Request) (any, error) {
	b, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	in := &reading{s: string(b)}
	out := append(newReply(), `{"results":[`...)
	n := 0
	in.each("requests", func() {
		q := in.peekRequest()
		if n++; n > maxPeeks {
			in.bad = true
		}
		if !in.bad && err == nil {
			out, err = srv.appendPeek(out, &q, in.short)
		}
	})
	if !in.done() {
		out, err = srv.peekMany(out[:0], b)
	}
	return append(out, "]}"...), err
}

// peekMany is handlePeekMany for requests in any shape.
func (srv *server) peekMany(out rawJSON, b []byte) (rawJSON, error) {
	var in struct {
		Requests []PeekRequest `json:"requests"`
		Short    bool          `json:"short"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if len(in.Requests) > maxPeeks {
		return nil, fmt.Errorf("%w: %d peeks, at most %d", ErrTooLarge, len(in.Requests), maxPeeks)
	}
	out = append(out, `{"results":[`...)
	for i := range in.Requests {
		var err error
		if out, err = srv.appendPeek(out, &in.Requests[i], in.Short); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// appendPeek appends the answer to one of many requests; a session that is not
// there is an entry with an error.
func (srv *server) appendPeek(b rawJSON, r *PeekRequest, short bool) (rawJSON, error) {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	s, err := srv.find(r.Name)
	if err == nil && short && s.same(r) {
		return appendString(b, s.rec.ID), nil
	}
	var out PeekResult
	if err == nil {
		out, err = s.peek(*r)
	}
	if err != nil {
		out = PeekResult{Name: r.Name, Error: remote(err)}
	}
	return appendPeekResult(b, &out)
}

// Peek returns what a session shows; an exited one answers while it is kept.
func (c *Client) Peek(ctx context.Context, r PeekRequest) (PeekResult, error) {
	raw, err := appendRequest(nil, &r)
	if err != nil {
		return PeekResult{}, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	b, err := c.answer(ctx, sessionPath(r.Name, "/peek"), raw)
	if err != nil {
		return PeekResult{}, err
	}
	out, err := decodePeek(b, (*reading).peekResult)
	if err != nil {
		return PeekResult{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return out, nil
}

// PeekMany answers many requests at once, in their order. A session that is
// not there has Error set; the call itself fails only when the server does. What
// is unchanged since IfRevision costs the least.
func (c *Client) PeekMany(ctx context.Context, rs []PeekRequest) ([]PeekResult, error) {
	raw := append(make(rawJSON, 0, 32+len(rs)*64), '{')
	if slices.ContainsFunc(rs, func(r PeekRequest) bool { return r.IfRevision != 0 }) {
		raw = append(raw, `"short":true,`...)
	}
	raw, err := appendRequests(raw, rs)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	b, err := c.answer(ctx, "/v1/peek", append(raw, '}'))
	if err != nil {
		return nil, err
	}
	out, err := decodeResults(b, make([]PeekResult, 0, len(rs)))
	if err == nil && len(out) != len(rs) {
		err = fmt.Errorf("%d results for %d requests", len(out), len(rs))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	for i := range out {
		if out[i].Unchanged && out[i].Name == "" {
			out[i] = unchanged(out[i].ID, &rs[i])
		}
	}
	return out, nil
}

// answer posts JSON and returns the whole reply.
func (c *Client) answer(ctx context.Context, path string, raw rawJSON) ([]byte, error) {
	resp, err := c.send(ctx, "POST", path, raw)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := readAll(http.MaxBytesReader(nil, resp.Body, maxReply), resp.ContentLength)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return b, nil
}
