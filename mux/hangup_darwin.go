package mux

import (
	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
)

// hangUp sends HUP, as a terminal that closes does, to shells that lead a
// session: interactive ones ignore TERM. Which signals a process ignores is
// not told here.
func hangUp(members []proctree.Proc) {
	for _, p := range members {
		if p.Alive() && p.PID == p.SID && proctree.Matches(p.PID, []string{"sh", "bash", "zsh", "dash", "ksh", "fish"}) {
			_ = unix.Kill(p.PID, unix.SIGHUP)
		}
	}
}
