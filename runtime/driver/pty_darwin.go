package driver

import (
	"bytes"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OpenPTY opens a pseudoterminal (pty(4)) for a program. The caller closes both ends.
func OpenPTY() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("open /dev/ptmx", err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	var name [128]byte
	for _, req := range []struct {
		name string
		req  uintptr
		arg  uintptr
	}{
		{"TIOCPTYGRANT", unix.TIOCPTYGRANT, 0},
		{"TIOCPTYUNLK", unix.TIOCPTYUNLK, 0},
		{"TIOCPTYGNAME", unix.TIOCPTYGNAME, uintptr(unsafe.Pointer(&name[0]))},
	} {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req.req, req.arg); errno != 0 {
			master.Close()
			return nil, nil, os.NewSyscallError(req.name, errno)
		}
	}
	path, _, _ := bytes.Cut(name[:], []byte{0})
	slave, err = os.OpenFile(string(path), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}
