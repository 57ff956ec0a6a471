// Package runtime is the contract between everything that decides (agents, the
// controller, the command line) and everything that hosts a live session
// (native, tmux, exec scripts, pods …).
//
// Its one invariant: unknown is not dead. Every query returns an error beside
// its answer, and no caller restarts, reaps or stops anything on an error.
//
// It owns types, errors and pure functions on them. It starts no process and
// reads no file except those that a fingerprint covers. Any package may import
// it; it imports leaves only. What providers share is in runtime/driver.
//
// The conformance suite runtime/runtimetest runs against every provider; what
// is not in the suite is not part of the contract.
package runtime

import (
	"context"
	"io"
	"time"

	"gascity.dev/gc/internal/outcome"
)

// Provider hosts sessions. A session name (see [CheckName]) is the primary key
// of every operation. Providers are safe for concurrent use.
type Provider interface {
	// Start creates the session and runs the start sequence. ctx bounds all of
	// it, between and inside steps. On failure nothing is left behind.
	// ErrSessionExists for a live name; of two concurrent Starts of one name
	// exactly one wins. An exited session of the name is replaced.
	Start(ctx context.Context, name string, cfg Config) error

	// Stop ends the session and its whole process tree, including children that
	// left the process group: TERM, a grace period, KILL. Idempotent: nil for a
	// missing session.
	Stop(ctx context.Context, name string) error

	// Interrupt sends Ctrl-C (SIGINT) to the foreground process group. Best
	// effort: nil for a missing session.
	Interrupt(ctx context.Context, name string) error

	// IsRunning reports whether the session exists; it says nothing about the
	// agent process inside. An exited session is not running.
	IsRunning(ctx context.Context, name string) (bool, error)

	// IsAttached reports whether a person's terminal is connected; false if the
	// backend cannot know (Capabilities.AttachDetection).
	IsAttached(ctx context.Context, name string) (bool, error)

	// Attach connects the terminal until detach, the session's end or ctx's. It
	// always restores the caller's terminal modes. ErrSessionNotFound for a
	// missing session.
	Attach(ctx context.Context, name string, t Terminal) error

	// ProcessAlive reports whether a live process with one of the names is in
	// the session's process tree; true when names is empty. A zombie is not
	// alive. A name matches the executable's base name, argv[0]'s base name,
	// or, for an interpreter (node, python, sh, bun …), the base name of the
	// script it runs.
	ProcessAlive(ctx context.Context, name string, names []string) (bool, error)

	// Nudge delivers the blocks as one message, submitted with Enter,
	// atomically with respect to every other nudge, key and paste of that
	// session. Text that the session's Composer would treat as a command is
	// escaped to arrive as text, unless a block is BlockRaw. The error is
	// ErrSessionNotFound if there is no session to deliver to; every other
	// outcome is in the receipt.
	Nudge(ctx context.Context, name string, content []ContentBlock) (Receipt, error)

	// SendKeys sends bare key events by name (Enter, Down, C-c, M-x, F5, S-Tab;
	// a single printable character is itself), no Enter appended. An unknown
	// key name is ErrUnknownKey and nothing is sent. Best effort: nil for a
	// missing session; ErrUnsupported if the backend has no keys, and likewise
	// for Interrupt and ClearScrollback.
	SendKeys(ctx context.Context, name string, keys ...string) error

	// Peek returns the last lines of screen and scrollback, joined by "\n",
	// without trailing blanks and trailing blank rows; lines <= 0 means all.
	// ErrSessionNotFound for a missing session; an exited one answers with its
	// last screen if the backend keeps it.
	Peek(ctx context.Context, name string, lines int) (string, error)

	// ClearScrollback drops the scrollback and keeps the screen. Best effort:
	// nil for a missing session.
	ClearScrollback(ctx context.Context, name string) error

	// SetMeta, GetMeta and RemoveMeta hold key-value pairs of one incarnation:
	// Stop removes them, and the next Start never sees them. Values may hold any
	// bytes. SetMeta on a missing session is ErrSessionNotFound; GetMeta of an
	// unset key or a missing session is ""; RemoveMeta is idempotent.
	SetMeta(ctx context.Context, name, key, value string) error
	GetMeta(ctx context.Context, name, key string) (string, error)
	RemoveMeta(ctx context.Context, name, key string) error

	// ListRunning returns the names of running sessions with the prefix,
	// sorted, without exited ones. ErrUnsupported if the backend cannot list:
	// ask for each known session with IsRunning. ErrListIncomplete, with the sessions that
	// run for certain, if a part of the backend does not answer: ask for each other one.
	ListRunning(ctx context.Context, prefix string) ([]string, error)

	// GetLastActivity returns the time of the last input or output; the
	// provider's own repaints and resizes do not count. Zero if unknown.
	GetLastActivity(ctx context.Context, name string) (time.Time, error)

	// CopyTo copies a local file or directory into the session's file system,
	// below its work dir. A relDst that escapes the work dir is
	// ErrPathEscapes. nil for a missing session or source.
	CopyTo(ctx context.Context, name, src, relDst string) error

	// RunLive runs the idempotent Config.SessionLive commands again. Best effort:
	// their failures are warnings.
	RunLive(ctx context.Context, name string, cfg Config) error

	// Capabilities returns what the provider can do. It is constant for the life
	// of the provider.
	Capabilities() Capabilities
}

// Capabilities are facts about a provider: callers skip what does not apply.
type Capabilities struct {
	Attach          bool // Attach connects a terminal
	AttachDetection bool // IsAttached knows
	Activity        bool // GetLastActivity knows
	ExactPeek       bool // Peek comes from a terminal emulator, cell by cell
	Keys            bool // SendKeys and Nudge reach a terminal
	DurableMeta     bool // metadata outlives the provider's process
	LastScreen      bool // Peek answers for a while after the session's exit,
	LastWords       bool // and with everything that the program wrote before it
	ProcessTree     bool // ProcessAlive sees the session's processes
	KeyModes        bool // keys are encoded in the modes that the program set
	Relaunch        bool // the agent can be restarted inside its session
	Exec            bool // commands can be run inside the session's box
	Ordered         bool // the backend queues a session's input, from any process
	Prompts         bool // nudges reach a program, not a terminal
	Simulated       bool // no program runs (the fake)
}

// Terminal is a person's terminal as Attach uses it.
type Terminal struct {
	In  io.Reader // keys; an *os.File that is a terminal is put in raw mode
	Out io.Writer

	// Size returns columns and rows; nil: ask In or Out.
	Size func() (cols, rows int, err error)
	// Resized delivers a value on every size change; nil: this process's SIGWINCH,
	// if In is a terminal.
	Resized <-chan struct{}

	ReadOnly   bool   // never send input, never resize
	DetachKeys string // "ctrl-b d" when empty
	// Keys are the keys of other commands and of copy mode, in place of the defaults, by
	// name; nil: there are no other commands. A provider without commands ignores them.
	Keys map[string][]string
	// Choices lists the sessions to which a person may switch; nil: none. Switched is
	// called before Attach returns if they chose one.
	Choices  func(ctx context.Context) ([]Choice, error)
	Switched func(name string)
	// Welcome is shown for a moment when the attachment begins, if the provider can.
	Welcome    string
	Alone      bool // detach the other terminals; ErrUnsupported if the backend cannot
	Scrollback bool // show the history first, if the provider can

	// Notices are control sequences that show nothing, for the person's terminal; nil for
	// none. A provider that cannot place them drops them.
	Notices <-chan []byte

	// Ended, if not nil, is called when Attach returns because the program ended,
	// if the provider can distinguish that from a detach; the exit is nil if
	// unknown.
	Ended func(*Exit)

	// Lost, if not nil, is called before Attach returns if typed bytes may not have
	// reached the program because the server was killed.
	Lost func(bytes uint64)
}

// Choice is what a person may attach to.
type Choice struct{ Name, About string }

// State is the outcome of a nudge.
type State string

// The receipts of a nudge. Only Submitted is success.
const (
	Submitted  State = outcome.Submitted  // the screen shows that the program took it
	Drafted    State = outcome.Drafted    // typed into the composer, not submitted
	Blocked    State = outcome.Blocked    // not typed: By says why
	Refused    State = outcome.Refused    // the backend or the session takes no input
	Dead       State = outcome.Dead       // the session ended before the text was submitted
	Unverified State = outcome.Unverified // typed and entered; the screen shows no effect
)

// Receipt is what a provider knows about one nudge.
type Receipt struct {
	State  State  `json:"state"`
	By     string `json:"by,omitempty"`     // Blocked: "dialog" or "draft"; with Prompts "turn", "question" or "start"
	Detail string `json:"detail,omitempty"` // one line for a person

	// Changed says how the text, or the draft in the composer, was changed for the
	// message to arrive as text: one line for a person, "" if it was not.
	Changed string `json:"changed,omitempty"`

	// Interrupted is what is known about the turn that the nudge was to interrupt
	// (InterruptNudgeProvider only): InterruptEnded and so on.
	Interrupted string `json:"interrupted,omitempty"`
}

// Values of Receipt.Interrupted.
const (
	InterruptEnded      = outcome.InterruptEnded
	InterruptNone       = outcome.InterruptNone
	InterruptUnverified = outcome.InterruptUnverified
)

// Block types of [ContentBlock].
const (
	BlockText     = "text"
	BlockRaw      = "raw" // text that is typed as it is, commands of the agent included
	BlockFilePath = "file_path"
)

// ContentBlock is one part of a message to an agent.
type ContentBlock struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	Path string `json:"path,omitempty"`
}
