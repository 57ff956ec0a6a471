// Package wire carries live screens over a WebSocket: [Serve] is the server's end, [Dial] the
// client's. docs/api.md describes the messages.
//
// The client sends what it looks at, the server one message for each update. Nothing is
// queued: the next update is made once the one before is written, so a client that reads slowly
// gets the newest screen. It serves the multiplexer's API, the city's, and their clients.
package wire

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"gascity.dev/gc/internal/screens"
)

// Limits of messages, in bytes.
const (
	maxLooks  = 2 << 20
	maxUpdate = 64 << 20
)

// looks is what a client sends.
type looks struct {
	Looks []screens.Look `json:"looks"`
}

// Serve answers a request for a WebSocket with what v shows, until the client leaves, ctx ends or
// v is closed. It closes v.
func Serve(ctx context.Context, w http.ResponseWriter, r *http.Request, v screens.Viewer) {
	defer v.Close()
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // it has replied
	}
	ws.SetReadLimit(maxLooks)
	ctx, cancel := context.WithCancel(ctx)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer ws.CloseNow()
	defer cancel()
	reader.Go(func() {
		defer v.Close()
		for {
			var m looks
			_, b, err := ws.Read(ctx)
			if err != nil || json.Unmarshal(b, &m) != nil || v.Look(m.Looks) != nil {
				return
			}
		}
	})
	for {
		u, err := v.Next()
		if err != nil {
			return
		}
		b, err := json.Marshal(&u)
		if err != nil || ws.Write(ctx, websocket.MessageText, b) != nil {
			return
		}
	}
}

// viewer is a viewer over a WebSocket.
type viewer struct {
	ws     *websocket.Conn
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
}

// Dial opens a viewer, which lives until Close. If it fails with a response, that is the server's
// refusal, whose body the caller closes.
func Dial(ctx context.Context, url string, c *http.Client) (screens.Viewer, *http.Response, error) {
	ws, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: c, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		if resp != nil && (resp.Body == nil || resp.StatusCode == http.StatusSwitchingProtocols) {
			resp = nil
		}
		return nil, resp, err
	}
	ws.SetReadLimit(maxUpdate)
	v := &viewer{ws: ws}
	v.ctx, v.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return v, nil, nil
}

// Look implements [screens.Viewer].
func (v *viewer) Look(all []screens.Look) error {
	b, err := json.Marshal(looks{all})
	if err != nil {
		return err
	}
	return v.failed(v.ws.Write(v.ctx, websocket.MessageText, b))
}

// Next implements [screens.Viewer].
func (v *viewer) Next() (u screens.Update, err error) {
	_, b, err := v.ws.Read(v.ctx)
	if err != nil {
		return u, v.failed(err)
	}
	return u, json.Unmarshal(b, &u)
}

// failed is the error of a call.
func (v *viewer) failed(err error) error {
	if err != nil && v.ctx.Err() != nil {
		return screens.ErrClosed
	}
	return err
}

// Close implements [screens.Viewer].
func (v *viewer) Close() error {
	v.cancel()
	_ = v.ws.CloseNow() // the server sees it
	return nil
}
