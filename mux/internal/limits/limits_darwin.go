package limits

import (
	"gascity.dev/gc/mux/api"
	"golang.org/x/sys/unix"
)

const (
	rlimitNproc  = 7 // RLIMIT_NPROC, sys/resource.h
	rlimitMemory = unix.RLIMIT_AS
)

// Make: this system has no cgroups.
func Make(api.Paths, string, api.Limits) *Cgroup {
	return &Cgroup{Reason: "this system has no cgroups"}
}

func PIDs(string) []int { return nil }

func Kill(string) {}

func Remove(string) error { return nil }

// UserTasks: this system's RLIMIT_NPROC counts processes.
func UserTasks() (int, error) {
	procs, err := unix.SysctlKinfoProcSlice("kern.proc.uid", unix.Getuid())
	return len(procs), err
}
