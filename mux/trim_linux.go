package mux

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

// trimMemory gives back what only the start needed: freed heap, and the pages
// of the executable that initialisation touched. They are clean and come back
// from the page cache when they are used. A daemon calls it when it has come to
// rest.
func trimMemory() {
	debug.FreeOSMemory()
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var from, to uintptr
		var perm string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &perm); err != nil {
			continue
		}
		if !strings.HasPrefix(perm, "r") || perm[1] == 'w' || !strings.HasSuffix(lines.Text(), exe) {
			continue
		}
		// Clean file pages only: nothing is lost.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
	}
}
