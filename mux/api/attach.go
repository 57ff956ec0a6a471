package api

// ControlProtocol is the value of the Upgrade header with which a connection becomes one
// to the control socket of a session's program.
const ControlProtocol = "gc-control/1"

// Statuses with which the server closes an attach connection (RFC 6455, section
// 7.4.2, the range for private use).
const (
	StatusKicked = 4001 // another terminal detached this one; the client does not come back
	StatusNested = 4002 // the session would show itself
)
