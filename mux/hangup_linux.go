package mux

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
)

// hangUp sends HUP, as a terminal that closes does, to the processes that
// ignore TERM: interactive shells do, and would only end by KILL after the
// whole grace period. A process that handles TERM in its own way is left alone.
func hangUp(members []proctree.Proc) {
	for _, p := range members {
		if p.Alive() && ignoresTerm(p.PID) && p.Same() {
			_ = unix.Kill(p.PID, unix.SIGHUP)
		}
	}
}

// ignoresTerm reads the mask of ignored signals (proc_pid_status(5), SigIgn).
func ignoresTerm(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, rest, ok := bytes.Cut(b, []byte("\nSigIgn:\t"))
	if !ok {
		return false
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, err := strconv.ParseUint(string(line), 16, 64)
	return err == nil && mask&(1<<(unix.SIGTERM-1)) != 0
}
