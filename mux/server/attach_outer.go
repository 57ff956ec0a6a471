package server

import (
	"bytes"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/vt"
)

// maxCell bounds the pixels of a cell that a client may claim.
const maxCell = 1000

// looks notes what the client's terminal looks like. Programs that ask get the
// answers for the terminal whose size is in force; after it left, those of the
// last one.
func (c *attachClient) looks(m api.AttachControl) {
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
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c.outer = o
	if s.clients.sizeOwner == c {
		s.screen.setHost(o)
	}
}

// answersImages reports whether a token answers a question about images, which
// only a person's terminal can: of kitty's protocol, or XTSMGRAPHICS.
func answersImages(tok keys.Token) bool {
	switch tok.Kind {
	case keys.TokenString:
		return bytes.HasPrefix(tok.Data, []byte("\x1b_G"))
	case keys.TokenCSI:
		return bytes.HasPrefix(tok.Data, []byte("\x1b[?")) && tok.Data[len(tok.Data)-1] == 'S'
	}
	return false
}
