package trim

import (
	"bufio"
	"fmt"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Memory releases what an idle process does not need: freed heap, and the pages
// of its executable. Those are clean and come back from the page cache when
// they are used again.
func Memory() {
	goruntime.GC() // pools survive one collection
	debug.FreeOSMemory()
	for _, part := range imageParts() {
		// Clean file pages only: nothing is lost.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, part.from, part.to-part.from, unix.MADV_DONTNEED)
	}
}

// addresses are those of a mapping.
type addresses struct{ from, to uintptr }

// imageParts are the mappings of the executable that were never written to: a
// relocated part would come back without its relocations. They never move, so
// they are looked up only once: the journals of a thousand sessions make the
// list long.
var imageParts = sync.OnceValue(func() (parts []addresses) {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	f, err := os.Open("/proc/self/smaps") // proc_pid_smaps(5)
	if err != nil {
		return nil
	}
	defer f.Close()
	var part addresses
	var ours bool
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if strings.HasSuffix(line, " "+exe) { // a mapping; its properties follow
			var perm string
			n, _ := fmt.Sscanf(line, "%x-%x %s", &part.from, &part.to, &perm)
			ours = n == 3 && strings.HasPrefix(perm, "r") && perm[1] != 'w'
			continue
		}
		written, found := strings.CutPrefix(line, "Anonymous:")
		if found && ours && strings.TrimSpace(written) == "0 kB" {
			parts = append(parts, part)
		}
		ours = ours && !found
	}
	return parts
})
