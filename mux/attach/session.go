package attach

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// session is the session that an attachment shows.
type session struct {
	client *client.Client
	name   string
	me     string   // the client's number, under which the server counts its input
	id     string   // once known: a later session of the same name is another one
	images []string // that the terminal shows, as far as known
}

// dial opens a connection. at is the terminal's progress on the lost connection
// that this one replaces; nil for the first. meanwhile, unless nil, is called
// while the server answers.
func (s *session) dial(ctx context.Context, cols, rows int, o Options, at *progress, meanwhile func()) (*client.AttachConn, error) {
	r := api.AttachRequest{Name: s.name, Cols: cols, Rows: rows, ReadOnly: o.ReadOnly, Scrollback: o.Scrollback, Alone: o.Alone, Running: at == nil}
	if s.client.Paths() != (api.Paths{}) { // on this machine
		r.Through = through(ctx)
	}
	if s.id != "" {
		r.Name = s.id
	}
	if s.me == "" && !o.ReadOnly {
		s.me = newClientID()
	}
	r.Client, r.Images = s.me, s.images
	if at != nil {
		r.Back, r.Scrollback, r.Alone = true, false, false // already done
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

// newClientID returns the number of an attachment; never 0.
func newClientID() string { return fmt.Sprintf("%x", max(rand.Uint64(), 1)) }

// progress is a terminal's position in a session's output.
type progress struct {
	known  bool     // otherwise the terminal must be painted
	size   api.Size // of the terminal when it was painted
	offset uint64
	behind uint64             // bytes shown after offset
	paint  *api.AttachControl // the next message is this paint
}

// control notes what the server announces about the bytes that follow.
func (p *progress) control(m api.AttachControl) {
	switch m.Type {
	case "paint":
		*p = progress{paint: &m}
	case "offset":
		p.offset, p.behind = m.Offset, 0
	}
}

// finished notes that the terminal shows a whole message.
func (p *progress) finished() {
	if m := p.paint; m != nil {
		*p = progress{known: m.Raw, size: api.Size{Cols: m.Cols, Rows: m.Rows}, offset: m.Offset}
	}
}
