package plan

import (
	"time"

	"gascity.dev/gc/internal/session"
)

// Foresee is Make followed by the starts that become possible as earlier ones
// succeed. It changes d and a.
func Foresee(d Desired, a Actual, now time.Time) []Action {
	d.MaxStarts = len(d.Agents)
	wanted := make(map[string]*Wanted, len(d.Agents))
	for i := range d.Agents {
		d.Agents[i].WaitsFor = ""
		wanted[d.Agents[i].Name] = &d.Agents[i]
	}
	first := Make(d, a, now)
	for acts := first; ; {
		up := map[string]bool{}
		for _, act := range acts {
			up[act.Session] = act.Kind == ActStart
		}
		more := false
		for i := range a.Sessions {
			s := &a.Sessions[i]
			if !up[s.Session] {
				continue
			}
			more, s.Presence, s.Owned = true, Alive, true
			if w := wanted[s.Agent]; w.OneShot {
				s.Presence, s.Record.Job = Gone, session.Job{Run: d.Run, Hash: w.Hashes.Core, Done: true}
			}
		}
		if !more {
			return first
		}
		acts = Make(d, a, now)
		for _, act := range acts {
			if act.Kind == ActStart {
				first = append(first, act)
			}
		}
	}
}
