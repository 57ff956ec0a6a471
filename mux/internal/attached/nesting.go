package attached

import (
	"crypto/rand"
	"fmt"
	"sync"

	"gascity.dev/gc/mux/api"
)

// A client that runs inside a session makes that session show another one. If that
// leads back to itself, it would repaint its own paints forever, so such a client is
// refused. Where a client runs is known from its process. If it came from another
// machine or by ssh, its terminal gets a mark, and the session whose output contains
// the mark is the one around it.

// Nesting is which sessions show which others through clients that run inside them.
type Nesting struct {
	around func(pids []int) []Session

	mu    sync.Mutex
	shows map[*client][]shown
	marks map[string]*client
}

// NewNesting returns a graph of no sessions. around returns the sessions that processes
// run in.
func NewNesting(around func(pids []int) []Session) *Nesting { return &Nesting{around: around} }

type shown struct{ inside, what Session }

// enter adds a client that runs inside sessions. ErrNested if its session would show
// itself.
func (n *Nesting) enter(c *client, inside []Session) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range inside {
		if !n.add(c, s) {
			delete(n.shows, c)
			return fmt.Errorf("%s: %w", c.s.Name(), api.ErrNested)
		}
	}
	return nil
}

// mark gives the client a mark for its terminal.
func (n *Nesting) mark(c *client) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c.terminal.mark = rand.Text()
	if n.marks == nil {
		n.marks = make(map[string]*client)
	}
	n.marks[c.terminal.mark] = c
}

// Found handles a mark in a session's output. It ends the mark's client if the session
// would show itself. The lock of inside is held.
func (n *Nesting) Found(mark string, inside Session) {
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
func (n *Nesting) add(c *client, inside Session) bool {
	if n.reaches(c.s, inside, map[Session]bool{}) {
		return false
	}
	if n.shows == nil {
		n.shows = make(map[*client][]shown)
	}
	n.shows[c] = append(n.shows[c], shown{inside, c.s})
	return true
}

// reaches reports whether from shows to. mu is held.
func (n *Nesting) reaches(from, to Session, seen map[Session]bool) bool {
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
func (n *Nesting) leave(c *client) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.shows, c)
	delete(n.marks, c.terminal.mark)
}
