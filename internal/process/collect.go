package process

import (
	"slices"
	"time"
)

// Overdue returns the ids of ended records that are not kept any longer:
// KeepSeen after the owner saw the end, KeepMost after the end, and all but the
// newest MaxKept of an owner. All times are of the even clock. One whose delivery is open stays as long as that
// is. next is when to look again, zero for not before something ends.
func Overdue(all []Record, open map[string]bool, now time.Time) (ids []string, next time.Time) {
	kept := make(map[string]int)
	newest := slices.Clone(all)
	slices.SortStableFunc(newest, func(a, b Record) int { return b.over().Compare(a.over()) })
	for i := range newest {
		r := &newest[i]
		if !r.Status.Ended() || open[r.EventID()] {
			continue
		}
		kept[r.Owner]++
		until := r.over().Add(KeepMost)
		if seen := r.Seen.Add(KeepSeen); !r.Seen.IsZero() && seen.Before(until) {
			until = seen
		}
		switch {
		case kept[r.Owner] > MaxKept || !now.Before(until):
			ids = append(ids, r.ID)
		case next.IsZero() || until.Before(next):
			next = until
		}
	}
	return ids, next
}

// over is when the command ended, by the even clock; records of earlier programs
// have the system's time alone.
func (r *Record) over() time.Time {
	if r.Over.IsZero() {
		return r.Ended
	}
	return r.Over
}
