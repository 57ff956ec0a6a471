package clock

import (
	"os"
	"strings"
)

// Boot identifies the boot of the machine (proc(5), random/boot_id); "" if the
// file does not exist.
func Boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
