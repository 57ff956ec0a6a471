package mux

import "gascity.dev/gc/internal/proctree"

// ignoresTerm guesses that shells that lead a session do, as interactive ones;
// which signals a process ignores is not told here.
func ignoresTerm(p proctree.Proc) bool {
	return p.PID == p.SID && proctree.Matches(p.PID, []string{"sh", "bash", "zsh", "dash", "ksh", "fish"})
}
