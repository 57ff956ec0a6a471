package attached

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
)

const (
	clientBacklog  = 512 << 10        // bytes of output a client may lag
	clientFew      = 64 << 10         // bytes up to which the backlog grows as needed
	clientInput    = 1 << 20          // bytes of one input message
	paintInterval  = time.Second / 30 // for a client of another size
	offsetInterval = 2 * time.Second  // longest time between reports of the raw output's offset
	offsetBytes    = 16 << 10         // most output between them
	clientWrite    = 30 * time.Second // a client that takes nothing for this long is gone
	clientChunk    = 64 << 10         // bytes of one message
	ackBytes       = 4 << 10          // input between acknowledgements
)

// errDetached is why an attachment ends when the detach keys were typed.
var errDetached = errors.New("detached")

// client is one terminal that shows a session. The session never waits for it.
//
// The session's lock guards everything below wake.
type client struct {
	s        Session
	all      *Clients
	ws       *websocket.Conn
	readOnly bool
	alone    bool          // it disconnects all others
	nested   atomic.Bool   // its terminal is its own session's: see nesting
	wake     chan struct{} // there is something for the writer

	kicked   bool // it is to be disconnected
	left     bool // it is no longer attached
	terminal terminal
	out      output
	in       input
}

// newClient returns a client with a size; 0: the session's.
func newClient(cs *Clients, cols, rows int) *client {
	c := &client{s: cs.s, all: cs, wake: make(chan struct{}, 1)}
	c.terminal = terminal{c: c, cols: cols, rows: rows}
	c.out.c, c.in.c = c, c
	return c
}

// errKicked ends a client that another client disconnects.
var errKicked = errors.New("disconnected by another client")

// types reports whether the client's input and size count. Those of a client that left or
// was disconnected may still arrive. The lock is held.
func (c *client) types() bool { return !c.readOnly && !c.kicked && !c.left }

// poke wakes the client's writer.
func (c *client) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// message is what the writer sends next.
type message struct {
	paint  bool
	raw    bool     // paint: what follows is the program's output
	size   api.Size // paint: of the terminal it is for
	resume bool
	ask    bool
	taken  uint64
	kick   bool
	nested bool
	offset uint64
	data   []byte
	exit   *api.Exit
	pause  time.Duration // before the next one
}

// next returns what to send next; ok is false if there is nothing.
func (c *client) next() (m message, ok bool) {
	c.s.Lock()
	defer c.s.Unlock()
	o := &c.out
	o.sending = 0
	switch {
	case c.nested.Load():
		return message{nested: true}, true
	case c.kicked:
		return message{kick: true}, true
	case o.resumed:
		o.resumed = false
		return message{resume: true, offset: o.back.offset}, true
	case o.repaint || o.dirty:
		return o.paint(), true
	case len(o.backlog) > 0:
		m.data, m.offset = o.backlog, o.sent
		o.backlog, o.sending = nil, len(m.data)
		return m, true
	case c.in.taken >= c.in.acked+ackBytes:
		c.in.acked = c.in.taken
		return message{taken: c.in.taken}, true
	case c.terminal.ask && o.filter.Idle():
		c.terminal.ask = false
		return message{ask: true}, true
	}
	if exit := c.s.Exit(); exit != nil {
		return message{exit: exit}, true
	}
	return m, false
}

// noted reports whether the message contains the offset of raw output.
func (m *message) noted() bool { return m.paint || m.resume }

// write sends until the session or the connection ends.
func (c *client) write(ctx context.Context) error {
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
			if err := clock.Sleep(ctx, m.pause); err != nil {
				return err
			}
		}
	}
}

func (c *client) sendMessage(ctx context.Context, m message) error {
	if m.exit != nil {
		return c.control(ctx, api.AttachControl{Type: "exit", Exit: m.exit})
	}
	if m.taken > 0 {
		return c.control(ctx, api.AttachControl{Type: "typed", Typed: m.taken})
	}
	if m.ask {
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

func (c *client) binary(ctx context.Context, p []byte) error {
	ctx, cancel := context.WithTimeout(ctx, clientWrite)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageBinary, p)
}

func (c *client) control(ctx context.Context, m api.AttachControl) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, clientWrite)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageText, b)
}

// read takes the client's input and sizes until the connection ends.
func (c *client) read(ctx context.Context) error {
	for {
		typ, data, err := c.ws.Read(ctx)
		if err != nil {
			return err
		}
		if typ == websocket.MessageBinary {
			err = c.in.typed(ctx, data)
		} else {
			err = c.carryOut(data)
		}
		if err != nil {
			return err
		}
	}
}

// carryOut handles a control message. Unknown ones are ignored.
func (c *client) carryOut(data []byte) error {
	var m api.AttachControl
	if err := json.Unmarshal(data, &m); err != nil {
		return nil
	}
	switch m.Type {
	case "detach":
		return errDetached
	case "terminal":
		c.terminal.describe(m)
		return nil
	case "look":
		c.s.Lock()
		c.terminal.ask = true
		c.s.Unlock()
		c.poke()
		return nil
	}
	if m.Type != "resize" || api.CheckSize(m.Cols, m.Rows) != nil {
		return nil
	}
	c.s.Lock()
	defer c.s.Unlock()
	c.terminal.cols, c.terminal.rows = m.Cols, m.Rows
	c.out.resync()
	return c.all.resized(c)
}
