package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"gascity.dev/gc/internal/fleet"
)

// Client is a fleet that a [Handler] serves. It is safe for concurrent use.
type Client struct {
	http *http.Client
	host string

	mu   sync.Mutex // guards last
	last fleet.Snapshot
}

var _ fleet.Fleet = (*Client)(nil)

// New returns a client whose connections dial makes. name is what the fleet is called while
// nothing is known of it; host is the other machine, "" for this one.
func New(name, host string, dial func(ctx context.Context) (net.Conn, error)) *Client {
	t := &http.Transport{
		DialContext:  func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		MaxIdleConns: 4, IdleConnTimeout: 10 * time.Second,
	}
	empty := fleet.Snapshot{Name: name, Host: host, Agents: []fleet.Agent{}, Attention: []fleet.Attention{}, Messages: []fleet.Message{}}
	return &Client{http: &http.Client{Transport: t}, host: host, last: empty}
}

// Served reports whether the server knows these paths; an error means that it does not
// answer.
func (c *Client) Served(ctx context.Context) (bool, error) {
	resp, err := c.send(ctx, http.MethodGet, "/features", nil, nil)
	var other *remoteError
	switch {
	case errors.As(err, &other):
		return other.text != noFleet, nil
	case err != nil:
		return false, err
	}
	resp.Body.Close()
	return true, nil
}

// noFleet is the error of a server that serves no fleet.
const noFleet = "404 Not Found"

// Close implements [fleet.Fleet].
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// address is the URL of a path below base.
func address(path string, q url.Values) string {
	u := "http://controller" + base + path
	if len(q) > 0 {
		u += "?" + q.Encode()
	}
	return u
}

func agentPath(id, more string) string { return "/agents/" + url.PathEscape(id) + more }

// send sends a request; the caller closes the body of the reply.
func (c *Client) send(ctx context.Context, method, path string, q url.Values, body any) (*http.Response, error) {
	var rd io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		rd = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, address(path, q), rd)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, away(ctx, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, replyError(resp)
}

// replyError returns the error of a reply.
func replyError(resp *http.Response) error {
	var f failure
	if json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&f) != nil || f.Text == "" {
		return &remoteError{text: resp.Status}
	}
	return f.err()
}

// away is the error of a server that does not answer.
func away(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return fmt.Errorf("%w: %w", fleet.ErrAway, err)
}

// call sends a request and decodes the reply into out, unless it is nil.
func (c *Client) call(ctx context.Context, method, path string, q url.Values, body, out any) error {
	resp, err := c.send(ctx, method, path, q, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is used again
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return away(ctx, err)
	}
	return nil
}

// Watch implements [fleet.Fleet].
func (c *Client) Watch(ctx context.Context, show func(fleet.Snapshot)) error {
	follow := func(ctx context.Context, show func(fleet.Snapshot)) error {
		return c.follow(ctx, func(s fleet.Snapshot) {
			s.Host = cmp.Or(s.Host, c.host)
			c.note(s)
			show(s)
		})
	}
	return fleet.Steady(ctx, c.note(fleet.Snapshot{}), follow, error.Error, show)
}

// note remembers a snapshot with a time; it returns the newest one.
func (c *Client) note(s fleet.Snapshot) fleet.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.Time.IsZero() {
		c.last = s
	}
	return c.last
}

// errEnded means that the server ended a stream.
var errEnded = fmt.Errorf("%w: the connection ended", fleet.ErrAway)

// follow shows snapshots until the connection breaks.
func (c *Client) follow(ctx context.Context, show func(fleet.Snapshot)) error {
	var j joiner
	return stream(ctx, c, "/agents", url.Values{"watch": {"1"}}, func(p patch) error {
		show(j.next(p))
		return nil
	})
}

// stream calls fn for each line of a reply until it ends, which is an error.
func stream[T any](ctx context.Context, c *Client, path string, q url.Values, fn func(T) error) error {
	resp, err := c.send(ctx, http.MethodGet, path, q, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	dec := json.NewDecoder(resp.Body)
	for {
		var v T
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return errEnded
		} else if err != nil {
			return away(ctx, err)
		}
		if err := fn(v); err != nil {
			return err
		}
	}
}

// Events implements [fleet.Fleet].
func (c *Client) Events(ctx context.Context, after string, fn func(fleet.Event) error) error {
	q := url.Values{}
	if after != "" {
		q.Set("after", after)
	}
	return stream(ctx, c, "/events", q, fn)
}

// Load implements [fleet.Fleet].
func (c *Client) Load(ctx context.Context) (out fleet.Load, err error) {
	err = c.call(ctx, http.MethodGet, "/load", nil, nil, &out)
	return out, err
}

// Explain implements [fleet.Fleet].
func (c *Client) Explain(ctx context.Context, id string) (out fleet.Explanation, err error) {
	err = c.call(ctx, http.MethodGet, agentPath(id, "/explain"), nil, nil, &out)
	return out, err
}

// pageQuery is the query of a page.
func pageQuery(p fleet.Page) url.Values {
	q := url.Values{}
	if p.Before > 0 {
		q.Set("before", strconv.FormatUint(p.Before, 10))
	}
	if p.Lines > 0 {
		q.Set("lines", strconv.Itoa(p.Lines))
	}
	if p.Search != "" {
		q.Set("search", p.Search)
	}
	return q
}

// History implements [fleet.Fleet].
func (c *Client) History(ctx context.Context, id string, p fleet.Page) (out fleet.History, err error) {
	err = c.call(ctx, http.MethodGet, agentPath(id, "/history"), pageQuery(p), nil, &out)
	return out, err
}

// Recording implements [fleet.Fleet].
func (c *Client) Recording(ctx context.Context, id string) (io.ReadCloser, error) {
	resp, err := c.send(ctx, http.MethodGet, agentPath(id, "/recording"), nil, nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Nudge implements [fleet.Fleet].
func (c *Client) Nudge(ctx context.Context, id, text string) (out fleet.Receipt, err error) {
	err = c.call(ctx, http.MethodPost, agentPath(id, "/nudge"), nil, textBody{text}, &out)
	return out, err
}

// Queue implements [fleet.Fleet].
func (c *Client) Queue(ctx context.Context, id, text string) (out fleet.Message, err error) {
	err = c.call(ctx, http.MethodPost, agentPath(id, "/messages"), nil, textBody{text}, &out)
	return out, err
}

// Answer implements [fleet.Fleet].
func (c *Client) Answer(ctx context.Context, id string, a fleet.Answer) error {
	return c.call(ctx, http.MethodPost, agentPath(id, "/respond"), nil, a, nil)
}

// Do implements [fleet.Fleet].
func (c *Client) Do(ctx context.Context, id string, a fleet.Action) error {
	return c.call(ctx, http.MethodPost, agentPath(id, "/actions"), nil, actionBody{a}, nil)
}

// CancelMessage implements [fleet.Fleet].
func (c *Client) CancelMessage(ctx context.Context, message string) error {
	return c.call(ctx, http.MethodDelete, "/messages/"+url.PathEscape(message), nil, nil, nil)
}

// RetryMessage implements [fleet.Fleet].
func (c *Client) RetryMessage(ctx context.Context, message string) error {
	return c.call(ctx, http.MethodPost, "/messages/"+url.PathEscape(message)+"/retry", nil, nil, nil)
}

// Commands implements [fleet.Fleet].
func (c *Client) Commands(ctx context.Context) ([]fleet.Command, error) {
	var out commandsReply
	err := c.call(ctx, http.MethodGet, "/commands", nil, nil, &out)
	return out.Commands, err
}

// Output implements [fleet.Fleet].
func (c *Client) Output(ctx context.Context, command string, p fleet.Page) (out fleet.Output, err error) {
	err = c.call(ctx, http.MethodGet, "/commands/"+url.PathEscape(command)+"/output", pageQuery(p), nil, &out)
	return out, err
}
