package far

import "golang.org/x/sys/unix"

// ptys returns how many pseudo-terminals are in use, which macOS does not say, and how
// many there may be.
func ptys() (used, most int) {
	n, err := unix.SysctlUint32("kern.tty.ptmx_max")
	if err != nil {
		return -1, -1
	}
	return -1, int(n)
}
