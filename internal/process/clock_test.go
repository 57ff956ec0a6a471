package process

import (
	"testing"
	"time"

	"gascity.dev/gc/internal/delivery"
)

// TestOldTimes: times that an earlier program wrote, by a clock that has been
// set since, delay nothing for longer than they could have meant.
func TestOldTimes(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, jump := range []time.Duration{time.Hour, -time.Hour, year, -year} {
		now := t0.Add(jump)
		d := Delivery{Progress: delivery.Progress{State: Pending, Tries: 3, Created: t0, Next: t0.Add(4 * time.Second)}}
		if !d.Due(now) {
			t.Errorf("jump %v: a pause of 4 s goes on", jump)
		}
		l := Delivery{Progress: delivery.Progress{State: Leased, Created: t0, Lease: t0.Add(Policy.Lease)}}
		if !l.Due(now) {
			t.Errorf("jump %v: a lease of %v goes on", jump, Policy.Lease)
		}
		if err := l.Acquire(now); err != nil || l.Lease.Sub(now) != Policy.Lease {
			t.Errorf("jump %v: leased again %+v, %v", jump, l, err)
		}
	}
}

// TestKeptByTheMonotonicClock: records are kept by the monotonic clock, whatever
// the system's says.
func TestKeptByTheMonotonicClock(t *testing.T) {
	wall := t0.Add(365 * 24 * time.Hour)
	r := Record{ID: "1", Status: Completed, Ended: wall, MonoEnd: t0}
	if ids, next := Overdue([]Record{r}, nil, t0.Add(time.Hour)); len(ids) != 0 || !next.Equal(t0.Add(KeepMost)) {
		t.Errorf("dropped %v, next %v", ids, next)
	}
	if ids, _ := Overdue([]Record{r}, nil, t0.Add(KeepMost)); len(ids) != 1 {
		t.Error("kept too long")
	}
	if ids, _ := Overdue([]Record{{ID: "2", Status: Completed, Ended: t0}}, nil, t0.Add(KeepMost)); len(ids) != 1 {
		t.Error("a record of an earlier program is kept for ever")
	}
}
