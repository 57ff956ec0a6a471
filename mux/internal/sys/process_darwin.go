package sys

import (
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
)

// OpenProcess returns -1: this system has no process descriptors.
func OpenProcess(int, uint64) int { return -1 }

// foreignStep is the polling interval for a process that is not our child.
const foreignStep = 100 * time.Millisecond

// AwaitProcess waits for the end of the process. Its status is unknown: only a
// parent gets it.
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
