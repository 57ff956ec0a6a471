package far

import (
	"os"
	"strconv"
	"strings"
)

// ptys returns how many pseudo-terminals are in use and how many there may be; -1 if
// unknown.
func ptys() (used, most int) {
	return number("/proc/sys/kernel/pty/nr"), number("/proc/sys/kernel/pty/max")
}

func number(file string) int {
	b, err := os.ReadFile(file)
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return -1
	}
	return n
}
