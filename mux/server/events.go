package server

import (
	"sync/atomic"
	"time"

	"gascity.dev/gc/internal/event"
	"gascity.dev/gc/mux/api"
)

// eventFeed publishes what changes, to subscribers and pollers.
type eventFeed struct {
	log     *event.Log[api.Event]
	changes atomic.Uint64 // of all sessions
}

// emit publishes an event of a session. It never blocks.
func (f *eventFeed) emit(s *session, e api.Event) {
	e.Time, e.Session, e.SID = time.Now(), s.name(), s.rec.ID
	f.log.Append(e)
}

// emitStart publishes that the server accepts requests.
func (f *eventFeed) emitStart() {
	f.log.Append(api.Event{Type: api.EventServer, Time: time.Now()})
}
