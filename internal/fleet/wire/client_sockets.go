package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/coder/websocket"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/screens"
	socket "gascity.dev/gc/internal/screens/wire"
)

// socket opens a WebSocket.
func (c *Client) socket(ctx context.Context, path string, q url.Values) (*websocket.Conn, error) {
	ws, resp, err := websocket.Dial(ctx, address(path, q), &websocket.DialOptions{HTTPClient: c.http, CompressionMode: websocket.CompressionDisabled})
	switch {
	case err == nil:
		ws.SetReadLimit(maxMessage)
		return ws, nil
	case resp != nil && resp.Body != nil && resp.StatusCode != http.StatusSwitchingProtocols:
		return nil, replyError(resp)
	}
	return nil, away(ctx, err)
}

// Screens implements [fleet.Fleet].
func (c *Client) Screens(ctx context.Context) (screens.Viewer, error) {
	v, refusal, err := socket.Dial(ctx, address("/screens", nil), c.http)
	switch {
	case err == nil:
		return viewer{v}, nil
	case refusal != nil:
		return nil, replyError(refusal)
	}
	return nil, away(ctx, err)
}

// viewer is a viewer whose errors are those of a fleet.
type viewer struct{ screens.Viewer }

// Next implements [screens.Viewer].
func (v viewer) Next() (screens.Update, error) {
	u, err := v.Viewer.Next()
	if err != nil && !errors.Is(err, screens.ErrClosed) {
		err = away(context.Background(), err)
	}
	return u, err
}

// terminal is an attached terminal over a WebSocket.
type terminal struct {
	ws     *websocket.Conn
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	rest   io.Reader // of the message that is being read
}

// Attach implements [fleet.Fleet].
func (c *Client) Attach(ctx context.Context, id string, o fleet.AttachOptions) (fleet.Terminal, error) {
	q := url.Values{"cols": {strconv.Itoa(o.Cols)}, "rows": {strconv.Itoa(o.Rows)}}
	if o.ReadOnly {
		q.Set("readonly", "true")
	}
	ws, err := c.socket(ctx, agentPath(id, "/attach"), q)
	if err != nil {
		return nil, err
	}
	t := &terminal{ws: ws}
	t.ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return t, nil
}

func (t *terminal) Read(p []byte) (int, error) {
	for {
		if t.rest != nil {
			n, err := t.rest.Read(p)
			if err == io.EOF {
				t.rest, err = nil, nil
			}
			if n > 0 || err != nil {
				return n, err
			}
			continue
		}
		_, r, err := t.ws.Reader(t.ctx)
		if err != nil {
			if websocket.CloseStatus(err) == websocket.StatusNormalClosure || t.ctx.Err() != nil {
				return 0, io.EOF
			}
			return 0, away(t.ctx, err)
		}
		t.rest = r
	}
}

func (t *terminal) Write(p []byte) (int, error) {
	for at := 0; at < len(p); {
		n := min(len(p)-at, maxBody/2)
		if err := t.ws.Write(t.ctx, websocket.MessageBinary, p[at:at+n]); err != nil {
			return at, away(t.ctx, err)
		}
		at += n
	}
	return len(p), nil
}

func (t *terminal) Resize(cols, rows int) error {
	b, err := json.Marshal(sizeBody{Type: "resize", Cols: cols, Rows: rows})
	if err != nil {
		return err
	}
	return t.ws.Write(t.ctx, websocket.MessageText, b)
}

func (t *terminal) Close() error {
	t.cancel()
	_ = t.ws.CloseNow() // the server sees it
	return nil
}
