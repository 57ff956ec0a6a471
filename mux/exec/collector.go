package exec

import (
	"log/slog"
	"sync"
	"time"

	"gascity.dev/gc/internal/process"
)

// collector removes ended commands that are no longer kept. Its timer runs only
// while there is something to remove later.
type collector struct {
	commands *Commands

	mu     sync.Mutex
	timer  *time.Timer
	at     time.Time // when it fires
	closed bool
}

// soon looks for old commands a little later: many end at once.
func (k *collector) soon() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.in(time.Second)
}

// in sets the timer, unless it is set to an earlier time. mu is held.
func (k *collector) in(d time.Duration) {
	at := time.Now().Add(d)
	if k.closed || k.timer != nil && !at.Before(k.at) {
		return
	}
	if k.timer != nil {
		k.timer.Stop()
	}
	k.timer, k.at = time.AfterFunc(d, k.collect), at
}

func (k *collector) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	if k.timer != nil {
		k.timer.Stop()
	}
}

// collect removes old commands and schedules itself for the next one.
func (k *collector) collect() {
	k.mu.Lock()
	k.timer = nil
	k.mu.Unlock()
	c := k.commands
	var all []process.Record
	for _, cmd := range c.all() {
		all = append(all, cmd.record())
	}
	ids, next := process.Overdue(all, c.completions.events(), c.Now())
	if err := c.Remove(ids...); err != nil {
		slog.Warn("cannot remove old commands", "error", err)
	}
	if next.IsZero() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.in(max(-c.since(next), time.Second))
}
