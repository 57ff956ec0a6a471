package controller

import (
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/session"
)

// roster is the agents of the city: those that the config wants, and sessions of
// the city that it does not want any more.
type roster struct {
	l         *loop
	records   map[string]session.Record // by agent, also of those that are not wanted now
	templates []*agent.Spec             // of the config: agents and pools
	all       map[string]*agentState    // by session name
	order     []string                  // wanted sessions in file order
	moved     map[string]string         // by agent: the session that may still run it; while specs are applied
}

// setSpecs makes the wanted set. Members that are no longer in it lose their
// spec and keep their session until it is gone.
func (rs *roster) setSpecs(specs []*agent.Spec) {
	rs.order = rs.order[:0]
	wanted := map[string]bool{}
	for _, s := range specs {
		wanted[s.Session] = true
		rs.order = append(rs.order, s.Session)
		ag := rs.all[s.Session]
		if ag == nil {
			ag = &agentState{shown: shownState{since: rs.l.began}, seen: plan.Seen{Session: s.Session}}
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

// leaveOldNames gives up the sessions of agents that have another name now.
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
		if old := rs.moved[s.Name()]; old != "" && rs.all[old] == nil { // it may run, and a list may not say so
			rs.all[old] = &agentState{shown: shownState{since: time.Now()}, seen: plan.Seen{Session: old, Occupant: r.Agent}}
		}
	}
	clear(rs.moved)
}

func (rs *roster) setSpec(ag *agentState, s *agent.Spec) {
	r := &ag.seen.Record
	if ag.seen.Agent != "" && ag.seen.Agent != s.Name() { // the name was another agent's
		ag.seen.Occupant, *r = ag.seen.Agent, session.Record{}
	}
	if r.Agent == "" { // it was running before it was known to be wanted
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

// move makes the record of an agent whose session gets another name: nothing has
// been started under that.
func (rs *roster) move(r *session.Record, s *agent.Spec) {
	if r.Open {
		rs.moved[s.Name()] = r.Session
	}
	r.Session, r.Open = s.Session, false
	if !r.Job.Done {
		r.Job = session.Job{}
	}
}

// differ reports two hashes that are known and not the same.
func differ(was, is string) bool { return was != "" && is != "" && was != is }

// named is the wanted member of an agent, or nil.
func (rs *roster) named(name string) *agentState {
	for _, ag := range rs.all {
		if ag.spec != nil && ag.seen.Agent == name {
			return ag
		}
	}
	return nil
}
