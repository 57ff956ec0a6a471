package server

import (
	"maps"
	"slices"

	"gascity.dev/gc/vt"
)

// A client that lost its server and is back goes on where it was, when the new
// server still has the bytes. It says how far it came: an offset in the
// session's output that a server told it ("paint", "offset"), and how many bytes
// it got behind that. The bytes that it got are the output without the queries,
// and taking those out depends on nothing but the output; so the new server
// makes them again from a place where the state is known, the beginning of the
// journal's segment, and leaves out what the client has.

// place is how far a client came.
type place struct {
	offset uint64 // of the session's output
	skip   uint64 // bytes that it got behind that
}

// resume makes the client go on at a place; false when it has to be painted. mu
// is held.
func (c *attachClient) resume(at place) bool {
	s := c.s
	base := s.storage.journal.Start()
	if !c.raw() || s.life.exit != nil || at.offset < base || at.offset > s.screen.rendered {
		return false
	}
	held := s.storage.journal.From(base)[:s.screen.rendered-base]
	var f vt.HostFilter
	before := f.Filter(nil, s.storage.pending)
	before = f.Filter(before[:0], held[:at.offset-base])
	f.Stale()
	missing := f.Filter(before[:0], held[at.offset-base:])
	if f.Stale() {
		return false
	}
	if at.skip > uint64(len(missing)) || len(missing)-int(at.skip) > clientBacklog {
		return false
	}
	c.filter, c.sent, c.backlog = f, s.screen.rendered, missing[at.skip:]
	c.painted, c.shown, c.modes, c.resumed = true, true, s.screen.term.Modes(), true
	return true
}

// forgetSizes gives sessions their own size back whose clients did not come back
// to this server.
func (t *sessionTable) forgetSizes() {
	t.srv.mu.Lock()
	all := slices.Collect(maps.Values(t.byID))
	t.srv.mu.Unlock()
	for _, s := range all {
		s.mu.Lock()
		if s.clients.sizeOwner == nil {
			s.clients.elect()
		}
		s.mu.Unlock()
	}
}
