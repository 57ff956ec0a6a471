package status

import "time"

// The limits of the wait for the message on a program's command line: from the
// first look that finds the program idle, and from its start.
const (
	firstWithin = 10 * time.Second
	firstLimit  = time.Minute
)

// first disbelieves idleness until the program has taken the message of its
// command line: an agent shows an empty composer while it loads a conversation,
// and drops what is typed there before the message.
func (d *Detector) first(best Finding, f Facts, now time.Time, soon func(time.Time)) Finding {
	if f.HasFirst == nil || d.firstTaken {
		return best
	}
	if best.State == Working || best.State == Done {
		d.firstTaken = true
		return best
	}
	if best.State != Idle {
		return best
	}
	if d.firstIdle.IsZero() {
		d.firstIdle = now
	}
	until := d.firstIdle.Add(firstWithin)
	if limit := f.Started.Add(firstLimit); limit.Before(until) {
		until = limit
	}
	if !now.Before(until) || f.HasFirst() {
		d.firstTaken = true
		return best
	}
	soon(until)
	return Finding{
		State: Unknown, Source: best.Source,
		Evidence: best.Evidence + ", but the message of its command line is not on the screen yet",
	}
}
