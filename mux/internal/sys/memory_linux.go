package sys

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// NewMemory returns anonymous memory, which exists as long as a descriptor of
// it is open.
func NewMemory(_ string, size int64) (int, error) {
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

// PunchHole frees the pages of mapped memory at off; they then read as zero.
func PunchHole(fd int, off int64, mem []byte) {
	if PunchHoleFile(fd, off, int64(len(mem))) != nil {
		clear(mem)
	}
}

// PunchHoleFile frees whole pages of an unmapped part.
func PunchHoleFile(fd int, off, n int64) error {
	n = (n + 4095) &^ 4095
	return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

// DataEnd returns the end, relative to off, of the part of [off, off+n) that
// takes memory.
func DataEnd(fd int, off int64, n int) int {
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
