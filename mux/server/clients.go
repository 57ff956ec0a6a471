package server

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"gascity.dev/gc/mux/api"
	"github.com/coder/websocket"
	"golang.org/x/sys/unix"
)

// clients are the terminals attached to a session, and the size they give it.
// session.mu guards it.
type clients struct {
	s         *session
	list      []*attachClient
	sizeOwner *attachClient // whose size is in force; nil: the configured size is
}

// output notes new output, which ends at the offset that the screen shows. mu is held.
func (cs *clients) output(p []byte) {
	for _, c := range cs.list {
		c.out.add(p, cs.s.screen.rendered)
	}
}

// resync makes every client be painted again. mu is held.
func (cs *clients) resync() {
	for _, c := range cs.list {
		c.out.resync()
	}
}

// poke wakes every client's writer. mu is held.
func (cs *clients) poke() {
	for _, c := range cs.list {
		c.poke()
	}
}

// owns reports whether the size is that of c. mu is held.
func (cs *clients) owns(c *attachClient) bool { return cs.sizeOwner == c }

// ownedByOther reports whether the size is that of another client. mu is held.
func (cs *clients) ownedByOther(c *attachClient) bool {
	return cs.sizeOwner != nil && cs.sizeOwner != c
}

// own makes c the size owner. mu is held.
func (cs *clients) own(c *attachClient) {
	if cs.sizeOwner != c {
		cs.sizeOwner = c
		_ = cs.applySize()
	}
}

// resized notes that c has another size. mu is held.
func (cs *clients) resized(c *attachClient) error {
	if cs.sizeOwner == nil && c.types() {
		cs.sizeOwner = c
	}
	if cs.sizeOwner == c {
		return cs.applySize()
	}
	return nil
}

// applySize gives the session the size that it should have now. mu is held.
func (cs *clients) applySize() error {
	s := cs.s
	if s.life.ended() {
		return nil
	}
	if cs.sizeOwner != nil {
		s.screen.setHost(cs.sizeOwner.terminal.host)
		return s.screen.resize(cs.sizeOwner.terminal.cols, cs.sizeOwner.terminal.rows)
	}
	return s.screen.resize(s.rec.Cols, s.rec.Rows)
}

// join adds a client. It is painted unless it continues where it left off.
func (cs *clients) join(c *attachClient) {
	s := cs.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.terminal.cols == 0 || c.terminal.rows == 0 {
		c.terminal.cols, c.terminal.rows = s.screen.cols, s.screen.rows
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
		s.activity.see()
	}
	if !c.readOnly {
		cs.joinTyping(c)
	}
	s.broadcast()
	s.srv.events.emit(s, api.Event{Type: api.EventAttached})
}

// joinTyping makes the first client that may type the size owner. After a restart of the
// server the size is still that of the client that typed last: other clients that return
// wait for that one, or for their own first key. mu is held.
func (cs *clients) joinTyping(c *attachClient) {
	s := cs.s
	c.in.active = time.Now()
	same := c.out.raw()
	if cs.sizeOwner != nil || c.out.back != nil && !same {
		return
	}
	cs.sizeOwner = c
	_ = cs.applySize()
	if same && c.out.back == nil && !s.life.ending() {
		_ = s.tty.signalForeground(unix.SIGWINCH) // makes the program repaint, as after a resize
	}
}

// leave removes a client and its draft. If it owned the size, the client that typed last
// does now.
func (cs *clients) leave(c *attachClient) {
	s := cs.s
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(cs.list, c)
	if i < 0 {
		return
	}
	c.left = true
	cs.list = slices.Delete(cs.list, i, i+1)
	if len(cs.list) == 0 {
		cs.list = nil
	}
	if s.input.draft.owner == c {
		s.input.draft.clear()
	}
	if cs.sizeOwner == c {
		cs.elect()
	}
	s.broadcast()
	s.srv.events.emit(s, api.Event{Type: api.EventDetached})
}

// elect makes the client that typed last the size owner. mu is held.
func (cs *clients) elect() {
	cs.sizeOwner = nil
	for _, o := range cs.list {
		if o.types() && (cs.sizeOwner == nil || o.in.active.After(cs.sizeOwner.in.active)) {
			cs.sizeOwner = o
		}
	}
	_ = cs.applySize()
}

// serve serves one client until it, the session or ctx ends.
func (cs *clients) serve(ctx context.Context, c *attachClient) {
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
		c.ws.Close(api.StatusKicked, "another terminal sent this one away")
	case errors.Is(err, api.ErrNested):
		cs.leave(c)
		c.ws.Close(api.StatusNested, api.ErrNested.Error())
	}
	cancel()
	c.ws.CloseNow()
	<-readDone
}

// configure sets the session's size without clients.
func (cs *clients) configure(cols, rows int) error {
	s := cs.s
	if err := checkSize(cols, rows); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.ended() {
		return api.ErrExited
	}
	s.rec.Cols, s.rec.Rows = cols, rows
	if err := s.srv.keeper.current().Deposit(s.rec.ID, s.rec.encode()); err != nil {
		slog.Warn("the keeper did not take a new size", "session", s.rec.ID, "error", err)
	}
	if cs.sizeOwner != nil {
		return nil
	}
	return s.screen.resize(cols, rows)
}
