package fds

import "golang.org/x/sys/unix"

// closeRange is close_range(2) with CLOSE_RANGE_CLOEXEC, of Linux 5.11.
func closeRange(first, last uint) error {
	return unix.CloseRange(first, last, unix.CLOSE_RANGE_CLOEXEC)
}
