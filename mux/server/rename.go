package server

import (
	"fmt"
	"log/slog"
	"net/http"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
)

func (a *apiServer) handleRename(s *session, w http.ResponseWriter, r *http.Request) (any, error) {
	var in api.RenameRequest
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	return nil, a.srv.sessions.rename(s, in.Name)
}

func (t *sessionTable) rename(s *session, to string) error {
	srv := t.srv
	if err := api.CheckName(to); err != nil {
		return err
	}
	if err := t.takeName(s, to); err != nil {
		return err
	}
	s.mu.Lock()
	s.rec.Name = s.name() // a later rename may have come first
	err := srv.keeper.current().Deposit(s.rec.ID, s.rec.encode())
	s.mu.Unlock()
	if err != nil {
		slog.Warn("the keeper did not take a new name", "session", s.rec.ID, "error", err)
	}
	srv.events.emit(s, api.Event{Type: api.EventRenamed})
	srv.queue.Renamed(s.rec.ID, s.name())
	return nil
}

// takeName makes the session the running one of the name.
func (t *sessionTable) takeName(s *session, to string) error {
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	from := s.name()
	switch taken, ok := t.byName[to]; {
	case s.rec.Exec:
		return fmt.Errorf("%w: %s is a background command", api.ErrRequest, from)
	case t.byName[from] != s || !s.life.running():
		return fmt.Errorf("rename %s: %w", from, api.ErrExited)
	case taken == s:
		return nil
	case ok && (taken == nil || taken.life.running()):
		return fmt.Errorf("%w: %s", api.ErrExists, to)
	}
	for _, other := range t.byID {
		if other.rec.Exec && other.rec.Owner == from && other.life.running() {
			return fmt.Errorf("%w: background commands of %s are running and report their end to that name", api.ErrRequest, from)
		}
	}
	delete(t.byName, from)
	t.byName[to] = s
	s.called.Store(&to)
	return nil
}
