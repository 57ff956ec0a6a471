package mux

import (
	goruntime "runtime"
	"sync/atomic"
	"time"
)

// Times and amounts after which a daemon's own memory is made small.
const (
	trimAfter = 2 * time.Second // without work
	trimWorth = 512 << 10       // bytes allocated since the last time: a hundred requests
)

// restTime is when a daemon has come to rest after its start.
const restTime = 300 * time.Millisecond

// trimmer gives memory back when a daemon has come to rest after much work. It
// has one timer, which runs from the first work until there was none for
// trimAfter: a daemon at rest is not woken up. The zero value is ready.
type trimmer struct {
	worth uint64 // less work than so many allocated bytes is not worth a collection
	state atomic.Int32
	done  atomic.Uint64 // what had been allocated at the last time
}

// States of a trimmer.
const (
	trimResting int32 = iota // no timer runs
	trimWaiting              // the timer runs, and there was no work since it was set
	trimWorked               // the timer runs, and there was
)

// note says that there is work.
func (t *trimmer) note() {
	if t.state.Load() != trimWorked && t.state.Swap(trimWorked) == trimResting {
		time.AfterFunc(trimAfter, t.look)
	}
}

// look is what the timer does.
func (t *trimmer) look() {
	if t.state.CompareAndSwap(trimWaiting, trimResting) {
		if n := allocated(); n-t.done.Load() >= t.worth {
			trimMemory()
			t.done.Store(n)
		}
		return
	}
	t.state.Store(trimWaiting)
	time.AfterFunc(trimAfter, t.look)
}

// allocated is how many bytes this process has ever allocated.
func allocated() uint64 {
	var m goruntime.MemStats // package metrics would cost every start 0.1 ms
	goruntime.ReadMemStats(&m)
	return m.TotalAlloc
}
