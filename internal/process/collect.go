package process

import (
	"slices"
	"time"
)

// Overdue returns the ids of ended records that are not kept any longer:
// KeepSeen after the owner saw the end, KeepMost after the end, and all but the
// newest MaxKept of an owner. One whose delivery is open stays as long as that
// is. next is when to look again, zero for not before something ends.
func Overdue(all []Record, open map[string]bool, now time.Time) (ids []string, next time.Time) {
	kept := make(map[string]int)
	newest := slices.Clone(all)
	slices.SortStableFunc(newest, func(a, b Record) int { return b.Ended.Compare(a.Ended) })
	for i := range newest {
		r := &newest[i]
		if !r.Status.Ended() || open[r.EventID()] {
			continue
		}
		kept[r.Owner]++
		until := r.Ended.Add(KeepMost)
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
