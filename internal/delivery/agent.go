package delivery

import "context"

// Agent is a running agent as a delivery sees it. Its methods return ErrGone when
// its session has ended, and block until ctx ends at most.
type Agent interface {
	// AwaitIdle returns when the agent takes a message: it reports that it is
	// idle, or reports nothing and is quiet.
	AwaitIdle(ctx context.Context) error
	// Type types the message and submits it.
	Type(ctx context.Context, text string) (Outcome, error)
	// Screen returns the last lines of the screen and its history; 0 = all.
	Screen(ctx context.Context, lines int) (string, error)
	// CursorLine returns the line with the cursor; known is false if the
	// cursor's position is unknown.
	CursorLine(ctx context.Context) (line string, known bool, err error)
	// Press presses a key; ErrNoKeys if the session takes none.
	Press(ctx context.Context, key string) error
}

// Result is the outcome of typing a message.
type Result int

// The results.
const (
	NotSubmitted Result = iota // refused, blocked, or left as a draft
	Submitted
	Unverified // typed and entered; whether it was submitted is unknown
	Withdrawn  // typed, not submitted, and taken out of the composer again
)

// Outcome is a result with its reason.
type Outcome struct {
	Result Result
	Detail string
}
