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
	host       vt.HostTerminal // its colours, cell size, and the images it shows
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
	o.Images = imagesNamed(m.Images)
	s := t.c.s
	s.Lock()
	defer s.Unlock()
	if t.host.Images != o.Images && t.c.out.painted {
		t.c.out.resync() // from one offset on all output passes by the same rule
	}
	t.host = o
	if t.c.all.owns(t.c) {
		t.c.all.setHost(o)
	}
}

// imagesNamed returns the images that a client names; unknown names are ignored.
func imagesNamed(names []string) (set vt.Images) {
	for _, name := range names {
		switch name {
		case api.ImagesKitty:
			set |= vt.ImagesKitty
		case api.ImagesSixel:
			set |= vt.ImagesSixel
		case api.ImagesITerm:
			set |= vt.ImagesITerm
		}
	}
	return set
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
