package slack

import (
	goruntime "runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Keeper is a keeper's timer slack beyond its starter's.
const Keeper = 10 * time.Millisecond

// Current returns the slack of the calling thread (prctl(2), PR_GET_TIMERSLACK).
func Current() time.Duration {
	ns, _ := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0) // never fails
	return time.Duration(ns)
}

// Do calls f on a thread with the slack d. Children and threads that it starts
// inherit it: the Go runtime starts sysmon so early that only a parent can set its
// slack.
func Do(d time.Duration, f func()) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(d), 0, 0, 0)
	f()
}
