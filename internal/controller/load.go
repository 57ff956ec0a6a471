package controller

import (
	"errors"
	"os"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
)

// load continues the run that an earlier controller left.
func (l *loop) load() error {
	id, fresh, err := l.store.Run()
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
	if rs.records, err = rs.store.Records(); err == nil {
		rs.leaveOtherHosts()
	}
	return err
}

// beginRun clears what lasts only until gc stop.
func (rs *roster) beginRun() {
	for name, r := range rs.records {
		r.Stopped, r.IdleStopped, r.Drained = false, false, false
		if r.Finished {
			r.Clear()
		}
		rs.records[name] = r
	}
}

// leaveOtherHosts gives up sessions that another provider hosts: they did not
// crash, this one just does not have them.
func (rs *roster) leaveOtherHosts() {
	for name, r := range rs.records {
		if !r.Open || r.Host == "" || r.Host == rs.o.ProviderName {
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

// openStore opens the city's database. The caller holds the city's lock. A file
// that cannot be used is left as it is.
func openStore(city string) (*session.Store, error) {
	path := api.DBPath(city)
	b, err := session.Open(path)
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, session.ErrCorrupt):
		return nil, api.Hinted("move "+path+" away to continue with empty records; running agents are adopted", "%w", err)
	case errors.Is(err, session.ErrNewer):
		return nil, api.Hinted("use the newer gc that wrote it", "%w", err)
	case errors.Is(err, session.ErrLocked):
		return nil, api.Hinted("another program has it open: fuser "+path, "%w", err)
	case errors.Is(err, os.ErrPermission):
		return nil, api.StateDirError(city, err)
	}
	return nil, err
}
