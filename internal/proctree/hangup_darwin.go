package proctree

// ignoresTerm guesses that a shell that leads a session is interactive and
// ignores TERM: the kernel does not report ignored signals.
func ignoresTerm(p Proc) bool {
	return p.PID == p.SID && Matches(p.PID, []string{"sh", "bash", "zsh", "dash", "ksh", "fish"})
}
