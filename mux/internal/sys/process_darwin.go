package sys

import (
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
)

// OpenProcess: this system has no descriptors of processes.
func OpenProcess(int, uint64) int { return -1 }

// foreignStep is how often a process that is nobody's child is looked at.
const foreignStep = 100 * time.Millisecond

// AwaitProcess waits for the end of the process. Its status is not known: only
// a parent is told.
func AwaitProcess(_, pid int, start uint64, done <-chan struct{}) (ws unix.WaitStatus, known, ok bool) {
	for {
		p, err := proctree.Get(pid)
		if err != nil || p.Zombie() || start != 0 && p.Start != start {
			return 0, false, true
		}
		select {
		case <-time.After(foreignStep):
		case <-done:
			return 0, false, false
		}
	}
}
