package api

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
	"os"
	"sync"
	"syscall"
	"time"

	"gascity.dev/gc/internal/alive"
	"gascity.dev/gc/runtime"
)

// Client talks to the controller of one city. It is safe for concurrent use.
type Client struct {
	dir  string
	far  bool // see NewFarClient
	http *http.Client

	mu    sync.Mutex
	conns []net.Conn // all that were made
}

// Dial connects to the controller of the city in dir; ErrNoController if none
// answers, ErrAnotherUser if its socket is closed to this user.
func Dial(dir string) (*Client, error) {
	sock := SocketPath(dir)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return dialUnix(ctx, sock) }
	conn, err := dial(context.Background(), "", "")
	if err != nil {
		return nil, dialError(dir, err)
	}
	first := make(chan net.Conn, 1)
	first <- conn
	c := &Client{dir: dir, conns: []net.Conn{conn}}
	tr := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			select {
			case conn := <-first:
				return conn, nil
			default:
			}
			conn, err := dial(ctx, network, addr)
			if err == nil {
				c.mu.Lock()
				c.conns = append(c.conns, conn)
				c.mu.Unlock()
			}
			return conn, err
		},
		MaxIdleConns: 1, IdleConnTimeout: 10 * time.Second,
	}
	c.http = &http.Client{Transport: tr}
	return c, nil
}

// Connect returns a connection to the socket of the city in dir, for what is served beside
// Client's requests; the caller closes it. Errors are those of Dial.
func Connect(ctx context.Context, dir string) (net.Conn, error) {
	conn, err := dialUnix(ctx, SocketPath(dir))
	if err != nil {
		return nil, dialError(dir, err)
	}
	return conn, nil
}

// dialError explains why the connection failed.
func dialError(dir string, err error) error {
	switch {
	case noListener(err):
		return &Error{Err: fmt.Errorf("%w: %s", ErrNoController, dir), Help: "gc start"}
	case errors.Is(err, os.ErrPermission):
		return &Error{Err: fmt.Errorf("%w: %s", ErrAnotherUser, dir), Help: "run gc as the user that started the city"}
	}
	return fmt.Errorf("controller of %s: %w", dir, err)
}

// Close closes the connections. A connection whose reply has just been read is
// not idle yet, so CloseIdleConnections alone would leave it open.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close() // it may be closed already
	}
	c.conns = nil
	return nil
}

// Status returns the city's status.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	err := c.call(ctx, http.MethodGet, "/v1/status", nil, &s)
	return s, err
}

// SessionProvider returns what hosts the city's sessions: Status.SessionProvider, without
// a query to every session.
func (c *Client) SessionProvider(ctx context.Context) (string, error) {
	var h Hosting
	err := c.call(ctx, http.MethodGet, "/v1/hosting", nil, &h)
	if err == nil {
		return h.SessionProvider, nil
	}
	s, err := c.Status(ctx) // an older controller knows only that
	return s.SessionProvider, err
}

// Stop ends every agent and the controller, and returns when both are gone.
// Cancelling ctx stops only the wait. The error is ErrNoController if the controller
// ended before it could answer: another stop was under way, or it was killed.
func (c *Client) Stop(ctx context.Context, r StopRequest) error {
	err := c.call(ctx, http.MethodPost, "/v1/stop", r, nil)
	if err != nil && (c.far || !isCut(err)) {
		return err
	}
	if unlocked := waitUnlocked(ctx, LockPath(c.dir)); unlocked != nil || err == nil {
		return unlocked
	}
	return &Error{Err: fmt.Errorf("%w: %s", ErrNoController, c.dir), Help: "gc start"}
}

// isCut reports whether the peer closed the connection without an answer.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Restart ends and starts the agents, or all without names. It clears
// quarantine, runs a one_shot once more, and does not count against the restart
// budget. It returns when the starts are done; the error joins their failures.
func (c *Client) Restart(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/restart", names{agents}, nil)
}

// StopAgents ends the agents gracefully and keeps them down until Restart,
// Resume or the next gc start. It returns when they are gone.
func (c *Client) StopAgents(ctx context.Context, agents ...string) error {
	return c.call(ctx, http.MethodPost, "/v1/agents/stop", names{agents}, nil)
}

// Poke makes the controller observe the city now, as the patrol does, and read
// what agents set in their metadata (GC_DRAIN_ACK, GC_RESTART_REQUESTED).
func (c *Client) Poke(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/v1/poke", struct{}{}, nil)
}

// Reload reads city.toml again. A broken file is the error and changes nothing.
func (c *Client) Reload(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/v1/reload", struct{}{}, nil)
}

func (c *Client) call(ctx context.Context, method, path string, body, out any) error {
	var rd io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("controller %s: %w", path, err)
		}
		rd = bytes.NewReader(b)
	}
	u := url.URL{Scheme: "http", Host: "controller", Path: path}
	probe := c.probe
	if method == http.MethodGet {
		probe = nil
	}
	watched, done := ctx, func() {}
	if !c.far { // those in between have limits
		watched, done = alive.Watch(ctx, probe, errFrozen)
	}
	defer done()
	req, err := http.NewRequestWithContext(watched, method, u.String(), rd)
	if err != nil {
		return fmt.Errorf("controller %s: %w", path, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if c.far {
			return farError(err)
		}
		if ctx.Err() == nil && watched.Err() != nil {
			return errFrozen
		}
		if noListener(err) {
			return &Error{Err: fmt.Errorf("%w: %s", ErrNoController, c.dir), Help: "gc start"}
		}
		return fmt.Errorf("controller %s: %w", path, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return decodeError(resp, path)
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("controller %s: %w", path, err)
	}
	return nil
}

// errFrozen means that the controller accepts connections but does not reply.
var errFrozen = fmt.Errorf("%w: the city's controller did not reply within %v", runtime.ErrBackendUnreachable, alive.Limit)

// probe sends the controller a simple query on a connection of its own.
func (c *Client) probe(ctx context.Context) error {
	conn, err := dialUnix(ctx, SocketPath(c.dir))
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, "GET /v1/status HTTP/1.0\r\nHost: controller\r\n\r\n"); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

// decodeError reads the body of a reply that is not 200.
func decodeError(resp *http.Response, path string) error {
	var e WireError
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&e); err != nil || e.Text == "" {
		return fmt.Errorf("controller %s: %s", path, resp.Status)
	}
	return &e
}

func noListener(err error) bool {
	return errors.Is(err, os.ErrNotExist) || isRefused(err)
}
