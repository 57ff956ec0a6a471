// Package clock gives times that go on evenly, whatever is done to the system's
// clock, and that a later process goes on with.
//
// Its one invariant: a clock never goes back, not even over a restart or a
// reboot, and it never jumps ahead while the machine is up. It serves those who
// store times to compare them later: time limits, leases, pauses, what is kept.
package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Anchor is what is stored of a clock so that a later process can go on with
// it. The zero value is that of a clock that never was.
type Anchor struct {
	Boot string        `json:"boot,omitempty"` // of the machine, where it tells
	Mono time.Duration `json:"mono"`           // since that boot
	At   time.Time     `json:"at"`             // what the clock showed then
}

// Clock is an even clock. Its methods are safe for concurrent use.
type Clock struct {
	boot  string
	mono  time.Duration // at begin
	at    time.Time     // what it showed at begin, without a monotonic reading
	begin time.Time     // with one
}

// New is a clock that begins at the system's time.
func New() *Clock { return Resume(Anchor{}) }

// Resume goes on with the clock of the anchor: since the same boot by the time
// that really passed, after another boot at the system's time, but not before
// what the clock showed last.
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

// Now is the even time.
func (c *Clock) Now() time.Time { return c.at.Add(time.Since(c.begin)) }

// Since is how long ago an even time was.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Wall is an even time as the system's clock would show it today, for people:
// by whole seconds off, so that it does not change from one look to the next.
// The zero time stays zero.
func (c *Clock) Wall(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(time.Now().Round(0).Sub(c.Now()).Round(time.Second))
}

// Anchor is what to store.
func (c *Clock) Anchor() Anchor {
	passed := time.Since(c.begin)
	return Anchor{Boot: c.boot, Mono: c.mono + passed, At: c.at.Add(passed)}
}

// sinceBoot is the monotonic clock, which all processes of a boot share.
func sinceBoot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
