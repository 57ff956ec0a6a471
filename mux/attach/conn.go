package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// session is the session that an attachment shows.
type session struct {
	client *client.Client
	name   string
	me     string // the client's number, under which the server counts its input
	id     string // once known: a later session of the same name is another one
}

// dial opens a connection. at is how far the terminal came on a lost one that it
// replaces; nil for the first. meanwhile, unless nil, is called while the server
// answers.
func (s *session) dial(ctx context.Context, cols, rows int, o Options, at *progress, meanwhile func()) (*client.AttachConn, error) {
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
	conn, err := s.client.AttachWhile(ctx, r, meanwhile)
	if err != nil {
		return nil, err
	}
	if s.id == "" {
		s.id = conn.ID()
	}
	if s.id == "" { // an older server
		info, err := s.client.Get(ctx, s.name)
		if err != nil {
			conn.Drop()
			return nil, err
		}
		s.id = info.ID
	}
	return conn, nil
}

// exit returns how the session ended; nil if unknown.
func (s *session) exit(ctx context.Context) *api.Exit {
	if s.id == "" {
		return nil
	}
	info, err := s.client.Get(ctx, s.id)
	if err != nil {
		return nil
	}
	return info.Exit
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

// serve uses one connection until it ends.
func (a *attachment) serve(conn *client.AttachConn) ending {
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
	conn.Drop()
	<-written
	return end
}

func (a *attachment) setConn(conn *client.AttachConn) {
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
		conn.Drop()
	}
}

// writeMessages sends input and sizes until an error. What a server that died did
// not bring to the program goes first on the next connection.
func (a *attachment) writeMessages(ctx context.Context, conn *client.AttachConn) {
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
			if conn.Control(ctx, api.AttachControl{Type: "look"}) != nil {
				return
			}
		case <-a.resized:
			cols, rows := a.screen.size()
			if a.tellSize(ctx, conn, api.Size{Cols: cols, Rows: rows}) != nil || a.tell(ctx, conn) != nil {
				return
			}
		case m := <-a.messages:
			if m.detach {
				if conn.Control(ctx, api.AttachControl{Type: "detach"}) != nil {
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
func (a *attachment) write(ctx context.Context, conn *client.AttachConn, p []byte) error {
	cols, rows := a.screen.size()
	if now := (api.Size{Cols: cols, Rows: rows}); now != a.sized {
		if err := a.tellSize(ctx, conn, now); err != nil {
			return err
		}
	}
	return conn.Write(ctx, p)
}

// tellSize sends the size of the terminal.
func (a *attachment) tellSize(ctx context.Context, conn *client.AttachConn, now api.Size) error {
	a.sized = now
	return conn.Resize(ctx, now.Cols, now.Rows)
}

// tell sends what the terminal looks like, if known.
func (a *attachment) tell(ctx context.Context, conn *client.AttachConn) error {
	m, known := a.look.control(a.screen)
	if !known {
		return nil
	}
	return conn.Control(ctx, m)
}

// readMessages shows what the server sends until the connection ends.
func (a *attachment) readMessages(ctx context.Context, conn *client.AttachConn) ending {
	var exited bool
	var exit *api.Exit
	buf := make([]byte, 32<<10)
	for {
		control, output, err := conn.Next(ctx)
		switch {
		case err != nil && exited:
			return ending{exited: true, exit: exit}
		case errors.Is(err, client.ErrKicked):
			return ending{kicked: true}
		case errors.Is(err, api.ErrNested):
			return ending{failed: err}
		case err != nil:
			return ending{lost: err}
		case control == nil:
			if end, ok := a.show(output, buf); !ok {
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
		a.shown.told(*control)
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
func (a *attachment) reconnect(lost error) (*client.AttachConn, ending) {
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
