package runtime

import (
	"context"
	"time"
)

// The optional interfaces. A caller finds one with [As], which sees through
// wrappers; a provider implements what its backend can really do.

// EventSource pushes what happens to sessions, so that nobody polls.
type EventSource interface {
	// Events delivers events until ctx ends or the backend is lost; then the
	// channel is closed. Subscription is complete when Events returns: what
	// happens later is delivered. A subscriber that does not keep up is
	// dropped (its channel closes) and must list again.
	Events(ctx context.Context) (<-chan Event, error)
}

// Kinds of [Event].
const (
	EventStarted = "started"
	EventExited  = "exited"
)

// Event is one thing that happened to a session.
type Event struct {
	Kind    string
	Session string
	Time    time.Time
	Exit    *Exit // EventExited only
}

// Exit tells how a session's leader ended.
type Exit struct {
	Code   int       `json:"code"`             // exit status; 128+n for signal n; -1 unknown
	Signal string    `json:"signal,omitempty"` // "SIGKILL"
	Reason string    `json:"reason,omitempty"` // "exited", "killed", "stopped", "command not found", "unknown"
	Time   time.Time `json:"time"`
}

// ExitReporter tells how an ended session ended, while the backend keeps it.
type ExitReporter interface {
	// LastExit returns nil without an error for a session that runs, and
	// ErrSessionNotFound for one that is not known any more.
	LastExit(ctx context.Context, name string) (*Exit, error)
}

// Condition is one thing to wait for. Exactly one field is set.
type Condition struct {
	Text   string        // regular expression (RE2) on a line of the live screen
	Quiet  time.Duration // no output for this long
	Exit   bool          // the session ended
	Title  string        // regular expression on the window title
	Bell   bool          // BEL was received after the wait began
	Prompt bool          // a shell prompt is open (OSC 133)
}

// Waiter blocks on conditions that the backend evaluates on change.
type Waiter interface {
	// WaitFor returns the index of the first condition that holds. A timeout
	// is context.DeadlineExceeded of ctx; a session that ends without a
	// matching condition is ErrSessionNotFound.
	WaitFor(ctx context.Context, name string, any []Condition) (int, error)
}

// RelaunchProvider starts the agent again inside its warm session: the same
// box, environment, staged files and metadata. It is what a change of the
// launch half of the fingerprint needs.
type RelaunchProvider interface {
	// Relaunch ends the session's agent and starts cfg.Command in its place;
	// serving variables in cfg.Env are added. ErrSessionNotFound without a
	// session; ErrRelaunchUnsupported when this session cannot: the caller
	// then stops and starts.
	Relaunch(ctx context.Context, name string, cfg Config) error
}

// As finds an optional interface on p, looking through wrappers that have an
// Unwrap() Provider method.
func As[T any](p Provider) (T, bool) {
	for p != nil {
		if t, ok := p.(T); ok {
			return t, true
		}
		w, ok := p.(interface{ Unwrap() Provider })
		if !ok {
			break
		}
		p = w.Unwrap()
	}
	var zero T
	return zero, false
}
