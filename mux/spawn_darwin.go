package mux

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// joinCgroup refuses: there are no cgroups on this system.
func joinCgroup(_ *syscall.SysProcAttr, dir string) (closeFD func(), err error) {
	if dir != "" {
		return nil, fmt.Errorf("cgroup %s: not supported on this system", dir)
	}
	return func() {}, nil
}

func setRlimit(r *unix.Rlimit, soft, hard uint64) { r.Cur, r.Max = soft, hard }

// pollExit cannot tell: only a parent is told.
func pollExit(int) bool { return false }
