// Package proctree states facts about processes, read from the kernel
// (/proc on Linux, sysctl on macOS) and never from a tool's output, and ends
// process trees.
//
// Its invariant: a process is a pid together with its start time, and no
// signal ever goes to another incarnation of a pid. It serves the multiplexer
// and the providers that run plain processes.
package proctree

import (
	"errors"
	"os"
)

// ErrNotFound: there is no such process (any more).
var ErrNotFound = errors.New("no such process")

// Proc is one process at the moment it was looked at.
type Proc struct {
	PID, PPID int
	PGID, SID int
	// State is the letter of proc(5): R, S, D, T (stopped), t (traced), Z, X, I.
	State byte
	// TTY is the device number of the controlling terminal, 0 without one.
	TTY uint64
	// TPGID is the foreground process group of that terminal, -1 without one.
	TPGID int
	// Threads counts the threads that run; 0 where the system does not tell.
	Threads int
	// Start tells incarnations of a pid apart: clock ticks since boot on Linux,
	// microseconds since 1970 on macOS. Compare it, don't do sums with it.
	Start uint64
	// Comm is the kernel's short name, cut at 15 bytes on Linux.
	Comm string
}

// Zombie reports a process that has ended and waits to be collected. One whose
// first thread ended while others run is no zombie.
func (p Proc) Zombie() bool {
	switch p.State {
	case 'Z':
		return p.Threads <= 1
	case 'X', 'x':
		return true
	}
	return false
}

// Stopped reports a process that job control stopped.
func (p Proc) Stopped() bool { return p.State == 'T' }

// Same reports whether the pid still belongs to this incarnation; a zombie
// does until it is collected.
func (p Proc) Same() bool {
	now, err := Get(p.PID)
	return err == nil && now.Start == p.Start
}

// Alive reports whether this incarnation still runs.
func (p Proc) Alive() bool {
	now, err := Get(p.PID)
	return err == nil && now.Start == p.Start && !now.Zombie()
}

// Get looks at one process; ErrNotFound when there is none.
func Get(pid int) (Proc, error) { return get(pid) }

// Table lists all processes that can be seen, by rising pid. It is one scan,
// not one instant: a process may have come or gone meanwhile.
func Table() ([]Proc, error) { return table() }

// Environ returns the environment a process was started with (not what it set
// later). ErrNotFound when it is gone; os.ErrPermission for another user's.
func Environ(pid int) (map[string]string, error) { return environ(pid) }

// EnvironOf is Environ, but waits a moment for a process inside of execve, which
// has no environment; known is false when it still has none.
func EnvironOf(p Proc) (env map[string]string, known bool, err error) { return settled(p) }

// Cmdline returns the argument list; empty for a zombie or a kernel thread.
func Cmdline(pid int) ([]string, error) { return cmdline(pid) }

// Exe returns the path of the executable.
func Exe(pid int) (string, error) { return exe(pid) }

// Descendants lists the children of pid and theirs, parents first, without pid
// itself.
func Descendants(table []Proc, pid int) []Proc {
	children := make(map[int][]Proc)
	for _, p := range table {
		if p.PID != p.PPID {
			children[p.PPID] = append(children[p.PPID], p)
		}
	}
	found := append([]Proc(nil), children[pid]...)
	for i := 0; i < len(found); i++ {
		if found[i].PID != pid {
			found = append(found, children[found[i].PID]...)
		}
	}
	return found
}

// Session lists the processes of a session (setsid(2)), its leader included.
func Session(table []Proc, sid int) []Proc {
	var found []Proc
	for _, p := range table {
		if p.SID == sid {
			found = append(found, p)
		}
	}
	return found
}

// self is never a member of a tree that is to be ended.
func self(p Proc) bool { return p.PID == os.Getpid() || p.PID <= 1 }
