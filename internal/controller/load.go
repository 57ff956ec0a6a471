package controller

import (
	"gascity.dev/gc/internal/controller/api"
)

// load takes up the run where an earlier controller left it.
func (l *loop) load() error {
	id, fresh, err := l.book.Run()
	if err != nil {
		return err
	}
	l.runID = id
	for _, load := range []func() error{l.agents.load, l.nudges.load, l.waits.load, l.suspended.load} {
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
	if rs.records, err = rs.l.book.Records(); err == nil {
		rs.leaveOtherHosts()
	}
	return err
}

// beginRun forgets what lasts until gc stop only.
func (rs *roster) beginRun() {
	for name, r := range rs.records {
		r.Stopped, r.Asleep, r.Drained = false, false, false
		if r.Finished {
			r.Clear()
		}
		rs.records[name] = r
	}
}

// leaveOtherHosts gives up sessions started with another provider: it is no crash
// that this one does not have them.
func (rs *roster) leaveOtherHosts() {
	for name, r := range rs.records {
		if !r.Open || r.Host == "" || r.Host == rs.l.o.ProviderName {
			continue
		}
		r.CutShort()
		rs.records[name] = r
		rs.l.note(api.Event{Kind: api.EventOrphan, Agent: name, Session: r.Session, Detail: "it was started with " + r.Host + ", and is not looked for there"})
	}
}

func (su *suspensions) load() (err error) {
	su.byKey, err = su.l.book.Pauses()
	return err
}

func (q *nudgeQueue) load() error {
	list, err := q.l.book.Nudges()
	for i := range list {
		if list[i].Recover(q.l.book.Now()) {
			q.l.book.SaveNudge(list[i])
		}
		q.list = append(q.list, &list[i])
	}
	return err
}

func (wl *waitList) load() error {
	stored, err := wl.l.book.Waits()
	for i := range stored {
		wl.list = append(wl.list, &waiting{Wait: stored[i]})
	}
	return err
}
