package runtime

import (
	"context"
	"net"
	"time"

	"gascity.dev/gc/internal/outcome"
)

// The optional interfaces. A caller finds one with [As], which sees through
// wrappers; a provider implements those that its backend really supports.

// EventSource pushes what happens to sessions.
type EventSource interface {
	// Events delivers events until ctx ends or the backend is lost; then the
	// channel is closed. The subscription is complete when Events returns:
	// whatever happens later is delivered. A subscriber that falls behind is
	// dropped (its channel closes) and must list again.
	Events(ctx context.Context) (<-chan Event, error)
}

// Kinds of [Event].
const (
	EventStarted = "started"
	EventExited  = "exited"

	// What was done to a session. A backend may have none of them.
	EventNudged      = "nudged"      // Receipt, Text, By
	EventAnswered    = "answered"    // its question: Text is the option, By
	EventInterrupted = "interrupted" // By
)

// Event is one thing that happened to a session.
type Event struct {
	Kind    string
	Session string
	Time    time.Time
	Exit    *Exit // EventExited only
	Receipt *Receipt
	Text    string // the start of a message
	By      Actor
}

// Actor is the process that did something, as the backend proves it; the zero value
// is unknown.
type Actor struct {
	Session  string // it runs in this session
	Terminal string // it runs in no session and has this controlling terminal
	Backend  bool   // the backend itself: a message from its queue, the end of a command
	PID      int    // on the backend's machine
}

// Exit is how a session's leader ended.
type Exit = outcome.Exit

// Reasons of an [Exit]; a provider may have others.
const (
	ReasonExited   = outcome.Exited
	ReasonKilled   = outcome.Killed
	ReasonStopped  = outcome.Stopped
	ReasonNotFound = outcome.NotFound
	ReasonUnknown  = outcome.Unknown
	ReasonRebooted = outcome.Rebooted
)

// ExitReporter reports how a session ended, while the backend keeps it.
type ExitReporter interface {
	// LastExit returns nil without an error for a running session, and
	// ErrSessionNotFound for one that the backend no longer knows.
	LastExit(ctx context.Context, name string) (*Exit, error)
}

// Booter tells the boots of a session's machine apart. A session does not survive a
// reboot.
type Booter interface {
	// Boot identifies the current boot of the machine that hosts, or would host, the
	// session; "" if that is unknown.
	Boot(ctx context.Context, name string) (string, error)
}

// IdleStopper stops a session only if it is still idle.
type IdleStopper interface {
	// StopIdle is Stop if the session's last activity, as GetLastActivity returns it, is
	// still last: otherwise ErrActive. Nothing is typed into it between the look and its end.
	StopIdle(ctx context.Context, name string, last time.Time) error
}

// Condition is one thing to wait for. Exactly one field is set.
type Condition struct {
	Text   string        // regular expression (RE2) on a line of the live screen
	Quiet  time.Duration // no output for this long
	Exit   bool          // the session ended
	Title  string        // regular expression on the window title
	Bell   bool          // BEL was received after the wait began
	Prompt bool          // a shell prompt is open (OSC 133)
	// Idle: the agent takes a message: ActivityIdle or ActivityDone. A backend
	// that cannot tell answers ErrUnsupported.
	Idle    bool
	Blocked bool // ActivityBlocked
	Done    bool // ActivityDone
	Stuck   bool // ActivityStuck
	Free    bool // as Idle, and nothing runs in the agent's background
	Status  bool // the activity, or the question, changed since the wait began
}

// Waiter blocks on conditions that the backend evaluates on change.
type Waiter interface {
	// WaitFor returns the index of the first condition that holds. It fails with
	// ctx's error, or with ErrSessionNotFound if the session ends first.
	WaitFor(ctx context.Context, name string, any []Condition) (int, error)
}

// ProgramWatcher waits for the end of a program inside its session.
type ProgramWatcher interface {
	// AwaitProgramGone returns nil when no process with one of the names lives in
	// the session. Check again: one may have started since. ErrSessionNotFound
	// without a session.
	AwaitProgramGone(ctx context.Context, name string, names []string) error
}

// RelaunchProvider restarts the agent inside its session, which keeps its box,
// environment, staged files and metadata: enough for a change of the launch half
// of the fingerprint.
type RelaunchProvider interface {
	// Relaunch ends the session's agent and starts cfg.Command in its place;
	// serving variables in cfg.Env are added. ErrSessionNotFound without a
	// session; ErrRelaunchUnsupported if this session cannot: the caller then
	// stops and starts it.
	Relaunch(ctx context.Context, name string, cfg Config) error
}

// IdleWaitProvider waits until input disturbs nothing.
type IdleWaitProvider interface {
	// WaitForIdle returns nil at a safe boundary for input: the program reports
	// that it is idle, or a prompt is open, and no dialog is. timeout is a hard
	// bound; past it the error matches context.DeadlineExceeded.
	// ErrSessionNotFound without a session.
	WaitForIdle(ctx context.Context, name string, timeout time.Duration) error
}

// ImmediateNudgeProvider delivers input without waiting for anything.
type ImmediateNudgeProvider interface {
	// NudgeNow is Nudge without waiting for idle. With a dialog or a person's
	// draft on the screen the receipt is Blocked at once. ErrSessionNotFound
	// without a session.
	NudgeNow(ctx context.Context, name string, content []ContentBlock) (Receipt, error)
}

// InterruptNudgeProvider ends a turn and delivers.
type InterruptNudgeProvider interface {
	// NudgeInterrupt interrupts the turn that runs, if one does, waits until it is seen
	// to have ended, and delivers the message, ahead of those that wait for the agent.
	// An open question is cancelled, but not one about a login or a directory. The
	// message is Blocked (By "turn") if the turn does not end, or that cannot be told;
	// Receipt.Interrupted says what is known. ErrSessionNotFound without a session.
	NudgeInterrupt(ctx context.Context, name string, content []ContentBlock) (Receipt, error)
}

// ExecProvider runs commands beside the agent, in the same box.
type ExecProvider interface {
	// Exec runs argv, without a shell, in the session's work dir and
	// environment, and returns its standard output verbatim and its exit
	// status, 1 if unknown. A nonzero status is not an error: the error means
	// that argv did not run: ErrSessionNotFound, ErrExecUnsupported, or the
	// cause.
	Exec(ctx context.Context, name string, argv []string) (output []byte, code int, err error)
}

// StartupProvider watches over a program after its start.
type StartupProvider interface {
	// AwaitFirstIdle answers the start-up dialogs that a program opens after it
	// seemed ready, as Start with the same cfg does. It returns nil once there is
	// evidence that the program takes messages, ErrSessionNotFound when the
	// session ends, and ctx's error. A dialog that gc may not answer is left to a
	// person.
	AwaitFirstIdle(ctx context.Context, name string, cfg Config) error
}

// CursorLineProvider shows where input would go.
type CursorLineProvider interface {
	// CursorLine returns the line of the screen with the cursor.
	// ErrSessionNotFound without a session.
	CursorLine(ctx context.Context, name string) (string, error)
}

// Controlled reaches the control socket of a session that was started with
// Config.Control. Providers for agents that speak a protocol are built on it. Messages,
// answers and interrupts for such a session reach its program through that socket.
type Controlled interface {
	// Control connects to the socket; the caller closes the connection. It waits a
	// while for a program that has just started. ErrSessionNotFound without a running
	// session; ErrUnsupported for one without a socket.
	Control(ctx context.Context, name string) (net.Conn, error)
}

// ConversationProvider knows which conversation an agent is in.
type ConversationProvider interface {
	// Conversation returns the agent's id of its conversation, with which a later
	// start continues it (Config.ResumeID); "" before there is one. ErrSessionNotFound
	// without a session.
	Conversation(ctx context.Context, name string) (id string, err error)
}

// TurnProvider tells when an agent's turns end.
type TurnProvider interface {
	// AwaitTurn returns the newest turn that has ended once its N is greater than
	// after. A caller that falls behind misses turns; N shows how many.
	// ErrSessionNotFound when the session ends.
	AwaitTurn(ctx context.Context, name string, after int) (Turn, error)
}

// ModeProvider changes how an agent works while it runs.
type ModeProvider interface {
	// SetMode sets the agent's mode and model by id or name; "" keeps one. An unknown
	// value is an error that lists the valid ones. ErrSessionNotFound without a session.
	SetMode(ctx context.Context, name, mode, model string) error
}

// LiveRuntime is an agent's root process found in the process table, whether or
// not the provider knows its session.
type LiveRuntime struct {
	SessionID string `json:"session_id"`
	Session   string `json:"session"` // GC_SESSION_NAME: the name it was started under, may be empty
	City      string `json:"city"`    // GC_CITY_PATH, else GC_CITY; one without is never ended
	Epoch     int64  `json:"epoch"`   // 0 if absent or unreadable
	PID       int    `json:"pid"`
	Provider  string `json:"provider"`
	Tracked   bool   `json:"tracked"` // the provider has a session for it
	Start     uint64 `json:"start"`   // start time in the kernel's unit; detects a reused PID

	// Of a runtime that is no process of a machine's table; PID and Start are 0 then.
	ID    string `json:"id,omitempty"`    // in its backend: "NAMESPACE/POD"
	Token string `json:"token,omitempty"` // of this incarnation of it
}

// ProcessTableScanner finds agents by GC_SESSION_ID in the environment of live
// processes.
type ProcessTableScanner interface {
	// FindRuntimesBySessionID returns the root process of every agent with the
	// id; "" means every agent. Results that come with an error are correct but
	// incomplete.
	FindRuntimesBySessionID(ctx context.Context, id string) ([]LiveRuntime, error)
	// TerminateRuntime ends an agent with its descendants: nil if it is gone
	// already, an error for one without a city.
	TerminateRuntime(ctx context.Context, r LiveRuntime) error
}

// Recording is a recording of a session's output that a backend keeps.
type Recording struct {
	ID      string // of the session's incarnation
	Session string
	Running bool
	Bytes   int64
	Changed time.Time // the last output
}

// RecordingKeeper keeps recordings of sessions (Config.Record), also of ended ones.
type RecordingKeeper interface {
	// Recordings returns those of the sessions whose metadata key has the value. Results
	// that come with an error are correct but incomplete.
	Recordings(ctx context.Context, key, value string) ([]Recording, error)
	// DropRecording removes the recording of an ended session; nil if there is none. It
	// fails for a running session.
	DropRecording(ctx context.Context, r Recording) error
}

// ServerLifecycleProvider has one server behind all sessions.
type ServerLifecycleProvider interface {
	// ConfigureServer prepares the server, and starts it if it can run without a
	// session. Idempotent; an error is a warning.
	ConfigureServer(ctx context.Context) error
	// TeardownServer ends the server once all sessions are gone. It does nothing
	// while any session lives in it, and is nil if no server runs.
	TeardownServer(ctx context.Context) error
}
