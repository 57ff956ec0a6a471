package controller

import (
	"gascity.dev/gc/internal/controller/api"
)

// readBook takes up the run. A new one forgets what ended with the last.
func (l *loop) readBook() error {
	id, fresh, err := l.book.Run()
	if err != nil {
		return err
	}
	l.runID = id
	if l.records, err = l.book.Records(); err == nil {
		err = l.readQueue()
	}
	if err == nil {
		l.pauses, err = l.book.Pauses()
	}
	if err == nil {
		l.leaveOtherHosts()
	}
	if err != nil || !fresh {
		return err
	}
	for name, r := range l.records {
		r.Stopped, r.Asleep, r.Drained = false, false, false
		if r.Finished {
			r.Clear()
		}
		l.records[name] = r
	}
	return nil
}

// leaveOtherHosts gives up the sessions that were started with another provider:
// that this one does not have them is no crash.
func (l *loop) leaveOtherHosts() {
	for name, r := range l.records {
		if !r.Open || r.Host == "" || r.Host == l.o.ProviderName {
			continue
		}
		r.CutShort()
		l.records[name] = r
		l.note(api.Event{Kind: api.EventOrphan, Agent: name, Session: r.Session, Detail: "it was started with " + r.Host + ", and is not looked for there"})
	}
}
