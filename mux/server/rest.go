package server

import (
	"sync"
	"time"

	"gascity.dev/gc/mux/internal/trim"
)

// Times after which a session's memory is made small.
const (
	quietTime = 5 * time.Second // since output or a reader
	quietTick = 2 * time.Second // how often the ones in use are looked at
)

// compactor makes the memory of sessions small that were not used for a while.
// One timer serves all of them, and runs only while there is one in use.
type compactor struct {
	mu   sync.Mutex
	used map[*session]struct{}
	tick *time.Timer
	over bool
	trim trim.Trimmer
}

// use notes that a session's screen was written to or read. The session's mu
// is held.
func (c *compactor) use(s *session) {
	s.screen.usedAt = time.Now().UnixNano()
	if s.screen.inUse {
		return
	}
	s.screen.inUse = true
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used == nil {
		c.used = make(map[*session]struct{})
	}
	c.used[s] = struct{}{}
	if c.tick == nil && !c.over {
		c.tick = time.AfterFunc(quietTick, c.look)
	}
}

// look packs what was quiet, and comes again while something is in use.
func (c *compactor) look() {
	c.mu.Lock()
	all := make([]*session, 0, len(c.used))
	for s := range c.used {
		all = append(all, s)
	}
	c.mu.Unlock()
	for _, s := range all {
		s.screen.compact(time.Now().Add(-quietTime).UnixNano())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick = nil
	if len(c.used) > 0 && !c.over {
		c.tick = time.AfterFunc(quietTick, c.look)
	}
}

// done notes that a session rests. Its mu is held, so that a use that follows is
// not forgotten.
func (c *compactor) done(s *session) {
	s.screen.inUse = false
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.used, s)
}

// close ends the timer.
func (c *compactor) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.tick != nil {
		c.tick.Stop()
	}
}
