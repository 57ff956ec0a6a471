package mux

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"gascity.dev/gc/mux/api"
)

// SessionActivity is one session's entry of [Client.Activities]: what its
// program was doing when its screen was last whole.
type SessionActivity struct {
	Name       string    `json:"name"`
	Activity   Activity  `json:"activity"` // without Sources
	LastInput  time.Time `json:"lastInput,omitzero"`
	LastOutput time.Time `json:"lastOutput,omitzero"`
	Attached   int       `json:"attached"`
}

// Activities says what the programs of live sessions are doing, in the order of
// the names; a session that does not run is left out. It never waits for a
// screen that is being painted: what it was before counts until then.
func (c *Client) Activities(ctx context.Context, names []string) ([]SessionActivity, error) {
	var out struct {
		Sessions []SessionActivity `json:"sessions"`
	}
	err := c.call(ctx, "POST", "/v1/activity", map[string][]string{"names": names}, &out)
	return out.Sessions, err
}

func (srv *server) handleActivities(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Names []string `json:"names"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return nil, err
	}
	if len(in.Names) > maxPeeks {
		return nil, fmt.Errorf("%w: %d sessions, at most %d", api.ErrTooLarge, len(in.Names), maxPeeks)
	}
	list := make([]SessionActivity, 0, len(in.Names))
	for _, name := range in.Names {
		srv.mu.Lock()
		s := srv.live[name]
		srv.mu.Unlock()
		if s != nil {
			list = append(list, s.brief(name))
		}
	}
	return map[string][]SessionActivity{"sessions": list}, nil
}

// brief is the session's entry of a list.
func (s *session) brief(name string) SessionActivity {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, whole, _ := s.detect()
	if !whole {
		a = s.doing.last
	}
	if a.State == "" {
		a.State = ActivityUnknown
	}
	a.Sources = nil
	return SessionActivity{
		Name: name, Activity: a, Attached: len(s.clients), LastInput: s.srv.clock.Wall(unixTime(s.lastIn)), LastOutput: s.srv.clock.Wall(unixTime(s.lastOut)),
	}
}
