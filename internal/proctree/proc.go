// Package proctree reads facts about processes from the kernel (/proc on Linux,
// sysctl on macOS), never from a tool's output, and ends process trees.
//
// Its invariant: a process is a pid together with its start time, and a signal
// never goes to another incarnation of a pid. It serves the multiplexer and the
// providers that run plain processes.
package proctree

import (
	"errors"
	"os"
	"time"
)

// ErrNotFound: the process does not exist, or no longer.
var ErrNotFound = errors.New("no such process")

// Proc is a process at the moment it was read.
type Proc struct {
	PID, PPID int
	PGID, SID int
	// State is the letter of proc(5): R, S, D, T (stopped), t (traced), Z, X, I.
	State byte
	// TTY is the device number of the controlling terminal, 0 if none.
	TTY uint64
	// TPGID is the foreground process group of that terminal, -1 if none.
	TPGID int
	// Threads is the number of threads; 0 where the system does not report it.
	Threads int
	// Start distinguishes incarnations of a pid: clock ticks since boot on
	// Linux, microseconds since 1970 on macOS. Only compare it.
	Start uint64
	// Comm is the kernel's short name, truncated to 15 bytes on Linux.
	Comm string
}

// ID is one incarnation of a pid.
type ID struct {
	PID   int
	Start uint64
}

// ID returns the process's identity.
func (p Proc) ID() ID { return ID{p.PID, p.Start} }

// Zombie reports whether the process has ended and not been reaped. A process
// whose first thread ended while others run is not a zombie.
func (p Proc) Zombie() bool {
	switch p.State {
	case 'Z':
		return p.Threads <= 1
	case 'X', 'x':
		return true
	}
	return false
}

// Stopped reports whether job control stopped the process.
func (p Proc) Stopped() bool { return p.State == 'T' }

// same reports whether the pid still belongs to this incarnation; a zombie
// does until it is reaped.
func (p Proc) same() bool {
	now, err := Get(p.PID)
	return err == nil && now.Start == p.Start
}

// Alive reports whether this incarnation is still running.
func (p Proc) Alive() bool {
	now, err := Get(p.PID)
	return err == nil && now.Start == p.Start && !now.Zombie()
}

// Get reads one process; ErrNotFound if it does not exist.
func Get(pid int) (Proc, error) { return get(pid) }

// Table lists all visible processes by rising pid. It is one scan, not one
// instant: processes may come and go meanwhile.
func Table() ([]Proc, error) { return table() }

// Environ returns the environment a process was started with (not what it set
// later). ErrNotFound if it is gone; os.ErrPermission for another user's.
func Environ(pid int) (map[string]string, error) { return environ(pid) }

// EnvironOf is Environ, but waits up to 20 ms for a process inside execve,
// which has no environment; known is false if it still has none.
func EnvironOf(p Proc) (env map[string]string, known bool, err error) { return environOf(p) }

// Cmdline returns the argument list; empty for a zombie or a kernel thread.
func Cmdline(pid int) ([]string, error) { return cmdline(pid) }

// CPU returns the CPU time that the process used, including that of its children that ended
// and were waited for.
func CPU(pid int) (time.Duration, error) { return cpu(pid) }

// Exe returns the path of the executable.
func Exe(pid int) (string, error) { return exe(pid) }

// self reports whether p must never be ended: the calling process, and pid 1.
func self(p Proc) bool { return p.PID == os.Getpid() || p.PID <= 1 }
