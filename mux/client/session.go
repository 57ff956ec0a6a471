package client

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/url"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"golang.org/x/sys/unix"
)

// Interrupt types Ctrl-C, or the session's InterruptKeys, ahead of queued input. If the
// program does not read Ctrl-C, its foreground process group gets SIGINT. ErrExited after
// the end.
func (c *Client) Interrupt(ctx context.Context, name string) error {
	return c.call(ctx, "POST", sessionPath(name, "/interrupt"), nil, nil)
}

// Signal sends a signal ("TERM", "SIGUSR1", "15") to the foreground process group.
// ErrRequest for an unknown signal, ErrExited after the end.
func (c *Client) Signal(ctx context.Context, name, sig string) error {
	return c.call(ctx, "POST", sessionPath(name, "/signal"), map[string]string{"signal": sig}, nil)
}

// Resize sets the session's size without clients. ErrSize outside the limits of
// [api.CheckSize].
func (c *Client) Resize(ctx context.Context, name string, cols, rows int) error {
	return c.call(ctx, "POST", sessionPath(name, "/resize"), api.Size{Cols: cols, Rows: rows}, nil)
}

// Keys presses keys by name (see mux/keys), encoded for the program's modes; literal
// sends them as text. The error wraps keys.ErrUnknown for an unknown key; then nothing
// is sent. ErrExited after the session's end.
func (c *Client) Keys(ctx context.Context, name string, keys []string, literal bool) error {
	return c.call(ctx, "POST", sessionPath(name, "/keys"), api.KeysRequest{Keys: keys, Literal: literal}, nil)
}

// Paste types data, at most 16 MiB (ErrTooLarge), as one paste, bracketed if the program
// asked for that. ErrExited after the end.
func (c *Client) Paste(ctx context.Context, name string, data []byte) error {
	return c.call(ctx, "POST", sessionPath(name, "/paste"), map[string][]byte{"data": data}, nil)
}

// Nudge types a message and submits it. The receipt has every outcome except a missing
// session and a text of more than 1 MiB (ErrTooLarge). After a restart of the server it
// says how far the message came; nothing is typed twice. ErrVersion if r.Interrupt is set
// and the server is too old for it.
func (c *Client) Nudge(ctx context.Context, name string, r api.NudgeRequest) (api.Receipt, error) {
	if r.ID == "" {
		r.ID = rand.Text()
	}
	path := sessionPath(name, "/nudge")
	if r.Interrupt {
		path = sessionPath(name, "/redirect")
	}
	var out api.Receipt
	err := c.across(ctx, func() error { return c.call(ctx, "POST", path, r, &out) })
	return out, err
}

// Wait blocks until a condition holds, the session ends or the time is up, even across
// a restart of the server. ErrRequest for a bad condition.
func (c *Client) Wait(ctx context.Context, name string, r api.WaitRequest) (api.WaitResult, error) {
	var out api.WaitResult
	end := time.Now().Add(r.Timeout)
	err := c.across(ctx, func() error {
		if r.Timeout > 0 {
			r.Timeout = max(time.Until(end), time.Nanosecond)
		}
		return c.call(ctx, "POST", sessionPath(name, "/wait"), r, &out)
	})
	return out, err
}

// Pauses and limits of requests that outlive a server.
const (
	acrossStep  = 5 * time.Millisecond
	acrossMost  = 250 * time.Millisecond
	acrossLimit = 15 * time.Second // without a server
	acrossCuts  = 1000             // servers that died during the request: it may be the cause
)

// across repeats a request that the server's death cut off. The keeper starts another
// server and keeps the socket open meanwhile; without a keeper, connecting fails and
// across returns the error.
func (c *Client) across(ctx context.Context, f func() error) error {
	reached := time.Now() // when a server was last known to run
	pause := acrossStep
	for cuts := 0; ; pause = min(2*pause, acrossMost) {
		err := f()
		if err == nil || errors.Is(err, api.ErrFrozen) || !errors.Is(err, api.ErrUnreachable) || errors.Is(err, api.ErrNoServer) || isDeaf(err) {
			return err
		}
		if wasCut(err) {
			reached, pause = time.Now(), acrossStep
			cuts++
		}
		if time.Since(reached) > acrossLimit || cuts > acrossCuts {
			return err
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// wasCut reports whether a connection broke after a server had accepted it.
func wasCut(err error) bool {
	for _, cut := range []error{io.EOF, io.ErrUnexpectedEOF, unix.ECONNRESET, unix.EPIPE} {
		if errors.Is(err, cut) {
			return true
		}
	}
	return false
}

// Meta returns the session's metadata.
func (c *Client) Meta(ctx context.Context, name string) (map[string]string, error) {
	var out struct {
		Meta map[string][]byte `json:"meta"`
	}
	err := c.call(ctx, "GET", sessionPath(name, "/meta"), nil, &out)
	return api.MetaStrings(out.Meta), err
}

// GetMeta returns one value; "" if it is not set.
func (c *Client) GetMeta(ctx context.Context, name, key string) (string, error) {
	var out struct {
		Value []byte `json:"value"`
	}
	err := c.call(ctx, "GET", sessionPath(name, "/meta?key="+url.QueryEscape(key)), nil, &out)
	return string(out.Value), err
}

// SetMeta sets one value: any bytes, at most 1 MiB (ErrTooLarge), under a key of 1 to 1024
// bytes (ErrRequest). A session has at most 1024 keys (ErrTooLarge). The value is on disk
// when SetMeta returns.
func (c *Client) SetMeta(ctx context.Context, name, key, value string) error {
	in := map[string][]byte{"value": []byte(value)}
	return c.call(ctx, "PUT", sessionPath(name, "/meta?key="+url.QueryEscape(key)), in, nil)
}

// RemoveMeta removes one value; nil if it was not set.
func (c *Client) RemoveMeta(ctx context.Context, name, key string) error {
	return c.call(ctx, "DELETE", sessionPath(name, "/meta?key="+url.QueryEscape(key)), nil, nil)
}

// ClearHistory deletes the scrollback and keeps the screen.
func (c *Client) ClearHistory(ctx context.Context, name string) error {
	return c.call(ctx, "POST", sessionPath(name, "/clear"), nil, nil)
}

// Processes returns the live processes of the session's tree.
func (c *Client) Processes(ctx context.Context, name string) ([]api.ProcessInfo, error) {
	var out struct {
		Processes []api.ProcessInfo `json:"processes"`
	}
	err := c.call(ctx, "GET", sessionPath(name, "/processes"), nil, &out)
	return out.Processes, err
}

// ProcessAlive reports whether the session's tree has a live process with one of the
// names; true if names is empty.
func (c *Client) ProcessAlive(ctx context.Context, name string, names []string) (bool, error) {
	var out struct {
		Alive bool `json:"alive"`
	}
	err := c.call(ctx, "POST", sessionPath(name, "/alive"), map[string][]string{"names": names}, &out)
	return out.Alive, err
}

// Recording writes the session's recording to w, as api.RecordingASCIICast or
// api.RecordingRaw; "" means the first. ErrRequest if the session has no recording.
func (c *Client) Recording(ctx context.Context, name, format string, w io.Writer) error {
	resp, err := c.Do(ctx, "GET", sessionPath(name, "/recording?format="+url.QueryEscape(format)), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(w, resp.Body)
	return err
}

// DropRecording removes the recording of an ended session, given by its id; nil if it has
// none. ErrRequest for a running session.
func (c *Client) DropRecording(ctx context.Context, id string) error {
	return c.call(ctx, "DELETE", sessionPath(id, "/recording"), nil, nil)
}

// Activities returns what the programs of the named running sessions, at most 4096
// (ErrTooLarge), are doing, in the order of the names; others are left out. It does not wait for a screen that is being
// painted: the last whole one counts.
func (c *Client) Activities(ctx context.Context, names []string) ([]api.SessionActivity, error) {
	var out struct {
		Sessions []api.SessionActivity `json:"sessions"`
	}
	err := c.call(ctx, "POST", "/v1/activity", map[string][]string{"names": names}, &out)
	return out.Sessions, err
}

// AliveMany returns the sessions, of at most 4096 (ErrTooLarge), in which such a process
// was seen alive. The absence of a session proves nothing: ask [Client.ProcessAlive].
func (c *Client) AliveMany(ctx context.Context, rs []api.AliveRequest) ([]string, error) {
	var out struct {
		Alive []string `json:"alive"`
	}
	err := c.call(ctx, "POST", "/v1/alive", map[string][]api.AliveRequest{"requests": rs}, &out)
	return out.Alive, err
}

// Rename gives a running session another name; its id, clients and queued messages
// stay. ErrExists if a session of that name is running, ErrExited if this one has
// ended.
func (c *Client) Rename(ctx context.Context, name, to string) error {
	return c.call(ctx, "POST", sessionPath(name, "/rename"), api.RenameRequest{Name: to}, nil)
}
