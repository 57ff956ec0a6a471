package process

import (
	"slices"
	"time"
)

// Overdue returns the ids of ended records that are no longer kept: KeepSeen
// after the owner saw the end, KeepMost after the end, and all but the newest
// MaxKept of an owner. A record is kept while its delivery is open. Times are of
// the monotonic clock. next is when to call again; zero: after another end.
func Overdue(all []Record, open map[string]bool, now time.Time) (ids []string, next time.Time) {
	kept := make(map[string]int)
	newest := slices.Clone(all)
	slices.SortStableFunc(newest, func(a, b Record) int { return b.endedAt().Compare(a.endedAt()) })
	for i := range newest {
		r := &newest[i]
		if !r.Status.Ended() || open[r.EventID()] {
			continue
		}
		kept[r.Owner]++
		until := r.endedAt().Add(KeepMost)
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

// endedAt is when the command ended, by the monotonic clock. Records of earlier
// programs have only the system's time.
func (r *Record) endedAt() time.Time {
	if r.MonoEnd.IsZero() {
		return r.Ended
	}
	return r.MonoEnd
}
