package far

import (
	"os"
	"strconv"
	"strings"
)

// ptys returns how many pseudo-terminals are in use and how many there may be; -1 if
// unknown. A container's /dev/pts may have a limit of its own (devpts, max=): the limit
// that leaves fewer counts.
func ptys() (used, most int) {
	used, most = number("/proc/sys/kernel/pty/nr"), number("/proc/sys/kernel/pty/max")
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return used, most
	}
	limit := ptyLimit(string(mounts))
	if limit < 0 {
		return used, most
	}
	entries, err := os.ReadDir(ptyDir)
	if err != nil {
		return used, most
	}
	here := 0
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil { // not ptmx
			here++
		}
	}
	if used < 0 || most < 0 || limit-here < most-used {
		return here, limit
	}
	return used, most
}

const ptyDir = "/dev/pts"

// ptyLimit returns the option max of the devpts that is mounted (proc(5), mountinfo); -1 if
// it has none.
func ptyLimit(mounts string) int {
	limit := -1
	for line := range strings.Lines(mounts) {
		mount, fs, _ := strings.Cut(strings.TrimSpace(line), " - ")
		place, kind := strings.Fields(mount), strings.Fields(fs)
		if len(place) < 5 || place[4] != ptyDir || len(kind) < 3 || kind[0] != "devpts" {
			continue
		}
		limit = -1 // a later mount hides an earlier one
		for option := range strings.SplitSeq(kind[2], ",") {
			if text, ok := strings.CutPrefix(option, "max="); ok {
				if n, err := strconv.Atoi(text); err == nil {
					limit = n
				}
			}
		}
	}
	return limit
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
