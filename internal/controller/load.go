package controller

import (
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// load continues the run that an earlier controller left.
func (l *loop) load() error {
	id, fresh, err := l.store.Run()
	if err != nil {
		return err
	}
	l.runID = id
	for _, load := range []func() error{l.agents.load, l.nudges.load, l.waits.load, l.mail.load, l.suspended.load, l.far.load} {
		if err := load(); err != nil {
			return err
		}
	}
	if fresh {
		l.agents.beginRun()
	}
	return nil
}

func (rs *roster) load() (err error) {
	if rs.records, err = rs.store.Records(); err == nil {
		rs.leaveOtherHosts()
	}
	return err
}

// beginRun clears what lasts only until gc stop.
func (rs *roster) beginRun() {
	for name, r := range rs.records {
		r.Stopped, r.IdleStopped, r.Drained = false, false, false
		if r.Finished || r.NeedsLogin {
			r.Clear()
		}
		rs.records[name] = r
	}
}

// leaveOtherHosts gives up sessions that another provider hosts: they are not found, but
// they did not crash.
func (rs *roster) leaveOtherHosts() {
	router := runtime.RouterOf(rs.p)
	for name, r := range rs.records {
		if !r.Open || r.Host == "" || r.Host == rs.o.ProviderName || router != nil && router.Searches(r.Host) {
			continue
		}
		r.CutShort()
		rs.records[name] = r
		rs.note(api.Event{Kind: api.EventOrphan, Agent: name, Session: r.Session, Detail: "it was started with " + r.Host + ", which is not searched"})
	}
}

func (su *suspensions) load() (err error) {
	su.byKey, err = su.store.Suspensions()
	return err
}

func (q *nudgeQueue) load() error {
	list, err := q.store.Nudges()
	for i := range list {
		if list[i].Recover(q.store.Now()) {
			q.store.SaveNudge(list[i])
		}
		q.list = append(q.list, &list[i])
	}
	return err
}

func (wl *waitList) load() error {
	stored, err := wl.store.Waits()
	for i := range stored {
		wl.list = append(wl.list, &waiting{Wait: stored[i]})
	}
	return err
}
