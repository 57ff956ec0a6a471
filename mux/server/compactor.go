package server

import (
	"sync"
	"time"

	"gascity.dev/gc/internal/trim"
)

// When the memory of a session is compacted.
const (
	compactAfter = 5 * time.Second // after the last output or read
	compactEvery = 2 * time.Second // how often sessions in use are checked
)

// compactor compacts the memory of sessions that were not used for a while. One timer
// serves all of them and runs only while a session is in use.
type compactor struct {
	mu     sync.Mutex
	inUse  map[*session]struct{}
	timer  *time.Timer
	closed bool
	trim   trim.Trimmer
}

// use notes that a session's screen was written or read. session.mu is held.
func (c *compactor) use(s *session) {
	if s.screen.noteUse() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inUse == nil {
		c.inUse = make(map[*session]struct{})
	}
	c.inUse[s] = struct{}{}
	if c.timer == nil && !c.closed {
		c.timer = time.AfterFunc(compactEvery, c.sweep)
	}
}

// sweep compacts idle sessions and repeats while any is in use.
func (c *compactor) sweep() {
	c.mu.Lock()
	all := make([]*session, 0, len(c.inUse))
	for s := range c.inUse {
		all = append(all, s)
	}
	c.mu.Unlock()
	for _, s := range all {
		s.screen.compact(time.Now().Add(-compactAfter).UnixNano())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = nil
	if len(c.inUse) > 0 && !c.closed {
		c.timer = time.AfterFunc(compactEvery, c.sweep)
	}
}

// done notes that a session is compacted. session.mu is held, so that no later use is
// lost.
func (c *compactor) done(s *session) {
	s.screen.noteCompacted()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.inUse, s)
}

// close stops the timer.
func (c *compactor) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
}
