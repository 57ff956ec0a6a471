package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"gascity.dev/gc/mux/api"
	"github.com/coder/websocket"
)

// maxControl bounds a control message of the server, in bytes.
const maxControl = 64 << 10

// clientSession is a session reached through a Client.
type clientSession struct {
	c    *Client
	name string
	me   string // the client's number; empty: it types nothing
	so   typedSoFar
	id   string // once it is known: a new session of the same name is another one
}

func (s *clientSession) dial(ctx context.Context, cols, rows int, o AttachOptions, at *progress, meanwhile func()) (*websocket.Conn, error) {
	r := api.AttachRequest{Name: s.name, Cols: cols, Rows: rows, ReadOnly: o.ReadOnly, Scrollback: o.Scrollback, Alone: o.Alone, Running: at == nil}
	if s.id != "" {
		r.Name = s.id
	}
	if s.me == "" && !o.ReadOnly {
		s.me = newClientID()
	}
	r.Client = s.me
	if at != nil {
		r.Back, r.Scrollback, r.Alone = true, false, false // that was done
		r.Resume = at.known && at.size == api.Size{Cols: cols, Rows: rows}
		r.Offset, r.Skip = at.offset, at.behind
	}
	conn, err := s.c.attach(ctx, r, meanwhile)
	if err != nil {
		return nil, err
	}
	s.so = conn.typed
	if s.id == "" {
		s.id = conn.id
	}
	if s.id == "" { // a server from before the header
		info, err := s.c.Get(ctx, s.name)
		if err != nil {
			conn.ws.CloseNow()
			return nil, err
		}
		s.id = info.ID
	}
	return conn.ws, nil
}

// progress is how far a terminal came in a session's output.
type progress struct {
	known  bool     // else it has to be painted
	size   api.Size // of the terminal, as it was painted
	offset uint64
	behind uint64             // bytes shown that came after offset
	paint  *api.AttachControl // the next bytes are this paint
}

// told notes what the server says about the bytes that follow.
func (p *progress) told(m api.AttachControl) {
	switch m.Type {
	case "paint":
		*p = progress{paint: &m}
	case "offset":
		p.offset, p.behind = m.Offset, 0
	}
}

// finished notes that a message was shown as a whole.
func (p *progress) finished() {
	if m := p.paint; m != nil {
		*p = progress{known: m.Raw, size: api.Size{Cols: m.Cols, Rows: m.Rows}, offset: m.Offset}
	}
}

func (s *clientSession) typed() typedSoFar { return s.so }

func (s *clientSession) exit(ctx context.Context) *api.Exit {
	if s.id == "" {
		return nil
	}
	info, err := s.c.Get(ctx, s.id)
	if err != nil {
		return nil
	}
	return info.Exit
}

// serve uses one connection until it ends.
func (a *attachment) serve(conn *websocket.Conn) ending {
	conn.SetReadLimit(-1) // a paint may be large; it is passed on in pieces
	ctx, cancel := context.WithCancel(a.ctx)
	a.setConn(conn)
	written := make(chan struct{})
	a.start(func() {
		defer close(written)
		// A connection that cannot be written is not read any more either.
		defer cancel()
		defer a.catch() // a panic ends the attachment before it ends the connection
		a.writeMessages(ctx, conn)
	})
	end := a.readMessages(ctx, conn)
	cancel()
	a.setConn(nil)
	conn.CloseNow()
	<-written
	return end
}

func (a *attachment) setConn(conn *websocket.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conn = conn
}

// drop gives up the connection in use; a new one brings a fresh paint.
func (a *attachment) drop() {
	a.mu.Lock()
	conn := a.conn
	a.stale = true
	a.mu.Unlock()
	if conn != nil {
		conn.CloseNow()
	}
}

// writeMessages sends input and sizes until an error. What a server that died did
// not bring to the program goes first on the next connection.
func (a *attachment) writeMessages(ctx context.Context, conn *websocket.Conn) {
	if a.resend(ctx, conn) != nil {
		return
	}
	if a.tell(ctx, conn) != nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.looked:
			if a.tell(ctx, conn) != nil {
				return
			}
		case <-a.changed:
			if conn.Write(ctx, websocket.MessageText, []byte(`{"type":"look"}`)) != nil {
				return
			}
		case <-a.resized:
			cols, rows := a.screen.size()
			if a.tellSize(ctx, conn, api.Size{Cols: cols, Rows: rows}) != nil || a.tell(ctx, conn) != nil {
				return
			}
		case m := <-a.messages:
			if m.detach {
				if conn.Write(ctx, websocket.MessageText, []byte(`{"type":"detach"}`)) != nil {
					return
				}
				continue
			}
			if a.typed(ctx, conn, m.input) != nil {
				return
			}
		}
	}
}

// write sends input. It was typed on a terminal of the size that it has now,
// whether SIGWINCH was told yet or not, and the program is to find that size.
func (a *attachment) write(ctx context.Context, conn *websocket.Conn, p []byte) error {
	cols, rows := a.screen.size()
	if now := (api.Size{Cols: cols, Rows: rows}); now != a.sized {
		if err := a.tellSize(ctx, conn, now); err != nil {
			return err
		}
	}
	return conn.Write(ctx, websocket.MessageBinary, p)
}

// tellSize says how large the terminal is.
func (a *attachment) tellSize(ctx context.Context, conn *websocket.Conn, now api.Size) error {
	b, err := json.Marshal(api.AttachControl{Type: "resize", Cols: now.Cols, Rows: now.Rows})
	if err != nil {
		return err
	}
	a.sized = now
	return conn.Write(ctx, websocket.MessageText, b)
}

// tell says what the terminal looks like, when that is known.
func (a *attachment) tell(ctx context.Context, conn *websocket.Conn) error {
	m, known := a.look.control(a.screen)
	if !known {
		return nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageText, b)
}

// readMessages shows what the server sends until the connection ends.
func (a *attachment) readMessages(ctx context.Context, conn *websocket.Conn) ending {
	var exited bool
	var exit *api.Exit
	buf := make([]byte, 32<<10)
	for {
		kind, r, err := conn.Reader(ctx)
		switch {
		case err != nil && exited:
			return ending{exited: true, exit: exit}
		case websocket.CloseStatus(err) == api.StatusKicked:
			return ending{kicked: true}
		case websocket.CloseStatus(err) == api.StatusNested:
			return ending{failed: api.ErrNested}
		case err != nil:
			return ending{lost: err}
		case kind == websocket.MessageBinary:
			if end, ok := a.show(r, buf); !ok {
				return end
			}
			if !a.seen {
				a.seen = true
				close(a.painted)
			}
			if !a.asked {
				a.asked = true
				a.look.ask(a.screen)
			}
			continue
		}
		b, err := io.ReadAll(io.LimitReader(r, maxControl+1))
		if err != nil {
			return ending{lost: err}
		}
		// Unknown messages, and what is none, are for other clients.
		var control api.AttachControl
		if len(b) > maxControl || json.Unmarshal(b, &control) != nil {
			continue
		}
		switch control.Type {
		case "exit":
			exited, exit = true, control.Exit
		case "typed":
			a.mu.Lock()
			a.kept.taken(control.Typed)
			a.mu.Unlock()
		case "look":
			a.look.ask(a.screen)
		case "paint":
			if a.again { // the last connection may have ended inside of anything
				a.again, a.asked = false, false
				a.screen.reset()
			}
		}
		a.shown.told(control)
	}
}

// show copies one message to the terminal, through buf.
func (a *attachment) show(r io.Reader, buf []byte) (ending, bool) {
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if werr := a.screen.write(buf[:n]); werr != nil {
				return ending{failed: fmt.Errorf("write to the terminal: %w", werr)}, false
			}
			a.shown.behind += uint64(n)
		}
		switch {
		case err == io.EOF:
			a.shown.finished()
			return ending{}, true
		case err != nil:
			return ending{lost: err}, false
		}
	}
}

// reconnect waits for the server to come back. Without a connection the ending
// says why.
func (a *attachment) reconnect(lost error) (*websocket.Conn, ending) {
	limit := a.o.Reconnect
	if limit == 0 {
		limit = api.ReconnectWithin
	}
	if limit < 0 {
		return nil, ending{lost: lost}
	}
	a.mu.Lock()
	if a.stale {
		a.stale, a.shown = false, progress{}
	}
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(a.ctx, limit)
	defer cancel()
	const mostDelay = 250 * time.Millisecond
	for delay := 5 * time.Millisecond; ; delay = min(2*delay, mostDelay) {
		cols, rows := a.screen.size()
		conn, err := a.session.dial(ctx, cols, rows, a.o, &a.shown, nil)
		switch {
		case err == nil:
			a.again, a.sized = true, api.Size{Cols: cols, Rows: rows}
			return conn, ending{}
		case errors.Is(err, api.ErrNotFound), errors.Is(err, api.ErrExited):
			return nil, ending{exited: true, exit: a.session.exit(ctx)}
		case errors.Is(err, api.ErrForeign):
			return nil, ending{lost: err}
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ending{lost: lost}
		case <-timer.C:
		}
	}
}
