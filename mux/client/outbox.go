package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"gascity.dev/gc/mux/api"
)

// maxOutboxReply bounds a reply of the outbox, which may come from a machine that is not
// trusted. A server sends at most 4 MiB of bodies, or one that is larger.
const maxOutboxReply = 16 << 20

// Post puts a message for a city on another machine into the outbox; it is on disk when
// Post returns. A request without an id gets one. It may be repeated, even across a restart
// of the server: the message of an id is kept once. ErrReused if that had another body;
// ErrOutbox if the outbox is full, ErrTooLarge, ErrRequest. ErrVersion if the server is too old.
func (c *Client) Post(ctx context.Context, r api.OutboxRequest) (api.OutboxEntry, error) {
	if r.ID == "" {
		r.ID = rand.Text()
	}
	var out api.OutboxEntry
	err := c.across(ctx, func() error { return c.call(ctx, "POST", "/v1/outbox", r, &out) })
	return out, err
}

// Outbox returns messages for a city after a place, in order: as many as fit into a reply. If
// there is none it waits for one, for at most the given time. An empty city means all.
func (c *Client) Outbox(ctx context.Context, city string, after uint64, wait time.Duration) ([]api.OutboxEntry, error) {
	q := url.Values{"city": {city}, "after": {strconv.FormatUint(after, 10)}}
	if wait > 0 {
		q.Set("wait", wait.String())
	}
	resp, err := c.Do(ctx, "GET", "/v1/outbox?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var out api.OutboxList
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxOutboxReply)).Decode(&out); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", api.ErrUnreachable, err)
	}
	return out.Entries, nil
}

// TakeFromOutbox removes a message that its city has taken; nil if it is not there.
func (c *Client) TakeFromOutbox(ctx context.Context, city, id string) error {
	return c.call(ctx, "DELETE", "/v1/outbox/"+url.PathEscape(id)+"?city="+url.QueryEscape(city), nil, nil)
}
