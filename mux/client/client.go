package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"gascity.dev/gc/internal/alive"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/transport"
	"gascity.dev/gc/mux/many"
)

// Client talks to one server over its socket, with connections kept alive. It
// is safe for concurrent use. Methods with a session's name also take its id;
// they return ErrNotFound when there is no such session, and ErrUnreachable
// when the server cannot be asked, in which case nothing is known. A server of this
// machine that hangs is ErrFrozen after 10 s. A request of more than 24 MiB is
// ErrTooLarge.
type Client struct {
	paths   api.Paths
	conns   transport.Transport
	host    string    // of another machine, for errors
	stream  io.Closer // that carries all connections; may be nil
	watched watched
	cheap   bool         // connections are cheap to open: a server that hangs can be probed
	silent  atomic.Bool  // the last request got no reply: the server was frozen
	alive   *alive.Group // of the requests that wait
}

// Idle connections of a client. The server closes those that it received a request
// on after idleConn, new ones after ten seconds.
const (
	maxIdle   = 8
	firstTime = 5 * time.Second
)

// host is the authority of the requests; nothing resolves it.
const host = "mux"

// newClient returns a client that connects with dial. It reuses first, the connection
// over which the server was checked; it may be nil.
func newClient(p api.Paths, first net.Conn, dial func(ctx context.Context) (net.Conn, error)) *Client {
	c := &Client{
		paths: p, cheap: p.Dir != "", conns: transport.Transport{Dial: dial, MaxIdle: maxIdle},
	}
	c.alive = alive.NewGroup(c.askStatus, api.ErrFrozen)
	if first != nil {
		c.conns.Keep(first, firstTime)
	}
	return c
}

// NewClient returns a client over any stream that reaches a server's socket,
// such as the standard streams of `ssh HOST gc mux dial`. Every connection is
// made with dial.
func NewClient(dial func(ctx context.Context) (net.Conn, error)) *Client {
	return newClient(api.Paths{}, nil, dial)
}

// NewShared is NewClient for streams that share a link to another machine, so that one is
// cheap to open: a server there that hangs is ErrFrozen, as one of this machine.
func NewShared(dial func(ctx context.Context) (net.Conn, error)) *Client {
	c := NewClient(dial)
	c.cheap = true
	return c
}

// Stream returns a connection to the server's socket, for `gc mux dial`; the
// caller closes it.
func (c *Client) Stream(ctx context.Context) (net.Conn, error) {
	return c.conns.Conn(ctx)
}

// Paths returns where the server lives; zero for a client of [NewClient].
func (c *Client) Paths() api.Paths { return c.paths }

// Close closes idle connections, and all that [Host.Dial] made. It is idempotent and
// always returns nil.
func (c *Client) Close() error {
	c.conns.CloseIdleConnections()
	if c.stream != nil {
		c.stream.Close()
	}
	return nil
}

// sessionPath is the path of a session's resource.
func sessionPath(name string, more string) string {
	name = url.PathEscape(name)
	if name == "." || name == ".." { // must not climb the path
		name = strings.ReplaceAll(name, ".", "%2E")
	}
	return "/v1/sessions/" + name + more
}

// maxReply bounds what a client reads of one reply: 100,000 lines of history
// with attributes fit.
const maxReply = 256 << 20

// call sends in as JSON and decodes the reply into out; either may be nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	resp, err := c.Do(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(out); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", api.ErrUnreachable, err)
	}
	return nil
}

// Do sends a request of the /v1 API for which there is no method, and returns the
// reply to one that succeeded; the caller closes its body. An in that is an
// [io.Reader] is sent as it is, anything else but nil as JSON.
func (c *Client) Do(ctx context.Context, method, path string, in any) (*http.Response, error) {
	body, raw := in.(io.Reader)
	if in != nil && !raw {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", api.ErrRequest, err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+host+path, body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrRequest, err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	begun := time.Now()
	watched, done := c.watch(ctx, method, path)
	resp, err := c.conns.RoundTrip(req.WithContext(watched))
	// The caller's own deadline may be as long and end first.
	c.silent.Store(errors.Is(err, api.ErrFrozen) || err != nil && isQuick(method, path) && time.Since(begun) > alive.Limit*9/10)
	if err != nil {
		done()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, c.unreachable(err)
	}
	resp.Body = &watchedBody{resp.Body, done}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, replyError(resp)
}

// watch ends a request to a server that hangs. If connections are not cheap, the program
// that makes them does that.
func (c *Client) watch(ctx context.Context, method, path string) (watched context.Context, done func()) {
	if !c.cheap {
		return ctx, func() {}
	}
	limit := alive.Limit
	if c.silent.Load() {
		limit = alive.Again
	}
	if isQuick(method, path) {
		return alive.WatchFor(ctx, limit, nil, api.ErrFrozen)
	}
	return c.alive.Watch(ctx, limit)
}

// isQuick reports whether the server replies to a request at once.
func isQuick(method, path string) bool {
	return method == "GET" && !strings.Contains(path, "wait=") && path != screensPath && !strings.HasPrefix(path, "/v1/events") && !strings.HasPrefix(path, "/v1/city/") && !strings.Contains(path, "/recording") && !strings.HasSuffix(path, "/control")
}

// askStatus requests the status, which needs no waiting, on a connection of its own.
func (c *Client) askStatus(ctx context.Context) error {
	one := transport.Transport{Dial: c.conns.Dial}
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+host+"/v1/status", nil)
	if err != nil {
		return err
	}
	req.Close = true
	resp, err := one.RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// watchedBody is a reply's body; the server is watched until it is closed.
type watchedBody struct {
	io.ReadCloser
	done func()
}

// Close ends the watch too.
func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.done()
	return err
}

// unreachable is the error of a request without a reply.
func (c *Client) unreachable(err error) error {
	var h *HostError
	if errors.As(err, &h) { // complete by itself; how the request failed adds nothing
		if instead := new(many.InsteadError); h.Output == "" && errors.As(err, &instead) {
			return &HostError{Host: h.Host, Status: h.Status, Output: "instead of gc, something there printed: " + instead.Printed}
		}
		return h
	}
	var refused *many.Refused
	if errors.As(err, &refused) && refused.Code == NoServer {
		return &HostError{Host: c.host, Status: hostNoServer}
	}
	if c.host != "" {
		return fmt.Errorf("%w: %s: %w", api.ErrUnreachable, c.host, err)
	}
	if c.paths.Dir == "" && (errors.Is(err, api.ErrUnreachable) || errors.Is(err, api.ErrNoServer) || errors.Is(err, api.ErrStateDir)) {
		return err // the stream's own words
	}
	return fmt.Errorf("%w: %w", api.ErrUnreachable, err)
}

// replyError reads the error of a reply.
func replyError(resp *http.Response) error {
	e := &api.RemoteError{Status: resp.StatusCode}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if json.Unmarshal(b, e) != nil || e.Message == "" {
		e.Message = fmt.Sprintf("mux server: %s", resp.Status)
	}
	return e
}

// Status describes the server and its keeper.
func (c *Client) Status(ctx context.Context) (api.ServerStatus, error) {
	var s api.ServerStatus
	err := c.call(ctx, "GET", "/v1/status", nil, &s)
	return s, err
}

// Shutdown ends the server and the keeper and returns when both are gone.
// ErrBusy with running sessions, unless force kills them first; ErrUnreachable if they
// have not ended within 30 s.
func (c *Client) Shutdown(ctx context.Context, force bool) error {
	s, err := c.Status(ctx)
	if err != nil {
		return err
	}
	err = c.call(ctx, "POST", "/v1/shutdown?force="+strconv.FormatBool(force), nil, nil)
	if err != nil {
		return err
	}
	c.conns.CloseIdleConnections()
	if c.paths.Dir == "" {
		return c.awaitGone(ctx)
	}
	return waitGone(ctx, c.paths, s.Keeper.PID, s.Server.PID)
}

// awaitGone waits until a server on another machine no longer replies.
func (c *Client) awaitGone(ctx context.Context) error {
	for deadline := time.Now().Add(goneLimit); time.Now().Before(deadline); {
		switch _, err := c.Status(ctx); {
		case errors.Is(err, api.ErrNoServer):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.As(err, new(*HostError)):
			return nil // nothing is left that could reply
		}
		c.conns.CloseIdleConnections()
		if err := clock.Sleep(ctx, relistStep); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the server did not end within %v", api.ErrUnreachable, goneLimit)
}

// Upgrade replaces the server's program by the one at path, under the running
// sessions, and returns when the new server answers; version is what that one
// reports. ErrUpgrade if it did not become ready within 5 s; the old program then
// serves again, and nothing is lost.
func (c *Client) Upgrade(ctx context.Context, path, version string) error {
	before, err := c.Status(ctx)
	if err != nil {
		return err
	}
	in := map[string]string{"path": path, "version": version}
	if err := c.call(ctx, "POST", "/v1/upgrade", in, nil); err != nil {
		return err
	}
	for {
		c.conns.CloseIdleConnections()
		after, err := c.Status(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, api.ErrUnreachable):
			return err
		case err == nil && after.Server.PID != before.Server.PID:
			if after.UpgradeFailed != "" {
				return fmt.Errorf("%w: %s", api.ErrUpgrade, after.UpgradeFailed)
			}
			return nil
		}
		if err := clock.Sleep(ctx, relistStep); err != nil {
			return err
		}
	}
}

// Create starts a session. ErrExists for a live name, ErrBadName, ErrSize,
// ErrWorkDir, ErrSpawn. If the program is not found, the session exits with status
// 127 and shows why. ErrVersion if r.Control is set and the server is too old for it.
func (c *Client) Create(ctx context.Context, r api.CreateRequest) (api.SessionInfo, error) {
	var s api.SessionInfo
	err := c.call(ctx, "POST", "/v1/sessions", r, &s)
	if err == nil && r.Control && !s.Control {
		return s, errors.Join(fmt.Errorf("%w: sessions with a control socket", api.ErrVersion), c.Kill(ctx, s.ID, 0))
	}
	return s, err
}

// List returns the sessions with the prefix, sorted by name and then age; all
// includes exited ones that are still kept.
func (c *Client) List(ctx context.Context, prefix string, all bool) ([]api.SessionInfo, error) {
	var out struct {
		Sessions []api.SessionInfo `json:"sessions"`
	}
	q := url.Values{}
	if prefix != "" {
		q.Set("prefix", prefix)
	}
	if all {
		q.Set("all", "true")
	}
	err := c.call(ctx, "GET", "/v1/sessions?"+q.Encode(), nil, &out)
	return out.Sessions, err
}

// Get returns the live session of the name, else the newest exited one.
func (c *Client) Get(ctx context.Context, name string) (api.SessionInfo, error) {
	var s api.SessionInfo
	err := c.call(ctx, "GET", sessionPath(name, ""), nil, &s)
	return s, err
}

// Kill ends the session's whole process tree (TERM, after grace KILL) and
// removes the session: its screen and metadata are gone when Kill returns. Grace 0
// sends KILL at once. If the server is replaced meanwhile, the next one finishes it.
func (c *Client) Kill(ctx context.Context, name string, grace time.Duration) error {
	end := time.Now().Add(grace)
	err := c.kill(ctx, name, grace)
	if !errors.Is(err, api.ErrLeaving) {
		return err
	}
	var s api.SessionInfo
	err = c.across(ctx, func() error {
		var err error
		s, err = c.Get(ctx, name)
		return err
	})
	if err == nil { // by its id: the name may have another session by now
		err = c.across(ctx, func() error { return c.kill(ctx, s.ID, max(0, time.Until(end))) })
	}
	if errors.Is(err, api.ErrNotFound) {
		return nil
	}
	return err
}

// KillUnchanged is Kill for a session whose last input and output are still those of info:
// otherwise ErrActive, and nothing is ended. Nothing is typed into it from then on. A server
// of an older version does not look.
func (c *Client) KillUnchanged(ctx context.Context, info api.SessionInfo, grace time.Duration) error {
	q := url.Values{"grace": {grace.String()}, "input": {info.LastInput.Format(time.RFC3339Nano)}, "output": {info.LastOutput.Format(time.RFC3339Nano)}}
	return c.call(ctx, "DELETE", sessionPath(info.ID, "?"+q.Encode()), nil, nil)
}

// End ends the session's whole process tree as Kill does, but keeps the session as one
// that exited: its screen and its exit, whose reason is api.ReasonStopped. A server of
// an older version removes it. If the server is replaced meanwhile, End repeats its request.
func (c *Client) End(ctx context.Context, name string, grace time.Duration) error {
	end := time.Now().Add(grace)
	return c.across(ctx, func() error {
		left := max(0, time.Until(end))
		return c.call(ctx, "DELETE", sessionPath(name, "?keep=true&grace="+url.QueryEscape(left.String())), nil, nil)
	})
}

func (c *Client) kill(ctx context.Context, name string, grace time.Duration) error {
	return c.call(ctx, "DELETE", sessionPath(name, "?grace="+url.QueryEscape(grace.String())), nil, nil)
}

// Events subscribes to the events that follow the one with the id after; "" means
// from now on. The subscription is complete when Events returns. ErrTooOld if the
// events that follow it are no longer kept (the server keeps 10,000).
func (c *Client) Events(ctx context.Context, after string) (*EventStream, error) {
	q := ""
	if after != "" {
		q = "?after=" + url.QueryEscape(after)
	}
	resp, err := c.Do(ctx, "GET", "/v1/events"+q, nil)
	if err != nil {
		return nil, err
	}
	return newEventStream(resp.Body), nil
}
