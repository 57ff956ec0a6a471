package attached

import (
	"context"
	"errors"
	"slices"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/vt"
	"github.com/coder/websocket"
)

// Clients are the terminals attached to a session, and the size they give it.
// The session's lock guards it.
type Clients struct {
	s         Session
	list      []*client
	sizeOwner *client         // whose size is in force; nil: the configured size is
	host      vt.HostTerminal // of the last size owner
	draft     draft
	typists   map[uint64]*journal.Typist // by the client's number
}

// New returns the clients of a session: none.
func New(s Session) Clients { return Clients{s: s} }

// Len returns the number of clients. The lock is held.
func (cs *Clients) Len() int { return len(cs.list) }

// Sized reports whether the size is that of a client. The lock is held.
func (cs *Clients) Sized() bool { return cs.sizeOwner != nil }

// Forget gives up the size of a client that did not return. The lock is held.
func (cs *Clients) Forget() {
	if cs.sizeOwner == nil {
		cs.elect()
	}
}

// Draft reports whether a person's draft is in the composer, and until when it counts.
// The lock is held.
func (cs *Clients) Draft() (until time.Time, ok bool) { return cs.draft.stands(time.Now()) }

// DropDraft forgets the draft. The lock is held.
func (cs *Clients) DropDraft() { cs.draft.clear() }

// Output notes new output, which ends at the offset that the screen shows. The lock is held.
func (cs *Clients) Output(p []byte) {
	for _, c := range cs.list {
		c.out.add(p, cs.s.Rendered())
	}
}

// Resync makes every client be painted again. The lock is held.
func (cs *Clients) Resync() {
	for _, c := range cs.list {
		c.out.resync()
	}
}

// Poke wakes every client's writer. The lock is held.
func (cs *Clients) Poke() {
	for _, c := range cs.list {
		c.poke()
	}
}

// owns reports whether the size is that of c. The lock is held.
func (cs *Clients) owns(c *client) bool { return cs.sizeOwner == c }

// ownedByOther reports whether the size is that of another client. The lock is held.
func (cs *Clients) ownedByOther(c *client) bool {
	return cs.sizeOwner != nil && cs.sizeOwner != c
}

// own makes c the size owner. The lock is held.
func (cs *Clients) own(c *client) {
	if cs.sizeOwner != c {
		cs.sizeOwner = c
		_ = cs.applySize()
	}
}

// resized notes that c has another size. The lock is held.
func (cs *Clients) resized(c *client) error {
	if cs.sizeOwner == nil && c.types() {
		cs.sizeOwner = c
	}
	if cs.sizeOwner == c {
		return cs.applySize()
	}
	return nil
}

// applySize gives the session the size that it should have now. The lock is held.
func (cs *Clients) applySize() error {
	s := cs.s
	if s.Exit() != nil {
		return nil
	}
	if cs.sizeOwner != nil {
		cs.setHost(cs.sizeOwner.terminal.host)
		return s.Resize(cs.sizeOwner.terminal.cols, cs.sizeOwner.terminal.rows)
	}
	if cs.host.Images != 0 { // nobody is attached who could see them
		cs.host.Images = 0
		s.SetHost(cs.host)
	}
	return s.Resize(s.Configured())
}

// setHost sets the terminal whose properties programs get. The lock is held.
func (cs *Clients) setHost(o vt.HostTerminal) {
	cs.host = o
	cs.s.SetHost(o)
}

// join adds a client. It is painted unless it continues where it left off.
func (cs *Clients) join(c *client) {
	s := cs.s
	s.Lock()
	defer s.Unlock()
	if c.terminal.cols == 0 || c.terminal.rows == 0 {
		c.terminal.cols, c.terminal.rows = s.View().Size()
	}
	if c.alone {
		for _, o := range cs.list {
			o.kicked = true
			o.poke()
		}
		if cs.sizeOwner != nil {
			cs.sizeOwner = nil
			if c.readOnly {
				cs.elect()
			}
		}
	}
	cs.list = append(cs.list, c)
	c.out.repaint = c.out.back == nil || !c.out.resume(*c.out.back)
	if c.out.back == nil {
		s.Seen()
	}
	if !c.readOnly {
		cs.joinTyping(c)
	}
	s.Changed()
	s.Publish(api.Event{Type: api.EventAttached})
}

// joinTyping makes the first client that may type the size owner. After a restart of the
// server the size is still that of the client that typed last: other clients that return
// wait for that one, or for their own first key. The lock is held.
func (cs *Clients) joinTyping(c *client) {
	s := cs.s
	c.in.active = time.Now()
	same := c.out.raw()
	if cs.sizeOwner != nil || c.out.back != nil && !same && cs.keepsSize() {
		return
	}
	cs.sizeOwner = c
	_ = cs.applySize()
	if same && c.out.back == nil && !s.Ending() {
		s.Repaint()
	}
}

// keepsSize reports whether the size is that of a client that has not returned yet. The
// lock is held.
func (cs *Clients) keepsSize() bool {
	cols, rows := cs.s.View().Size()
	ownCols, ownRows := cs.s.Configured()
	return cs.sizeOwner == nil && (cols != ownCols || rows != ownRows)
}

// leave removes a client and its draft. If it owned the size, the client that typed last
// does now.
func (cs *Clients) leave(c *client) {
	s := cs.s
	s.Lock()
	defer s.Unlock()
	i := slices.Index(cs.list, c)
	if i < 0 {
		return
	}
	c.left = true
	cs.list = slices.Delete(cs.list, i, i+1)
	if len(cs.list) == 0 {
		cs.list = nil
	}
	if cs.draft.owner == c {
		cs.draft.clear()
	}
	if cs.sizeOwner == c {
		cs.elect()
	}
	s.Changed()
	s.Publish(api.Event{Type: api.EventDetached})
}

// elect makes the client that typed last the size owner. The lock is held.
func (cs *Clients) elect() {
	cs.sizeOwner = nil
	for _, o := range cs.list {
		if o.types() && (cs.sizeOwner == nil || o.in.active.After(cs.sizeOwner.in.active)) {
			cs.sizeOwner = o
		}
	}
	_ = cs.applySize()
}

// serve serves one client until it, the session or ctx ends.
func (cs *Clients) serve(ctx context.Context, c *client) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.ws.SetReadLimit(clientInput)
	cs.join(c)
	defer cs.leave(c)
	readDone := make(chan struct{})
	go func() {
		defer close(readDone)
		defer cancel()
		if errors.Is(c.read(ctx), errDetached) {
			cs.leave(c) // before the client is answered
			c.ws.Close(websocket.StatusNormalClosure, "detached")
		}
	}()
	err := c.write(ctx)
	switch {
	case err == nil:
		c.ws.Close(websocket.StatusNormalClosure, "the session ended")
	case errors.Is(err, errKicked):
		cs.leave(c) // before the client knows
		c.ws.Close(api.StatusKicked, "another terminal detached this one")
	case errors.Is(err, api.ErrNested):
		cs.leave(c)
		c.ws.Close(api.StatusNested, api.ErrNested.Error())
	}
	cancel()
	c.ws.CloseNow()
	<-readDone
}
