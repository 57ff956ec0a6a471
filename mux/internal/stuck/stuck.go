// Package stuck decides whether a program that claims to work still moves: its screen, its
// processes, their CPU time and their network connections.
//
// Its invariant: a program is stuck only if it was looked at twice, at least After apart, and
// at every look in between nothing had moved. What cannot be read is never stuck. The package
// ends nothing, starts no timer and holds no lock; the server calls it for sessions that claim
// to work, and for no others.
package stuck

import (
	"fmt"
	"slices"
	"time"

	"gascity.dev/gc/internal/proctree"
)

// looks is how often a program is looked at within After.
const looks = 4

// busy is the share of one CPU that counts as movement: a program that waits has timers, too.
const busy = 0.02

// leastBusy hides the steps in which the kernel counts CPU time.
const leastBusy = 10 * time.Millisecond

// Sample is what a look finds.
type Sample struct {
	Screen uint64 // a hash of what is on the screen
	Procs  []proctree.ID
	CPU    time.Duration // of these processes and of their children that ended
	Net    Traffic
}

// Traffic is what came and went over the network.
type Traffic struct {
	Sockets []uint64 // of the processes, in order
	Bytes   uint64   // received, and sent and acknowledged
}

// Watch follows one session whose program claims to work.
type Watch struct {
	After time.Duration

	claim time.Time // since when it claims to work
	moved time.Time // when something last moved, as far as it was seen; zero: not looked at
	last  Sample
	at    time.Time // of last
	why   string    // the last look failed
}

// Works notes that the program claims to work since then, and returns when to look at it.
func (w *Watch) Works(since, now time.Time) (look time.Time) {
	if w.claim.IsZero() || since.After(w.claim) {
		*w = Watch{After: w.After, claim: since}
		if w.claim.IsZero() {
			w.claim = now
		}
	}
	if w.at.IsZero() {
		return w.claim.Add(w.After / looks)
	}
	next := w.at.Add(w.After / looks)
	if end := w.moved.Add(w.After); !w.moved.IsZero() && end.After(w.at) && end.Before(next) {
		return end
	}
	return next
}

// Take takes the result of a look.
func (w *Watch) Take(s Sample, err error, now time.Time) {
	if err != nil {
		w.moved, w.last, w.at, w.why = time.Time{}, Sample{}, now, err.Error()
		return
	}
	if w.moved.IsZero() || w.moves(s, now) {
		w.moved = now
	}
	w.last, w.at, w.why = s, now, ""
}

// moves reports whether anything moved since the last look.
func (w *Watch) moves(s Sample, now time.Time) bool {
	used := s.CPU - w.last.CPU
	least := max(leastBusy, time.Duration(busy*float64(now.Sub(w.at))))
	return s.Screen != w.last.Screen || used < 0 || used > least || s.Net.Bytes != w.last.Net.Bytes ||
		!slices.Equal(s.Procs, w.last.Procs) || !slices.Equal(s.Net.Sockets, w.last.Net.Sockets)
}

// Stuck reports whether the program is stuck, since when nothing has moved, and the evidence,
// also if it is not stuck.
func (w *Watch) Stuck() (is bool, since time.Time, evidence string) {
	switch {
	case w.why != "":
		return false, time.Time{}, "cannot tell whether it is stuck: " + w.why
	case w.moved.IsZero():
		return false, time.Time{}, "not looked at yet"
	}
	still := w.at.Sub(w.moved)
	if still < w.After {
		return false, w.moved, fmt.Sprintf("something moved within %v", w.After)
	}
	return true, w.moved, fmt.Sprintf("nothing has moved for %v: its screen, %s, their CPU time and network",
		still.Round(time.Second), count(len(w.last.Procs)))
}

func count(n int) string {
	if n == 1 {
		return "its process"
	}
	return fmt.Sprintf("its %d processes", n)
}
