package mux

import "golang.org/x/sys/unix"

// cookedMode reports whether the terminal edits lines itself (ICANON) and
// turns CR into LF (ICRNL). The master shows the slave's settings.
func cookedMode(fd int) (canonical, crnl bool) {
	if fd < 0 {
		return false, false
	}
	t, err := unix.IoctlGetTermios(fd, unix.TIOCGETA)
	if err != nil {
		return false, false
	}
	return t.Lflag&unix.ICANON != 0, t.Iflag&unix.ICRNL != 0
}

// unreadInput: this system does not tell.
func unreadInput(int) (n int, known bool) { return 0, false }

// signalsInput is asked only where unreadInput tells.
func signalsInput(int) bool { return false }
