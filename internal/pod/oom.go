package pod

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroups is where a container sees its control groups.
const cgroups = "/sys/fs/cgroup"

// oomKills returns how many processes of the container were killed for lack of memory; -1
// if the kernel does not say. In version 1 of control groups one process dies of it, which
// nothing else reports.
func oomKills(root string) int {
	for _, file := range []string{"memory.events", "memory/memory.oom_control"} { // version 2, version 1
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if value, ok := strings.CutPrefix(line, "oom_kill "); ok {
				if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
					return n
				}
			}
		}
	}
	return -1
}
