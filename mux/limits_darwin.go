package mux

import (
	"gascity.dev/gc/mux/api"
	"golang.org/x/sys/unix"
)

const (
	rlimitNproc  = 7 // RLIMIT_NPROC, sys/resource.h
	rlimitMemory = unix.RLIMIT_AS
)

// makeCgroup: this system has no cgroups.
func makeCgroup(api.Paths, string, api.Limits) *cgroup {
	return &cgroup{reason: "this system has no cgroups"}
}

func cgroupPIDs(string) []int { return nil }

func killCgroup(string) {}

func removeCgroup(string) error { return nil }

// userTasks: this system's RLIMIT_NPROC counts processes.
func userTasks() (int, error) {
	procs, err := unix.SysctlKinfoProcSlice("kern.proc.uid", unix.Getuid())
	return len(procs), err
}
