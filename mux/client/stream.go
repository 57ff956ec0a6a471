package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"gascity.dev/gc/mux/api"
	"github.com/coder/websocket"
)

// EventStream delivers events in order. One goroutine reads it.
type EventStream struct {
	body io.ReadCloser
	r    *bufio.Reader
	last string
}

func newEventStream(body io.ReadCloser) *EventStream {
	return &EventStream{body: body, r: bufio.NewReader(body)}
}

// maxEvent bounds one event on the wire.
const maxEvent = 1 << 20

// Next waits for the next event. ErrSlow: events were dropped, and a new subscription
// after Last may still find them. Any other error means that the server is gone or the
// ctx of Events ended.
func (s *EventStream) Next() (api.Event, error) {
	var data []byte
	kind := ""
	for {
		line, err := s.r.ReadBytes('\n')
		if err != nil {
			return api.Event{}, fmt.Errorf("%w: %w", api.ErrUnreachable, err)
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) == 0 && kind == "slow":
			return api.Event{}, api.ErrSlow
		case len(line) == 0 && data != nil:
			var e api.Event
			if err := json.Unmarshal(data, &e); err != nil {
				return api.Event{}, fmt.Errorf("%w: event: %w", api.ErrUnreachable, err)
			}
			s.last = e.ID
			return e, nil
		case bytes.HasPrefix(line, []byte("event: ")):
			kind = string(line[7:])
		case bytes.HasPrefix(line, []byte("data: ")):
			data = append(data, line[6:]...)
		}
		if len(data) > maxEvent {
			return api.Event{}, fmt.Errorf("%w: event too long", api.ErrUnreachable)
		}
	}
}

// Last returns the id of the newest event that Next returned, to subscribe after it.
func (s *EventStream) Last() string { return s.last }

// Close ends the subscription; a blocked Next returns.
func (s *EventStream) Close() error { return s.body.Close() }

// AttachConn is a client's end of an attach connection. One goroutine may read
// while another writes.
type AttachConn struct {
	id    string // of the session
	typed typedSoFar
	ws    *websocket.Conn
	ended atomic.Bool // the server closed the connection with a close frame
}

// maxFrame bounds one message of an attach connection: a full history paint.
const maxFrame = 64 << 20

// Attach connects to a session. ErrNotFound if there is none, ErrExited if it ended
// and r.Running is set, ErrSize.
func (c *Client) Attach(ctx context.Context, r api.AttachRequest) (*AttachConn, error) {
	return c.attach(ctx, r, nil)
}

// attach is Attach; it calls meanwhile, unless nil, while the server answers.
func (c *Client) attach(ctx context.Context, r api.AttachRequest, meanwhile func()) (*AttachConn, error) {
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
	if r.Client != "" {
		q.Set("client", r.Client)
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
		return nil, unreachable(err)
	}
	ws.SetReadLimit(maxFrame)
	return &AttachConn{ws: ws, id: resp.Header.Get(api.SessionHeader), typed: readTyped(resp.Header)}, nil
}

// Read returns the next message: a control message, or terminal bytes. io.EOF after
// the server closed the connection with a close frame.
func (a *AttachConn) Read(ctx context.Context) (*api.AttachControl, []byte, error) {
	typ, data, err := a.ws.Read(ctx)
	if err != nil {
		var closed websocket.CloseError
		if errors.As(err, &closed) && closed.Code == websocket.StatusNormalClosure {
			a.ended.Store(true)
			return nil, nil, io.EOF
		}
		return nil, nil, err
	}
	if typ == websocket.MessageBinary {
		return nil, data, nil
	}
	m := new(api.AttachControl)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, nil, fmt.Errorf("attach: bad control message: %w", err)
	}
	return m, nil, nil
}

// Write sends input, at most 1 MiB.
func (a *AttachConn) Write(ctx context.Context, p []byte) error {
	return a.ws.Write(ctx, websocket.MessageBinary, p)
}

// Resize sends the size of the client's terminal.
func (a *AttachConn) Resize(ctx context.Context, cols, rows int) error {
	b, err := json.Marshal(api.AttachControl{Type: "resize", Cols: cols, Rows: rows})
	if err != nil {
		return err
	}
	return a.ws.Write(ctx, websocket.MessageText, b)
}

// detachTime bounds Close.
const detachTime = time.Second

// Close detaches: when it returns without an error, the server no longer counts the
// client. It waits for a server that hangs at most detachTime. It is safe while another
// goroutine reads.
func (a *AttachConn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), detachTime)
	defer cancel()
	err := a.ws.Write(ctx, websocket.MessageText, []byte(`{"type":"detach"}`))
	for err == nil {
		_, _, err = a.Read(ctx) // until the server closes
	}
	_ = a.ws.CloseNow()
	if a.ended.Load() {
		return nil
	}
	return fmt.Errorf("%w: detach: %w", api.ErrUnreachable, err)
}
