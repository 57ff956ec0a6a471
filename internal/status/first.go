package status

import "time"

// The limits of the wait for a program's opening: from the
// first look that finds the program idle, and from its start.
const (
	firstWithin = 10 * time.Second
	firstLimit  = time.Minute
)

// first disbelieves idleness until the program has taken up its opening: an agent
// shows an empty composer before it loads a conversation, and drops what is typed
// there meanwhile.
func (d *Detector) first(best Finding, f Facts, now time.Time, soon func(time.Time)) Finding {
	if f.Opening == nil || d.firstTaken {
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
	if !now.Before(until) || f.Opening.Shown() {
		d.firstTaken = true
		return best
	}
	soon(until)
	return Finding{
		State: Unknown, Source: best.Source,
		Evidence: best.Evidence + ", but " + f.Opening.Name + " is not on the screen yet",
	}
}
