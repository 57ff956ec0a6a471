package server

import (
	"fmt"
	"net/http"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
)

func (a *apiServer) handleActivities(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Names []string `json:"names"`
	}
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	if len(in.Names) > maxPeeks {
		return nil, fmt.Errorf("%w: %d sessions, at most %d", api.ErrTooLarge, len(in.Names), maxPeeks)
	}
	list := make([]api.SessionActivity, 0, len(in.Names))
	for _, name := range in.Names {
		if s := a.srv.sessions.named(name); s != nil {
			list = append(list, s.activity.brief(name))
		}
	}
	return map[string][]api.SessionActivity{"sessions": list}, nil
}

// brief returns the session's entry in a list.
func (act *activity) brief(name string) api.SessionActivity {
	s := act.s
	s.mu.Lock()
	defer s.mu.Unlock()
	a, whole, _ := act.detect()
	if !whole {
		a = act.detector.last
	}
	if a.State == "" {
		a.State = api.ActivityUnknown
	}
	a.Sources = nil
	return api.SessionActivity{
		Name: name, Activity: a, Attached: s.clients.Len(), LastInput: s.srv.clock.Wall(unixTime(act.lastIn)), LastOutput: s.srv.clock.Wall(unixTime(act.lastOut)),
	}
}

func (a *apiServer) handleAliveMany(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Requests []api.AliveRequest `json:"requests"`
	}
	if err := endpoint.ReadJSON(w, r, &in); err != nil {
		return nil, err
	}
	if len(in.Requests) > maxPeeks {
		return nil, fmt.Errorf("%w: %d sessions, at most %d", api.ErrTooLarge, len(in.Requests), maxPeeks)
	}
	var table map[int][]proctree.Proc // of one moment, read when first needed
	alive := make([]string, 0, len(in.Requests))
	for _, q := range in.Requests {
		s := a.srv.sessions.named(q.Name)
		if s != nil && s.life.running() && s.life.seenAlive(q.Names, &table) {
			alive = append(alive, q.Name)
		}
	}
	return map[string][]string{"alive": alive}, nil
}

// bySession lists all processes by their session (setsid(2)); empty if that is unknown.
func bySession() map[int][]proctree.Proc {
	out := map[int][]proctree.Proc{}
	all, err := proctree.Table()
	if err != nil {
		return out
	}
	for _, p := range all {
		out[p.SID] = append(out[p.SID], p)
	}
	return out
}
