package wire

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"github.com/coder/websocket"

	"gascity.dev/gc/internal/fleet"
	socket "gascity.dev/gc/internal/screens/wire"
)

// accept makes a request a WebSocket. The socket of the controller is for one user, who
// has no browser there.
func accept(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err == nil {
		ws.SetReadLimit(maxBody)
	}
	return ws, err
}

// screens sends updates of the screens that the client looks at.
func (s *server) screens(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := s.until(r)
	defer cancel()
	v, err := s.fleet.Screens(ctx)
	if err != nil {
		reply(w, nil, err)
		return
	}
	socket.Serve(ctx, w, r, v)
}

// attach connects a terminal: binary messages are its bytes, text ones are its size.
func (s *server) attach(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := s.until(r)
	defer cancel()
	q := r.URL.Query()
	o := fleet.AttachOptions{ReadOnly: q.Get("readonly") == "true"}
	o.Cols, _ = strconv.Atoi(q.Get("cols")) // 0: the agent's size
	o.Rows, _ = strconv.Atoi(q.Get("rows"))
	t, err := s.fleet.Attach(ctx, r.PathValue("id"), o)
	if err != nil {
		reply(w, nil, err)
		return
	}
	defer t.Close()
	ws, err := accept(w, r)
	if err != nil {
		return // it has replied
	}
	defer ws.CloseNow()
	var typing sync.WaitGroup
	defer typing.Wait()
	defer ws.CloseNow()
	typing.Go(func() {
		defer t.Close()
		for typed(ctx, ws, t) {
		}
	})
	buf := make([]byte, 32<<10)
	for {
		n, err := t.Read(buf)
		if n > 0 && ws.Write(ctx, websocket.MessageBinary, buf[:n]) != nil {
			return
		}
		if err != nil {
			_ = ws.Close(websocket.StatusNormalClosure, "") // the client may be gone
			return
		}
	}
}

// typed passes on one message of the client; false at the end.
func typed(ctx context.Context, ws *websocket.Conn, t fleet.Terminal) bool {
	kind, b, err := ws.Read(ctx)
	if err != nil {
		return false
	}
	if kind == websocket.MessageBinary {
		_, err := t.Write(b)
		return err == nil
	}
	var m sizeBody
	if json.Unmarshal(b, &m) == nil && m.Type == "resize" {
		_ = t.Resize(m.Cols, m.Rows) // the next one may fit
	}
	return true
}
