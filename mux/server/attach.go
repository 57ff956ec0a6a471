package server

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/vt"
)

const (
	clientBacklog  = 512 << 10        // bytes of output a client may be behind
	clientFew      = 64 << 10         // of them, for which memory is taken as they come
	clientInput    = 1 << 20          // bytes of one input message
	paintInterval  = time.Second / 30 // for a client of another size
	offsetInterval = 2 * time.Second  // between notes of where raw output stands, at most
	offsetBytes    = 16 << 10         // of output between them, at most
	clientWrite    = 30 * time.Second // a client that takes nothing for so long is gone
	clientChunk    = 64 << 10         // bytes of one message
	ackBytes       = 4 << 10          // of input after which the client is told that they were taken
)

// errDetached is why an attachment ends when its detach keys were typed.
var errDetached = errors.New("detached")

// attachClient is one terminal that looks at a session.
//
// The fields below the line are guarded by the session's mu. The session never
// waits for a client: output goes into a bounded backlog, and a client that
// does not keep up loses it and gets a fresh paint.
type attachClient struct {
	s          *session
	ws         *websocket.Conn
	readOnly   bool
	scrollback bool // paint the history first, once
	wake       chan struct{}
	alone      bool         // it sends the others away
	back       *place       // a client that lost its server, and how far it came
	scan       keys.Scanner // of the person's input; only the reader uses it

	cols, rows int
	outer      vt.HostTerminal // what its terminal looks like
	filter     vt.HostFilter
	typist     *journal.Typist // how far its input came; nil: nobody counts
	taken      uint64          // bytes of it that the program has
	ackd       uint64          // those that the client knows of
	look       bool            // it is to ask its terminal anew what it looks like
	shown      bool            // raw output follows what it was last painted
	backlog    []byte
	sending    int         // bytes that its writer has taken of it
	sent       uint64      // offset up to which output is in the backlog or was sent
	repaint    bool        // paint before anything else
	dirty      bool        // the screen changed; for a client that gets paints
	painted    bool        // it was painted before
	resumed    bool        // it is to be told that it goes on where it was
	kicked     bool        // it is to be sent away
	mark       string      // put on its terminal with the first paint; empty: not needed
	nested     atomic.Bool // its terminal is its own session's: see nesting
	left       bool        // it is no client any more
	modes      vt.Modes
	active     time.Time
}

// errKicked ends a client that another one sends away.
var errKicked = errors.New("sent away")

// types reports whether the client's input and size count. What one has sent
// that was sent away, or left, may still be on its way. mu is held.
func (c *attachClient) types() bool { return !c.readOnly && !c.kicked && !c.left }

// poke wakes the client's writer.
func (c *attachClient) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// raw reports whether the client gets the program's own bytes, which without a
// terminal have no carriage returns, and with 8-bit controls mean something
// else on a terminal of a person. mu is held.
func (c *attachClient) raw() bool {
	return c.cols == c.s.screen.cols && c.rows == c.s.screen.rows && !c.s.rec.Pipes && !c.s.screen.term.EightBit()
}

// output notes new output that ends at offset. mu is held.
func (c *attachClient) output(p []byte, offset uint64) {
	switch {
	case c.repaint:
	case c.raw() != c.shown:
		c.resync()
	case !c.raw():
		c.dirty = true
	case c.sending+len(c.backlog)+len(p) > clientBacklog:
		c.resync()
	default:
		if n := len(c.backlog) + len(p); n > clientFew && n > cap(c.backlog) { // at once: what grows leaves garbage
			c.backlog = append(make([]byte, 0, clientBacklog), c.backlog...)
		}
		c.backlog = c.filter.Filter(c.backlog, p)
		c.sent = offset
		if c.filter.Stale() {
			c.resync()
		}
	}
	c.poke()
}

// resync drops the backlog and asks for a paint. mu is held.
func (c *attachClient) resync() {
	c.backlog, c.repaint = nil, true
	c.poke()
}

// ended notes that the session ended. mu is held.
func (c *attachClient) ended() { c.poke() }

// message is what the writer sends next.
type message struct {
	paint  bool
	raw    bool     // paint: what follows is the program's output
	size   api.Size // paint: of the terminal it is for
	resume bool
	look   bool
	taken  uint64
	kick   bool
	nested bool
	offset uint64
	data   []byte
	exit   *api.Exit
	pause  time.Duration // before the next one
}

// next takes what is to be sent; ok is false when there is nothing.
func (c *attachClient) next() (m message, ok bool) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c.sending = 0
	switch {
	case c.nested.Load():
		return message{nested: true}, true
	case c.kicked:
		return message{kick: true}, true
	case c.resumed:
		c.resumed = false
		return message{resume: true, offset: c.back.offset}, true
	case c.repaint || c.dirty:
		modes := s.screen.term.Modes()
		o := vt.PaintOptions{Scrollback: c.scrollback, Again: c.painted}
		if !c.raw() {
			o.Cols, o.Rows = c.cols, c.rows
			o.Content = c.painted && !c.repaint && modes == c.modes
			m.pause = paintInterval
		}
		first := !c.painted
		c.scrollback, c.painted, c.modes = false, true, modes
		c.shown = c.raw()
		m.raw, m.size = c.raw(), api.Size{Cols: c.cols, Rows: c.rows}
		m.paint, m.offset, m.data = true, s.screen.rendered, s.screen.view().AppendPaint(nil, o)
		c.repaint, c.dirty, c.backlog, c.sent = false, false, nil, s.screen.rendered
		c.filter = vt.HostFilter{}
		if c.raw() {
			m.data = c.filter.Filter(m.data, s.screen.term.Pending())
		}
		if first && c.mark != "" {
			m.data = append([]byte(vt.Marker(c.mark)), m.data...)
		}
		return m, true
	case len(c.backlog) > 0:
		m.data, m.offset = c.backlog, c.sent
		c.backlog, c.sending = nil, len(m.data)
		return m, true
	case c.taken >= c.ackd+ackBytes:
		c.ackd = c.taken
		return message{taken: c.taken}, true
	case c.look && c.filter.Idle():
		c.look = false
		return message{look: true}, true
	case s.life.exit != nil:
		m.exit = s.life.exitCopy()
		return m, true
	}
	return m, false
}

// noted reports whether the message says where raw output stands.
func (m *message) noted() bool { return m.paint || m.resume }

// write sends until the session or the connection ends.
func (c *attachClient) write(ctx context.Context) error {
	noted, passed := time.Now(), 0
	for {
		m, ok := c.next()
		if !ok {
			select {
			case <-c.wake:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if m.kick {
			return errKicked
		}
		if m.nested {
			return api.ErrNested
		}
		if err := c.sendMessage(ctx, m); err != nil || m.exit != nil {
			return err
		}
		passed += len(m.data)
		if m.noted() {
			noted, passed = time.Now(), 0
		} else if passed > offsetBytes || time.Since(noted) > offsetInterval {
			noted, passed = time.Now(), 0
			if err := c.control(ctx, api.AttachControl{Type: "offset", Offset: m.offset}); err != nil {
				return err
			}
		}
		if m.pause > 0 {
			if err := sys.Sleep(ctx, m.pause); err != nil {
				return err
			}
		}
	}
}

func (c *attachClient) sendMessage(ctx context.Context, m message) error {
	if m.exit != nil {
		return c.control(ctx, api.AttachControl{Type: "exit", Exit: m.exit})
	}
	if m.taken > 0 {
		return c.control(ctx, api.AttachControl{Type: "typed", Typed: m.taken})
	}
	if m.look {
		return c.control(ctx, api.AttachControl{Type: "look"})
	}
	if m.resume {
		return c.control(ctx, api.AttachControl{Type: "resume", Offset: m.offset})
	}
	if m.paint {
		if err := c.control(ctx, api.AttachControl{Type: "paint", Offset: m.offset, Raw: m.raw, Cols: m.size.Cols, Rows: m.size.Rows}); err != nil {
			return err
		}
		return c.binary(ctx, m.data)
	}
	for part := range slices.Chunk(m.data, clientChunk) {
		if err := c.binary(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (c *attachClient) binary(ctx context.Context, p []byte) error {
	ctx, cancel := context.WithTimeout(ctx, clientWrite)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageBinary, p)
}

func (c *attachClient) control(ctx context.Context, m api.AttachControl) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, clientWrite)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageText, b)
}

// read takes the client's input and sizes until the connection ends.
func (c *attachClient) read(ctx context.Context) error {
	for {
		typ, data, err := c.ws.Read(ctx)
		if err != nil {
			return err
		}
		if typ == websocket.MessageBinary {
			err = c.typed(ctx, data)
		} else {
			err = c.told(data)
		}
		if err != nil {
			return err
		}
	}
}

// told carries out a control message; what is not known is ignored.
func (c *attachClient) told(data []byte) error {
	var m api.AttachControl
	if err := json.Unmarshal(data, &m); err != nil {
		return nil
	}
	switch m.Type {
	case "detach":
		return errDetached
	case "terminal":
		c.looks(m)
		return nil
	case "look":
		c.s.mu.Lock()
		c.look = true
		c.s.mu.Unlock()
		c.poke()
		return nil
	}
	if m.Type != "resize" || checkSize(m.Cols, m.Rows) != nil {
		return nil
	}
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c.cols, c.rows = m.Cols, m.Rows
	c.resync()
	if s.clients.sizeOwner == nil && c.types() {
		s.clients.sizeOwner = c
	}
	if s.clients.sizeOwner == c {
		return s.clients.applySize()
	}
	return nil
}
