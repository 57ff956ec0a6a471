package sys

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// JoinCgroup fails: this system has no cgroups.
func JoinCgroup(_ *syscall.SysProcAttr, dir string) (closeFD func(), err error) {
	if dir != "" {
		return nil, fmt.Errorf("cgroup %s: not supported on this system", dir)
	}
	return func() {}, nil
}

func SetRlimit(r *unix.Rlimit, soft, hard uint64) { r.Cur, r.Max = soft, hard }

// PollExit returns false: only a parent learns of the exit.
func PollExit(int) bool { return false }
