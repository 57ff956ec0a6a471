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
	// Idle: the agent takes a message, it is ActivityIdle or ActivityDone.
	// Blocked is the activity of that name. A backend that cannot tell answers
	// ErrUnsupported.
	Idle    bool
	Blocked bool
	Done    bool // the activity of that name
	Status  bool // the activity, or the question, is another than when the wait began
}

// Waiter blocks on conditions that the backend evaluates on change.
type Waiter interface {
	// WaitFor returns the index of the first condition that holds. A timeout
	// is context.DeadlineExceeded of ctx; a session that ends without a
	// matching condition is ErrSessionNotFound.
	WaitFor(ctx context.Context, name string, any []Condition) (int, error)
}

// ProgramWatcher tells when a program has ended inside its session.
type ProgramWatcher interface {
	// AwaitProgramGone returns nil when no process with one of the names lives in
	// the session: a reason to look, as one may have come since.
	// ErrSessionNotFound without a session.
	AwaitProgramGone(ctx context.Context, name string, names []string) error
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

// IdleWaitProvider waits for a moment at which input disturbs nothing.
type IdleWaitProvider interface {
	// WaitForIdle returns nil at a safe boundary for input: the program says
	// that it is idle, or a prompt stands open, and no dialog does. timeout is
	// a hard bound; when it passes the error matches
	// context.DeadlineExceeded. ErrSessionNotFound without a session.
	WaitForIdle(ctx context.Context, name string, timeout time.Duration) error
}

// ImmediateNudgeProvider delivers input without waiting for anything.
type ImmediateNudgeProvider interface {
	// NudgeNow is Nudge without an idle heuristic. A dialog or a person's
	// draft makes the receipt Blocked at once. ErrSessionNotFound without a
	// session.
	NudgeNow(ctx context.Context, name string, content []ContentBlock) (Receipt, error)
}

// ExecProvider runs commands beside the agent, in the same box.
type ExecProvider interface {
	// Exec runs argv, without a shell, in the session's work dir and
	// environment, and returns its standard output verbatim and its exit
	// status. A status that is not zero is no error; one that cannot be known
	// is 1. The error means that it could not run at all: ErrSessionNotFound,
	// ErrExecUnsupported, or the cause.
	Exec(ctx context.Context, name string, argv []string) (output []byte, code int, err error)
}

// StartupProvider stays with a program after its start.
type StartupProvider interface {
	// AwaitFirstIdle answers the start-up dialogs that a program opens after it
	// seemed ready, as Start with the same cfg does, until evidence says that it
	// takes messages (nil), its session ends (ErrSessionNotFound) or ctx does. A
	// dialog that may not be answered is left to a person.
	AwaitFirstIdle(ctx context.Context, name string, cfg Config) error
}

// CursorLineProvider shows where input would go.
type CursorLineProvider interface {
	// CursorLine returns the line of the screen that the cursor stands on.
	// ErrSessionNotFound without a session.
	CursorLine(ctx context.Context, name string) (string, error)
}

// LiveRuntime is an agent's root process found in the process table, whether
// or not the provider knows the session.
type LiveRuntime struct {
	SessionID string `json:"session_id"`
	Session   string `json:"session"` // GC_SESSION_NAME: the name it was started under, may be empty
	City      string `json:"city"`    // GC_CITY_PATH, else GC_CITY; "": never ended by anybody
	Epoch     int64  `json:"epoch"`   // 0 when absent or unreadable
	PID       int    `json:"pid"`
	Provider  string `json:"provider"`
	Tracked   bool   `json:"tracked"` // the provider has a session for it
	Start     uint64 `json:"start"`   // start time in the kernel's unit, against reuse of the PID
}

// ProcessTableScanner finds agents by GC_SESSION_ID in the environment of live
// processes.
type ProcessTableScanner interface {
	// FindRuntimesBySessionID returns the root process of every agent with the
	// id, of every agent when it is "". Results may come with an error: they
	// are then partial, and still true.
	FindRuntimesBySessionID(ctx context.Context, id string) ([]LiveRuntime, error)
	// TerminateRuntime ends one with its descendants. nil when it is gone;
	// one without a city is refused.
	TerminateRuntime(ctx context.Context, r LiveRuntime) error
}

// ServerLifecycleProvider has one server behind all sessions.
type ServerLifecycleProvider interface {
	// ConfigureServer readies the server, and brings it up when it can be there
	// without a session. Idempotent; an error is a warning.
	ConfigureServer(ctx context.Context) error
	// TeardownServer ends the server after all sessions drained. nil when it
	// is gone; it does nothing while sessions live in it, whoever's they are.
	TeardownServer(ctx context.Context) error
}
