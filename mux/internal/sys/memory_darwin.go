package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// NewMemory returns an unlinked file in dir: this system has no anonymous
// memory with a descriptor that could be mapped after a hand-over.
func NewMemory(dir string, size int64) (int, error) {
	f, err := os.CreateTemp(dir, "journal-*")
	if err != nil {
		return -1, fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return -1, fmt.Errorf("journal: %w", err)
	}
	if err := f.Truncate(size); err != nil {
		return -1, fmt.Errorf("journal: %w", err)
	}
	return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
}

// PunchHole zeroes mapped memory.
func PunchHole(_ int, _ int64, mem []byte) { clear(mem) }

// PunchHoleFile does nothing: the blocks stay until the file is removed.
func PunchHoleFile(int, int64, int64) error { return nil }

// DataEnd returns n: all of it may take memory.
func DataEnd(_ int, _ int64, n int) int { return n }
