// Package clock has a monotonic clock that a later process can resume: changes of the
// system's clock do not affect it. It serves code that stores times to compare them
// later: time limits, leases, suspensions, retention.
//
// Its invariant: a clock never goes back, not even over a restart or a reboot, and
// never jumps ahead while the machine is up.
//
// Any code may use [Millis] and [Sleep].
package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Anchor is the stored state of a clock, from which a later process resumes.
// The zero value means that there was no clock.
type Anchor struct {
	Boot string        `json:"boot,omitempty"` // of the machine; "" if unknown
	Mono time.Duration `json:"mono"`           // since that boot
	At   time.Time     `json:"at"`             // what the clock showed then
}

// Clock is a monotonic clock. Its methods are safe for concurrent use.
type Clock struct {
	boot  string
	mono  time.Duration // at begin
	at    time.Time     // what it showed at begin, without a monotonic reading
	begin time.Time     // with a monotonic reading
}

// New returns a clock that starts at the system's time.
func New() *Clock { return Resume(Anchor{}) }

// Resume continues the clock of the anchor: within the same boot by the time
// that passed, after another boot at the system's time, but never before what
// the clock last showed.
func Resume(a Anchor) *Clock { return resume(a, Boot(), sinceBoot(), time.Now()) }

func resume(a Anchor, boot string, mono time.Duration, now time.Time) *Clock {
	c := &Clock{boot: boot, mono: mono, at: now.Round(0), begin: now}
	switch {
	case a.At.IsZero():
	case boot != "" && boot == a.Boot && mono >= a.Mono:
		c.at = a.At.Add(mono - a.Mono)
	case c.at.Before(a.At):
		c.at = a.At
	}
	return c
}

// Now returns the current time of the clock.
func (c *Clock) Now() time.Time { return c.at.Add(time.Since(c.begin)) }

// Since returns the time elapsed since t, a time of this clock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Wall converts a time of this clock to the system's clock, for display. The
// difference is rounded to whole seconds so that the result is stable. The zero
// time stays zero.
func (c *Clock) Wall(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(time.Now().Round(0).Sub(c.Now()).Round(time.Second))
}

// Anchor returns the state to store.
func (c *Clock) Anchor() Anchor {
	passed := time.Since(c.begin)
	return Anchor{Boot: c.boot, Mono: c.mono + passed, At: c.at.Add(passed)}
}

// sinceBoot reads the monotonic clock, which all processes of a boot share.
func sinceBoot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
