package sys

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
)

// OpenProcess returns a descriptor of the process, -1 if it is gone.
func OpenProcess(pid int, start uint64) int {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return -1
	}
	p, err := proctree.Get(pid)
	if err != nil || start != 0 && p.Start != start {
		unix.Close(fd)
		return -1
	}
	return fd
}

// AwaitProcess waits for the end of the process behind fd and returns its wait
// status if the kernel reports it: from /proc until its new parent reaps it,
// afterwards through the descriptor (PIDFD_INFO_EXIT, Linux 6.15). ok is false
// if done was closed first.
func AwaitProcess(fd, pid int, start uint64, done <-chan struct{}) (ws unix.WaitStatus, known, ok bool) {
	if fd < 0 {
		return 0, false, true
	}
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, HighFD)
	if err != nil {
		return 0, false, true
	}
	f := os.NewFile(uintptr(dup), "process") // nonblocking: the runtime's poller waits
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false, true
	}
	ended := make(chan error, 1)
	go func() {
		ended <- raw.Read(func(fd uintptr) bool {
			n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return n > 0
		})
	}()
	select {
	case <-ended:
	case <-done:
		f.Close()
		<-ended
		return 0, false, false
	}
	if ws, known := zombieStatus(pid, start); known {
		return ws, true, true
	}
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	if unix.IoctlPidfdInfo(fd, &info) == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0 {
		return unix.WaitStatus(info.Exit_code), true, true
	}
	return 0, false, true
}

// zombieStatus returns the wait status of a process that has ended and was not
// reaped (proc_pid_stat(5), exit_code). The kernel reports 0 for another
// user's.
func zombieStatus(pid int, start uint64) (ws unix.WaitStatus, known bool) {
	p, err := proctree.Get(pid)
	if err != nil || !p.Zombie() || start != 0 && p.Start != start {
		return 0, false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	f := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(f) < 50 || f[0] != "Z" {
		return 0, false
	}
	status, err := strconv.ParseUint(f[49], 10, 32)
	if err != nil || status == 0 && !ownProcess(pid) {
		return 0, false
	}
	return unix.WaitStatus(status), true
}

// ownProcess reports whether every user id of a process is this user's.
func ownProcess(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, line, _ := bytes.Cut(b, []byte("\nUid:"))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	own := strconv.Itoa(os.Geteuid())
	ids := strings.Fields(string(line))
	return len(ids) == 4 && !slices.ContainsFunc(ids, func(id string) bool { return id != own })
}
