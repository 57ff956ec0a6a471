package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// Events calls fn for every kept event after seq and, with follow, for every
// later one until ctx ends, fn fails, or the controller ends (nil). A follower
// that is too slow is cut off: call again with the last seq.
func (c *Client) Events(ctx context.Context, after uint64, follow bool, fn func(Event) error) error {
	path := "/v1/events?after=" + strconv.FormatUint(after, 10)
	if follow {
		path += "&follow=1"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://controller"+path, nil)
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return decodeError(resp, "/v1/events")
	}
	dec := json.NewDecoder(resp.Body)
	for dec.More() {
		var e Event
		if err := dec.Decode(&e); err != nil {
			return fmt.Errorf("events: %w", err)
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return nil
}
