package mux

import (
	"context"
	"fmt"
	"net/http"
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
	raw, err := appendPeekResult(make([]byte, 0, out.room()), &out)
	return rawJSON(raw), err
}

func (srv *server) handlePeekMany(w http.ResponseWriter, r *http.Request) (any, error) {
	b, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	in, err := decodePeeks(b, "requests", (*reading).peekRequest)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if len(in) > maxPeeks {
		return nil, fmt.Errorf("%w: %d peeks, at most %d", ErrTooLarge, len(in), maxPeeks)
	}
	out, size := srv.peekMany(in), 0
	for i := range out {
		size += out[i].room()
	}
	raw, err := appendList(make([]byte, 0, size), "results", out, appendPeekResult)
	return rawJSON(raw), err
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
// not there has Error set; the call itself fails only when the server does.
func (c *Client) PeekMany(ctx context.Context, rs []PeekRequest) ([]PeekResult, error) {
	raw, err := appendList(make([]byte, 0, len(rs)*64), "requests", rs, appendRequest)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	b, err := c.answer(ctx, "/v1/peek", raw)
	if err != nil {
		return nil, err
	}
	out, err := decodePeeks(b, "results", (*reading).peekResult)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
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
