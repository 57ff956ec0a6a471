package mux

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
)

// openProcess returns a descriptor of the process, -1 when it is gone.
func openProcess(pid int, start uint64) int {
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

// reapWait is how long the kernel may take to tell an exit status: until the
// process's new parent reaped it. There are ones that look every second or two.
const (
	reapWait = 5 * time.Second
	reapStep = 2 * time.Millisecond
)

// awaitProcess waits for the end of the process behind fd, and tells its wait
// status where the kernel does (PIDFD_INFO_EXIT, Linux 6.15). ok is false when
// done was closed first.
func awaitProcess(fd, _ int, _ uint64, done <-chan struct{}) (ws unix.WaitStatus, known, ok bool) {
	if fd < 0 {
		return 0, false, true
	}
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, highFD)
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
	for limit := time.Now().Add(reapWait); time.Now().Before(limit); time.Sleep(reapStep) {
		info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
		if err := unix.IoctlPidfdInfo(fd, &info); err != nil {
			break
		}
		if info.Mask&unix.PIDFD_INFO_EXIT != 0 {
			return unix.WaitStatus(info.Exit_code), true, true
		}
	}
	return 0, false, true
}
