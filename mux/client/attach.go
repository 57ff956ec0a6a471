package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"gascity.dev/gc/mux/api"
	"github.com/coder/websocket"
)

// AttachConn is a client's end of an attach connection. One goroutine may read
// while another writes.
type AttachConn struct {
	id    string // of the session
	typed Typed
	ws    *websocket.Conn
	ended atomic.Bool // the server closed the connection with a close frame
}

// Limits of one message of an attach connection.
const (
	maxFrame   = 64 << 20 // of Read: a full history paint
	maxControl = 64 << 10 // of a control message that Next reads
)

// ErrKicked is the error of a connection that the server closed because another
// terminal asked to be alone.
var ErrKicked = errors.New("another terminal detached this one")

// Typed is how much of a client's input a server has, over all connections with the
// same AttachRequest.Client.
type Typed struct {
	Known bool   // false: an older server, which does not count
	Taken uint64 // bytes that must not be sent again
	Lost  uint64 // the last Lost of them may not have reached the program
}

func readTyped(h http.Header) (t Typed) {
	n, _ := fmt.Sscanf(h.Get(api.TypedHeader), "%d %d", &t.Taken, &t.Lost)
	t.Known = n == 2
	return t
}

// Attach connects to a session. ErrNotFound if there is none, ErrExited if it ended
// and r.Running is set, ErrSize.
func (c *Client) Attach(ctx context.Context, r api.AttachRequest) (*AttachConn, error) {
	return c.AttachWhile(ctx, r, nil)
}

// AttachWhile is Attach and calls meanwhile, unless nil, while the server answers.
func (c *Client) AttachWhile(ctx context.Context, r api.AttachRequest, meanwhile func()) (*AttachConn, error) {
	q := url.Values{}
	q.Set("cols", strconv.Itoa(r.Cols))
	q.Set("rows", strconv.Itoa(r.Rows))
	if r.ReadOnly {
		q.Set("readonly", "true")
	}
	if r.Scrollback {
		q.Set("scrollback", "true")
	}
	if r.Alone {
		q.Set("alone", "true")
	}
	if r.Running {
		q.Set("running", "true")
	}
	if r.Back {
		q.Set("back", "true")
	}
	if len(r.Through) > 0 {
		q.Set("through", joinInts(r.Through))
	}
	if r.Client != "" {
		q.Set("client", r.Client)
	}
	if len(r.Images) > 0 {
		q.Set("images", strings.Join(r.Images, ","))
	}
	if r.Resume {
		q.Set("offset", strconv.FormatUint(r.Offset, 10))
		q.Set("skip", strconv.FormatUint(r.Skip, 10))
	}
	ws, resp, err := websocket.Dial(ctx, "http://"+host+sessionPath(r.Name, "/attach?"+q.Encode()),
		&websocket.DialOptions{HTTPClient: &http.Client{Transport: c.conns.While(meanwhile)}, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if resp != nil && resp.Body != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return nil, replyError(resp)
		}
		return nil, c.unreachable(err)
	}
	ws.SetReadLimit(-1) // Read has its own, Next hands on a message in pieces
	return &AttachConn{ws: ws, id: resp.Header.Get(api.SessionHeader), typed: readTyped(resp.Header)}, nil
}

// ID returns the id of the session; "" if the server is too old to send it.
func (a *AttachConn) ID() string { return a.id }

// Typed returns what the server had of the client's input when it connected.
func (a *AttachConn) Typed() Typed { return a.typed }

// Read returns the next message: a control message, or terminal bytes. io.EOF after
// the server closed the connection with a close frame, ErrKicked and ErrNested if it did
// so for these reasons. A message of more than 64 MiB is an error and breaks the
// connection.
func (a *AttachConn) Read(ctx context.Context) (*api.AttachControl, []byte, error) {
	kind, r, err := a.reader(ctx)
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, maxFrame+1))
	if err != nil {
		return nil, nil, err
	}
	if len(data) > maxFrame {
		a.Drop()
		return nil, nil, fmt.Errorf("attach: a message of more than %d bytes", maxFrame)
	}
	if kind == websocket.MessageBinary {
		return nil, data, nil
	}
	m := new(api.AttachControl)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, nil, fmt.Errorf("attach: bad control message: %w", err)
	}
	return m, nil, nil
}

// Next returns the next message like Read, but terminal bytes of any length, as a
// reader to be read to its end before the next call. It skips text that is not a
// control message of at most 64 KiB.
func (a *AttachConn) Next(ctx context.Context) (*api.AttachControl, io.Reader, error) {
	for {
		kind, r, err := a.reader(ctx)
		if err != nil {
			return nil, nil, err
		}
		if kind == websocket.MessageBinary {
			return nil, r, nil
		}
		data, err := io.ReadAll(io.LimitReader(r, maxControl+1))
		if err != nil {
			return nil, nil, err
		}
		if len(data) > maxControl {
			if _, err := io.Copy(io.Discard, r); err != nil {
				return nil, nil, err
			}
			continue
		}
		m := new(api.AttachControl)
		if json.Unmarshal(data, m) == nil {
			return m, nil, nil
		}
	}
}

// reader returns the next message, and the error that a close frame stands for.
func (a *AttachConn) reader(ctx context.Context) (websocket.MessageType, io.Reader, error) {
	kind, r, err := a.ws.Reader(ctx)
	switch websocket.CloseStatus(err) {
	case websocket.StatusNormalClosure:
		a.ended.Store(true)
		err = io.EOF
	case api.StatusKicked:
		err = ErrKicked
	case api.StatusNested:
		err = api.ErrNested
	}
	return kind, r, err
}

// Write sends input, at most 1 MiB: the server ends the connection of a client that sends
// more at once.
func (a *AttachConn) Write(ctx context.Context, p []byte) error {
	return a.ws.Write(ctx, websocket.MessageBinary, p)
}

// Control sends a control message.
func (a *AttachConn) Control(ctx context.Context, m api.AttachControl) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return a.ws.Write(ctx, websocket.MessageText, b)
}

// Resize sends the size of the client's terminal.
func (a *AttachConn) Resize(ctx context.Context, cols, rows int) error {
	return a.Control(ctx, api.AttachControl{Type: "resize", Cols: cols, Rows: rows})
}

// Ping waits until the server answers; another goroutine must be reading.
func (a *AttachConn) Ping(ctx context.Context) error { return a.ws.Ping(ctx) }

// Drop breaks the connection without a word; calls under way return.
func (a *AttachConn) Drop() { _ = a.ws.CloseNow() }

// detachTime bounds Close.
const detachTime = time.Second

// Close detaches: when it returns without an error, the server no longer counts the
// client. It waits for a server that hangs at most detachTime. It is safe while another
// goroutine reads.
func (a *AttachConn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), detachTime)
	defer cancel()
	err := a.Control(ctx, api.AttachControl{Type: "detach"})
	for err == nil {
		_, _, err = a.Read(ctx) // until the server closes
	}
	a.Drop()
	if a.ended.Load() {
		return nil
	}
	return fmt.Errorf("%w: detach: %w", api.ErrUnreachable, err)
}

// joinInts returns the numbers, separated by commas.
func joinInts(numbers []int) string {
	var b []byte
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return string(b)
}
