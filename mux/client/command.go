package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
)

func processPath(id, more string) string { return "/v1/processes/" + url.PathEscape(id) + more }

// Exec starts a command and, unless the request says otherwise, waits for its end,
// even across a restart of the server; it starts nothing twice. ErrLimit if 64 commands
// of the owner run, and the errors of Create.
func (c *Client) Exec(ctx context.Context, r api.ExecRequest) (api.ExecResult, error) {
	w, made := execBody(r)
	var out api.ExecResult
	err := c.across(ctx, func() error {
		out = api.ExecResult{}
		return c.call(ctx, "POST", "/v1/exec", w, &out)
	})
	out.Existed = out.Existed && !made
	return out, err
}

// execBody returns the request for the wire, with a key, so that it can be repeated if
// the server dies. made reports that the caller gave no key.
func execBody(r api.ExecRequest) (w api.ExecWire, made bool) {
	if made = r.Key == ""; made {
		r.Key = rand.Text()
	}
	w = api.ExecWire{ExecPlain: api.ExecPlain(r)}
	for _, kv := range r.Env {
		if utf8.ValidString(kv) {
			w.Env = append(w.Env, kv)
		} else {
			w.EnvBytes = append(w.EnvBytes, []byte(kv))
		}
	}
	return w, made
}

// ProcessList lists the background commands of an owner, oldest first; "" means all
// owners. all includes ended ones.
func (c *Client) ProcessList(ctx context.Context, owner string, all bool) ([]api.ExecResult, error) {
	q := url.Values{}
	if owner != "" {
		q.Set("owner", owner)
	}
	if all {
		q.Set("all", "true")
	}
	var out struct {
		Processes []api.ExecResult `json:"processes"`
	}
	err := c.call(ctx, "GET", "/v1/processes?"+q.Encode(), nil, &out)
	return out.Processes, err
}

// Process returns one command. ErrNotFound for an unknown id.
func (c *Client) Process(ctx context.Context, id string) (api.ExecResult, error) {
	var out api.ExecResult
	err := c.call(ctx, "GET", processPath(id, ""), nil, &out)
	return out, err
}

// ProcessPoll returns the output after a cursor, even across a restart of the server.
// ErrRequest for a cursor past the end.
func (c *Client) ProcessPoll(ctx context.Context, id string, r api.PollRequest) (api.ExecResult, error) {
	var out api.ExecResult
	err := c.across(ctx, func() error {
		out = api.ExecResult{}
		return c.call(ctx, "POST", processPath(id, "/poll"), r, &out)
	})
	return out, err
}

// ProcessWait waits for the end. After the timeout (0: none) it returns the command
// still running.
func (c *Client) ProcessWait(ctx context.Context, id, caller string, timeout time.Duration) (api.ExecResult, error) {
	var out api.ExecResult
	end := time.Now().Add(timeout)
	err := c.across(ctx, func() error {
		in := map[string]any{"caller": caller}
		if timeout > 0 {
			in["timeoutMs"] = api.Millis(max(time.Millisecond, time.Until(end)))
		}
		out = api.ExecResult{}
		return c.call(ctx, "POST", processPath(id, "/wait"), in, &out)
	})
	return out, err
}

// ProcessLog returns lines of the output: the first 1 MiB and the last 7 MiB are kept.
// ErrRequest for a bad pattern or format.
func (c *Client) ProcessLog(ctx context.Context, id string, r api.LogRequest) (api.LogResult, error) {
	var out api.LogResult
	err := c.call(ctx, "POST", processPath(id, "/log"), r, &out)
	return out, err
}

// ProcessWrite writes input. ErrExited if the command no longer reads any.
func (c *Client) ProcessWrite(ctx context.Context, id string, r api.WriteRequest) error {
	return c.call(ctx, "POST", processPath(id, "/write"), r, nil)
}

// ProcessKeys presses keys as Keys does.
func (c *Client) ProcessKeys(ctx context.Context, id string, keys []string, literal bool) error {
	return c.call(ctx, "POST", processPath(id, "/keys"), api.KeysRequest{Keys: keys, Literal: literal}, nil)
}

// ProcessPaste types data as Paste does.
func (c *Client) ProcessPaste(ctx context.Context, id string, data []byte) error {
	return c.call(ctx, "POST", processPath(id, "/paste"), map[string][]byte{"data": data}, nil)
}

// ProcessSignal sends a signal as Signal does.
func (c *Client) ProcessSignal(ctx context.Context, id, sig string) error {
	return c.call(ctx, "POST", processPath(id, "/signal"), map[string]string{"signal": sig}, nil)
}

// ProcessKill ends the whole tree: TERM, then KILL after grace; grace 0 sends KILL at
// once. It returns once the end is recorded, even across a restart of the server.
func (c *Client) ProcessKill(ctx context.Context, id, caller string, grace time.Duration) (api.ExecResult, error) {
	var out api.ExecResult
	in := map[string]any{"caller": caller, "graceMs": api.Millis(grace)}
	err := c.across(ctx, func() error { return c.call(ctx, "POST", processPath(id, "/kill"), in, &out) })
	return out, err
}

// ProcessBackground moves a foreground command to the background; its timeout no
// longer applies.
func (c *Client) ProcessBackground(ctx context.Context, id string) (api.ExecResult, error) {
	var out api.ExecResult
	err := c.call(ctx, "POST", processPath(id, "/background"), nil, &out)
	return out, err
}

// ProcessRemove deletes a command and its output. ErrBusy if it is running, unless kill
// ends it first.
func (c *Client) ProcessRemove(ctx context.Context, id string, kill bool) error {
	q := ""
	if kill {
		q = "?kill=true"
	}
	return c.call(ctx, "DELETE", processPath(id, q), nil, nil)
}

// Deliveries lists the messages to owners about ended commands: the open ones, and
// those of commands that are still kept. State "" means all.
func (c *Client) Deliveries(ctx context.Context, owner, state string) ([]api.Delivery, error) {
	return c.deliveries(ctx, url.Values{"owner": {owner}, "state": {state}})
}

func (c *Client) deliveries(ctx context.Context, q url.Values) ([]api.Delivery, error) {
	var out struct {
		Deliveries []api.Delivery `json:"deliveries"`
	}
	err := c.call(ctx, "GET", "/v1/deliveries?"+q.Encode(), nil, &out)
	return out.Deliveries, err
}

// DeliveriesAway lists the open messages to owners without a session here, oldest
// first, for a caller that hosts them elsewhere or can start them.
func (c *Client) DeliveriesAway(ctx context.Context) ([]api.Delivery, error) {
	return c.deliveries(ctx, url.Values{"away": {"true"}})
}

// ClaimDeliveries leases, for by, the messages due to an owner without a session here.
// It is empty if nothing is due or the server delivers them itself. Settle a claim
// with SettleDeliveries.
func (c *Client) ClaimDeliveries(ctx context.Context, owner, by string) (api.Claim, error) {
	var out api.Claim
	err := c.call(ctx, "POST", "/v1/deliveries/claim", map[string]string{"owner": owner, "by": by}, &out)
	return out, err
}

// SettleDeliveries reports the outcome of a claim: Delivered, Dead, or Pending if it
// was not submitted and is due again later. Idempotent.
func (c *Client) SettleDeliveries(ctx context.Context, batch string, state process.DeliveryState, detail string) error {
	return c.across(ctx, func() error {
		return c.call(ctx, "POST", "/v1/deliveries/settle", map[string]string{"batch": batch, "state": string(state), "detail": detail}, nil)
	})
}

// ExecFollow starts a command in the foreground and calls take at once, for each piece
// of output (in Data), and at the end. The command blocks when take is 2 MiB behind.
// An error of take or ctx leaves it running. No byte is lost or repeated if the server
// dies.
func (c *Client) ExecFollow(ctx context.Context, r api.ExecRequest, take func(api.ExecResult) error) error {
	r.Follow = true
	w, made := execBody(r)
	id, cursor := "", uint64(0)
	return c.across(ctx, func() error {
		path, body := "/v1/exec", any(w)
		if id != "" {
			path, body = processPath(id, "/follow"), map[string]any{"cursor": cursor, "caller": r.Owner}
		}
		resp, err := c.Do(ctx, "POST", path, body)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		lines := json.NewDecoder(resp.Body)
		for {
			var res api.ExecResult
			if err := lines.Decode(&res); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return fmt.Errorf("%w: %w", api.ErrUnreachable, err)
			}
			res.Existed = res.Existed && !made
			id, cursor = res.ID, res.Cursor
			if err := take(res); err != nil {
				return err
			}
			if res.Status.Ended() {
				_, _ = io.Copy(io.Discard, resp.Body) // the connection serves again
				return nil
			}
		}
	})
}
