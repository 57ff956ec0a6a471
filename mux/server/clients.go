package server

// clients are the terminals attached to a session, and the size they give it.
// session.mu guards it.
type clients struct {
	s         *session
	list      []*attachClient
	sizeOwner *attachClient // whose size is in force; nil: the configured size is
}
