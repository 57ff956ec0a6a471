package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"sync"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
)

// A client that runs inside a session makes that session show another one. If that leads
// back to itself, it would repaint its own paints for ever, so such a client is refused.
// Where a client runs is known from its process. If it came from another machine or by
// ssh, its terminal gets a mark, and the session whose output contains the mark is the
// one around it.

// peerKey is the context's key for the pid at the other end of the connection.
type peerKey struct{}

// withPeer adds the pid at the other end to a connection's context.
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, sys.PeerPID(conn))
}

// aroundAny returns the running sessions that the processes run in.
func (t *sessionTable) aroundAny(pids []int) []*session {
	var all []*session
	for _, pid := range pids {
		if s := t.around(pid); s != nil && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// around returns the running session that a process runs in; nil if none.
func (t *sessionTable) around(pid int) *session {
	srv := t.srv
	srv.mu.Lock()
	leaders := make(map[int]*session, len(t.byName))
	for _, s := range t.byName {
		if s != nil && s.life.pid > 0 {
			leaders[s.life.pid] = s
		}
	}
	srv.mu.Unlock()
	if len(leaders) == 0 {
		return nil
	}
	for at := pid; at > 1; {
		if s := leaders[at]; s != nil {
			return s
		}
		p, err := proctree.Get(at)
		if err != nil {
			break
		}
		at = p.PPID
	}
	env, err := proctree.Environ(pid) // if its parents have ended
	if err != nil || env[proctree.SessionVar] == "" {
		return nil
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return t.byID[env[proctree.SessionVar]]
}

// nesting is which sessions show which others through clients that run inside them.
type nesting struct {
	mu    sync.Mutex
	shows map[*attachClient][]shown
	marks map[string]*attachClient
}

type shown struct{ inside, what *session }

// enter adds a client that runs inside sessions. ErrNested if its session would show
// itself.
func (n *nesting) enter(c *attachClient, inside []*session) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range inside {
		if !n.add(c, s) {
			delete(n.shows, c)
			return fmt.Errorf("%s: %w", c.s.name(), api.ErrNested)
		}
	}
	return nil
}

// mark gives the client a mark for its terminal.
func (n *nesting) mark(c *attachClient) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c.terminal.mark = rand.Text()
	if n.marks == nil {
		n.marks = make(map[string]*attachClient)
	}
	n.marks[c.terminal.mark] = c
}

// found handles a mark in a session's output. It ends the mark's client if the session
// would show itself. session.mu is held.
func (n *nesting) found(mark string, inside *session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.marks[mark]
	if c == nil {
		return
	}
	delete(n.marks, mark)
	if !n.add(c, inside) {
		c.nested.Store(true)
		c.poke()
	}
}

// add adds a client unless its session would show itself. mu is held.
func (n *nesting) add(c *attachClient, inside *session) bool {
	if n.reaches(c.s, inside, map[*session]bool{}) {
		return false
	}
	if n.shows == nil {
		n.shows = make(map[*attachClient][]shown)
	}
	n.shows[c] = append(n.shows[c], shown{inside, c.s})
	return true
}

// reaches reports whether from shows to. mu is held.
func (n *nesting) reaches(from, to *session, seen map[*session]bool) bool {
	if from == to {
		return true
	}
	seen[from] = true
	for _, all := range n.shows {
		for _, e := range all {
			if e.inside == from && !seen[e.what] && n.reaches(e.what, to, seen) {
				return true
			}
		}
	}
	return false
}

// leave forgets a client.
func (n *nesting) leave(c *attachClient) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.shows, c)
	delete(n.marks, c.terminal.mark)
}
