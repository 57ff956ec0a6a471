package server

import (
	"sync"
	"time"
)

// Times after which a session's memory is made small.
const (
	quietTime = 5 * time.Second // since output or a reader
	quietTick = 2 * time.Second // how often the ones in use are looked at
)

// resting makes the memory of sessions small that were not used for a while.
// One timer serves all of them, and runs only while there is one in use.
type resting struct {
	mu   sync.Mutex
	used map[*session]struct{}
	tick *time.Timer
	over bool
}

// use notes that a session's screen was written to or read. The session's mu
// is held.
func (r *resting) use(s *session) {
	s.screen.usedAt = time.Now().UnixNano()
	if s.screen.inUse {
		return
	}
	s.screen.inUse = true
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used == nil {
		r.used = make(map[*session]struct{})
	}
	r.used[s] = struct{}{}
	if r.tick == nil && !r.over {
		r.tick = time.AfterFunc(quietTick, r.look)
	}
}

// look packs what was quiet, and comes again while something is in use.
func (r *resting) look() {
	r.mu.Lock()
	all := make([]*session, 0, len(r.used))
	for s := range r.used {
		all = append(all, s)
	}
	r.mu.Unlock()
	for _, s := range all {
		s.screen.compact(time.Now().Add(-quietTime).UnixNano())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tick = nil
	if len(r.used) > 0 && !r.over {
		r.tick = time.AfterFunc(quietTick, r.look)
	}
}

// done notes that a session rests. Its mu is held, so that a use that follows is
// not forgotten.
func (r *resting) done(s *session) {
	s.screen.inUse = false
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.used, s)
}

// close ends the timer.
func (r *resting) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.tick != nil {
		r.tick.Stop()
	}
}
