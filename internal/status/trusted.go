package status

import (
	"time"

	"gascity.dev/gc/vt"
)

// trusted applies a report that has the nonce, and nothing else.
func (s *signals) trusted(e vt.Event, nonce string, now time.Time) bool {
	if e.Kind != vt.EventStatus {
		return false
	}
	r, err := parseReport(e.Text)
	if err != nil || r.nonce != nonce {
		return false
	}
	s.put(r, now)
	return true
}

// trusted is Detect for a program whose reports have a nonce: they are all the evidence
// there is, and they are exact.
func (d *Detector) trusted(now time.Time) Activity {
	x := d.report(now, func(time.Time) {})
	a := Activity{State: x.State, Kind: x.Kind, Source: x.Source, Evidence: x.Evidence, Since: x.Since, Sources: []Finding{x}}
	switch {
	case x.State == "":
		a.State, a.Source = Unknown, ""
	case x.State == Done && !x.Since.After(d.s.Seen):
		a.State, a.Evidence = Idle, x.Evidence+" (seen)"
	case x.State == Blocked:
		a.Pending = d.reportPending(x)
	}
	d.previous = x
	return a
}
