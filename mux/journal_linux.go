package mux

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// newMemory returns memory without a name that lives as long as somebody has a
// descriptor of it.
func newMemory(_ string, size int64) (int, error) {
	fd, err := unix.MemfdCreate("gc-journal", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("memfd: %w", err)
	}
	if err := unix.Ftruncate(fd, size); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("memfd: %w", err)
	}
	return fd, nil
}

// giveBack frees the pages of mapped memory at off; it reads as zero then.
func giveBack(fd int, off int64, mem []byte) {
	if giveBackFile(fd, off, int64(len(mem))) != nil {
		clear(mem)
	}
}

// giveBackFile frees whole pages of a part that is not mapped.
func giveBackFile(fd int, off, n int64) error {
	n = (n + 4095) &^ 4095
	return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

// touched is the end, counted from off, of what takes memory in the n bytes
// from off on.
func touched(fd int, off int64, n int) int {
	end := 0
	for at := off; at < off+int64(n); {
		data, err := unix.Seek(fd, at, unix.SEEK_DATA)
		if err != nil || data >= off+int64(n) {
			break
		}
		hole, err := unix.Seek(fd, data, unix.SEEK_HOLE)
		if err != nil {
			return n
		}
		end, at = int(min(hole-off, int64(n))), hole
	}
	return end
}
