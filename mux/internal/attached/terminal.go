package attached

import (
	"bytes"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/vt"
)

// maxCell limits the pixels of a cell that a client may report.
const maxCell = 1000

// terminal is the terminal of a client. The session's lock guards it.
type terminal struct {
	c          *client
	cols, rows int
	host       vt.HostTerminal // its colours and cell size
	ask        bool            // the client must ask its terminal for these again
	mark       string          // put on the terminal with the first paint; empty: not needed
}

// describe notes the properties of the client's terminal. Programs that ask get
// those of the size owner's terminal or, after it left, of the last one.
func (t *terminal) describe(m api.AttachControl) {
	o := vt.HostTerminal{CellWidth: m.CellWidth, CellHeight: m.CellHeight}
	if min(m.CellWidth, m.CellHeight) <= 0 || max(m.CellWidth, m.CellHeight) > maxCell {
		o.CellWidth, o.CellHeight = 0, 0
	}
	if v, ok := vt.ParseColor(m.Foreground); ok {
		o.Foreground = &v
	}
	if v, ok := vt.ParseColor(m.Background); ok {
		o.Background = &v
	}
	s := t.c.s
	s.Lock()
	defer s.Unlock()
	t.host = o
	if t.c.all.owns(t.c) {
		s.SetHost(o)
	}
}

// answersImages reports whether a token answers a question about images (kitty's protocol
// or XTSMGRAPHICS), which only a person's terminal can.
func answersImages(tok keys.Token) bool {
	switch tok.Kind {
	case keys.TokenString:
		return bytes.HasPrefix(tok.Data, []byte("\x1b_G"))
	case keys.TokenCSI:
		return bytes.HasPrefix(tok.Data, []byte("\x1b[?")) && tok.Data[len(tok.Data)-1] == 'S'
	}
	return false
}
