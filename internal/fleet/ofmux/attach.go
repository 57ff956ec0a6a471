package ofmux

import (
	"context"
	"io"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// Attach implements [fleet.Fleet].
func (m *Mux) Attach(ctx context.Context, id string, o fleet.AttachOptions) (fleet.Terminal, error) {
	c, err := m.client(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := c.Attach(ctx, api.AttachRequest{Name: id, Cols: o.Cols, Rows: o.Rows, ReadOnly: o.ReadOnly})
	if err != nil {
		return nil, wrong(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &terminal{conn: conn, ctx: ctx, cancel: cancel}, nil
}

// terminal is an attached terminal as a stream.
type terminal struct {
	conn   *client.AttachConn
	ctx    context.Context // until Close; a stream has no other
	cancel context.CancelFunc
	rest   []byte
}

func (t *terminal) Read(p []byte) (int, error) {
	for len(t.rest) == 0 {
		control, data, err := t.conn.Read(t.ctx)
		if err != nil {
			return 0, io.EOF
		}
		if control == nil {
			t.rest = data
		}
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

func (t *terminal) Write(p []byte) (int, error) {
	if err := t.conn.Write(t.ctx, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (t *terminal) Resize(cols, rows int) error { return t.conn.Resize(t.ctx, cols, rows) }

func (t *terminal) Close() error {
	t.cancel()
	return t.conn.Close()
}
