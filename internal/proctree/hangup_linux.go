package proctree

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// ignoresTerm reads the mask of ignored signals (proc_pid_status(5), SigIgn).
func ignoresTerm(p Proc) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
	if err != nil {
		return false
	}
	_, rest, ok := bytes.Cut(b, []byte("\nSigIgn:\t"))
	if !ok {
		return false
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, err := strconv.ParseUint(string(line), 16, 64)
	return err == nil && mask&(1<<(syscall.SIGTERM-1)) != 0
}
