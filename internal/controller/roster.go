package controller

import (
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/session"
)

// roster holds the agents that the config wants, and the sessions of the city
// that it no longer wants.
type roster struct {
	*core
	l         *loop
	records   map[string]session.Record // by agent, wanted or not
	templates []*agent.Spec             // the config's agents and pools
	all       map[string]*agentState    // by session name
	order     []string                  // wanted sessions in file order
	moved     map[string]string         // by agent, while specs are applied: the session that may still run it
}

// setSpecs sets the wanted agents. Others lose their spec and stay until their
// session is gone.
func (rs *roster) setSpecs(specs []*agent.Spec) {
	rs.order = rs.order[:0]
	wanted := map[string]bool{}
	for _, s := range specs {
		wanted[s.Session] = true
		rs.order = append(rs.order, s.Session)
		ag := rs.all[s.Session]
		if ag == nil {
			ag = &agentState{shown: shownState{since: rs.began}, seen: plan.Seen{Session: s.Session}}
			rs.all[s.Session] = ag
		}
		rs.setSpec(ag, s)
	}
	for name, ag := range rs.all {
		if !wanted[name] && ag.spec != nil {
			ag.drainLimit = rs.drainLimit(ag)
			ag.left, ag.spec = ag.spec, nil
		}
	}
	rs.leaveOldNames(specs)
}

// leaveOldNames gives up sessions of agents that have another name now.
func (rs *roster) leaveOldNames(specs []*agent.Spec) {
	session := make(map[string]string, len(specs))
	for _, s := range specs {
		session[s.Name()] = s.Session
	}
	for name, ag := range rs.all {
		if now := session[ag.seen.Agent]; now != "" && now != name {
			ag.seen.Occupant, ag.seen.Agent = ag.seen.Agent, ""
		}
	}
	for _, s := range specs {
		r := &rs.all[s.Session].seen.Record
		if old := rs.moved[s.Name()]; old != "" && rs.all[old] == nil { // it may be running although no list says so
			rs.all[old] = &agentState{shown: shownState{since: time.Now()}, seen: plan.Seen{Session: old, Occupant: r.Agent}}
		}
	}
	clear(rs.moved)
}

func (rs *roster) setSpec(ag *agentState, s *agent.Spec) {
	r := &ag.seen.Record
	if ag.seen.Agent != "" && ag.seen.Agent != s.Name() { // another agent had the name
		ag.seen.Occupant, *r = ag.seen.Agent, session.Record{}
	}
	if r.Agent == "" { // it was running before it was wanted
		known := rs.records[s.Name()]
		if known.Session != "" && known.Session != s.Session {
			rs.move(&known, s)
		}
		if r.ID != "" {
			known.ID, known.Token, known.Epoch, known.Open = r.ID, r.Token, max(r.Epoch, known.Epoch), true
		}
		*r = known
	}
	if differ(r.CoreHash, s.Hashes.Core) || differ(r.Digest, s.Digest) { // a new config is a new chance
		job := r.Job
		r.Clear()
		r.Job = job
	}
	r.Agent, r.Session, r.CoreHash, r.Digest = s.Name(), s.Session, s.Hashes.Core, s.Digest
	if ag.spec != s {
		ag.seen.Asked = time.Time{} // other questions matter now
	}
	ag.spec, ag.seen.Agent = s, s.Name()
}

// move changes the session name of a record: nothing has been started under the
// new name.
func (rs *roster) move(r *session.Record, s *agent.Spec) {
	if r.Open {
		rs.moved[s.Name()] = r.Session
	}
	r.Session, r.Open = s.Session, false
	if !r.Job.Done {
		r.Job = session.Job{}
	}
}

// differ reports whether two hashes are known and differ.
func differ(was, is string) bool { return was != "" && is != "" && was != is }

// named returns the state of a wanted agent, or nil.
func (rs *roster) named(name string) *agentState {
	for _, ag := range rs.all {
		if ag.spec != nil && ag.seen.Agent == name {
			return ag
		}
	}
	return nil
}
