package mux

import (
	"context"
	"errors"
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
	in, err := decodeRequests(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if len(in.Requests) > maxPeeks {
		return nil, fmt.Errorf("%w: %d peeks, at most %d", ErrTooLarge, len(in.Requests), maxPeeks)
	}
	if in.Watch != "" {
		in.Requests, err = srv.watch(in.Watch)
		if err != nil {
			return nil, err
		}
		if len(in.Requests) == 0 {
			return append(append(newReply(), nothingNew...), '}'), nil
		}
		in.Short = true
	}
	out := append(newReply(), `{"results":[`...)
	for i := range in.Requests {
		if out, err = srv.appendPeek(out, &in.Requests[i], in.Short); err != nil {
			return nil, err
		}
	}
	out = append(out, ']')
	if in.Keep && len(in.Requests) > 0 && srv.allSame(in.Requests) {
		if token := srv.watches.keep(in.Requests); token != "" {
			out = appendString(append(out, `,"watch":`...), token)
		}
	}
	return append(out, '}'), nil
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
// is unchanged since IfRevision costs the least; a list in which nothing was new
// is known to the server when it is asked for again.
func (c *Client) PeekMany(ctx context.Context, rs []PeekRequest) ([]PeekResult, error) {
	if token := c.watched.of(rs); token != "" {
		if out, err := c.peekAgain(ctx, token, rs); !errors.Is(err, ErrTooOld) {
			return out, err
		}
	}
	raw := append(make(rawJSON, 0, 32+len(rs)*64), '{')
	if slices.ContainsFunc(rs, func(r PeekRequest) bool { return r.IfRevision != 0 }) {
		raw = append(raw, `"short":true,"keep":true,`...)
	}
	raw, err := appendRequests(raw, rs)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	b, err := c.answer(ctx, "/v1/peek", append(raw, '}'))
	if err != nil {
		return nil, err
	}
	out, token, err := results(b, rs)
	if err == nil && token != "" {
		c.watched.keep(token, rs, out)
	}
	return out, err
}

// results reads the reply to many requests.
func results(b []byte, rs []PeekRequest) (out []PeekResult, watch string, err error) {
	out, watch, err = decodeResults(b, make([]PeekResult, 0, len(rs)))
	if err == nil && len(out) != len(rs) {
		err = fmt.Errorf("%d results for %d requests", len(out), len(rs))
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	for i := range out {
		if out[i].Unchanged && out[i].Name == "" {
			out[i] = unchanged(out[i].ID, &rs[i])
		}
	}
	return out, watch, nil
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
