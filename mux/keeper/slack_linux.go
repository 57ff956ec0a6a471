package keeper

import (
	goruntime "runtime"
	"time"

	"golang.org/x/sys/unix"
)

// keeperSlack is how much later than due a keeper's timers may go off: nothing
// in it is due to the millisecond. What it saves is the thread with which Go
// watches a process that works, every 20 µs; for a keeper, which waits for the
// program that it starts, that was two fifths of all it did.
const keeperSlack = 10 * time.Millisecond

// timerSlack is that of this thread (prctl(2), PR_SET_TIMERSLACK).
func timerSlack() time.Duration {
	ns, _ := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0) // never fails
	return time.Duration(ns)
}

// withTimerSlack calls do on a thread that has the slack. Children and threads
// that it starts inherit it; the watching thread comes so early that only a
// parent can give it one.
func withTimerSlack(slack time.Duration, do func()) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
	do()
}
