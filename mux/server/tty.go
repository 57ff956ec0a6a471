package server

// tty is the server's side of a session's terminal, or of the pipes of a background
// command. session.mu guards it.
type tty struct {
	s     *session
	fd    int    // the terminal's master; -1 after the end
	slot  uint64 // in the readiness loop
	eof   bool   // the terminal has no more output
	stdin *stdin // nil on a terminal
}
