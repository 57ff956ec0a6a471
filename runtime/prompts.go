package runtime

import (
	"context"
	"time"
)

// Optional interfaces of providers whose nudges reach a program that speaks a protocol
// ([Capabilities.Prompts]), not a terminal.

// InterruptedTurnResetProvider ends a turn for good.
type InterruptedTurnResetProvider interface {
	// ResetInterruptedTurn cancels the turn that runs, and returns once the agent has
	// ended it: the next message begins another. Nil if no turn runs.
	// ErrSessionNotFound without a session.
	ResetInterruptedTurn(ctx context.Context, name string) error
}

// InterruptBoundaryWaitProvider knows when an interrupt has taken effect.
type InterruptBoundaryWaitProvider interface {
	// WaitForInterruptBoundary waits until the agent has confirmed the end of the turn
	// that ran at since; nil if none did. timeout is a hard bound; past it the error
	// matches context.DeadlineExceeded. ErrSessionNotFound without a session.
	WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error
}

// TransportSupporter is a provider that hosts sessions of certain transports
// (Config.Transport), as every [Router] is.
type TransportSupporter interface {
	SupportsTransport(transport string) bool
}

// SupportsTransport reports whether p, or what it wraps, hosts sessions of the
// transport; false if it does not say.
func SupportsTransport(p Provider, transport string) bool {
	for ; p != nil; p = unwrap(p) {
		if s, ok := p.(TransportSupporter); ok {
			return s.SupportsTransport(transport)
		}
	}
	return false
}
