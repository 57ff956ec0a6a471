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
)

// Provider hosts sessions. A session name (see [CheckName]) is the primary key
// of every operation. Providers are safe for concurrent use.
type Provider interface {
	// Start creates the session and carries out the start sequence. ctx is
	// the deadline of the whole and is honoured between and inside steps. On
	// failure nothing is left behind. ErrSessionExists for a live name; of two
	// concurrent Starts of one name exactly one wins. An exited session of the
	// name is replaced.
	Start(ctx context.Context, name string, cfg Config) error

	// Stop ends the session and its whole process tree: TERM, a grace period,
	// KILL; children that left the process group included. Idempotent: nil
	// when there is none.
	Stop(ctx context.Context, name string) error

	// Interrupt sends Ctrl-C (SIGINT) to the foreground process group. Best
	// effort: nil for a session that is not there.
	Interrupt(ctx context.Context, name string) error

	// IsRunning reports whether the session exists; it says nothing about the
	// agent process inside. An exited session is not running.
	IsRunning(ctx context.Context, name string) (bool, error)

	// IsAttached reports whether a person's terminal is connected; false where
	// it cannot be known (Capabilities.AttachDetection).
	IsAttached(ctx context.Context, name string) (bool, error)

	// Attach connects the terminal until detach, the session's end or ctx. It
	// restores the caller's terminal modes in every case. ErrSessionNotFound
	// for a missing session.
	Attach(ctx context.Context, name string, t Terminal) error

	// ProcessAlive reports whether a live process with one of the names is in
	// the session's process tree; true when names is empty. A zombie is not
	// alive. A name matches the executable's base name, argv[0]'s base name,
	// or, for an interpreter (node, python, sh, bun …), the base name of the
	// script it runs.
	ProcessAlive(ctx context.Context, name string, names []string) (bool, error)

	// Nudge delivers the blocks as one message, submitted with Enter,
	// atomically with respect to every other nudge, key and paste of that
	// session. What the Composer of its start calls a command is marked, so that
	// it arrives as text, unless a block is BlockRaw. The error is ErrSessionNotFound when nothing was delivered
	// because there is no session; every other outcome is in the receipt.
	Nudge(ctx context.Context, name string, content []ContentBlock) (Receipt, error)

	// SendKeys sends bare key events by name (Enter, Down, C-c, M-x, F5, S-Tab;
	// a single printable character is itself), no Enter appended. An unknown
	// key name is ErrUnknownKey and nothing is sent. Best effort: nil for a
	// session that is not there; ErrUnsupported where the backend has no keys,
	// and likewise for Interrupt and ClearScrollback.
	SendKeys(ctx context.Context, name string, keys ...string) error

	// Peek returns the last lines of screen and scrollback, joined by "\n",
	// trailing blanks and trailing blank rows cut; lines <= 0 means all of it.
	// ErrSessionNotFound for a missing session; an exited one answers with its
	// last screen where the backend keeps it.
	Peek(ctx context.Context, name string, lines int) (string, error)

	// ClearScrollback forgets the scrollback and keeps the screen. Best
	// effort: nil for a session that is not there.
	ClearScrollback(ctx context.Context, name string) error

	// SetMeta, GetMeta and RemoveMeta hold key-value pairs of one incarnation:
	// they end with Stop and never reach the next Start. Values may hold any
	// bytes. SetMeta on a missing session is ErrSessionNotFound; GetMeta of an
	// unset key or a missing session is ""; RemoveMeta is idempotent.
	SetMeta(ctx context.Context, name, key, value string) error
	GetMeta(ctx context.Context, name, key string) (string, error)
	RemoveMeta(ctx context.Context, name, key string) error

	// ListRunning returns the names of running sessions with the prefix,
	// sorted. Exited sessions are not in it. ErrUnsupported where the backend
	// cannot list: ask each known session with IsRunning.
	ListRunning(ctx context.Context, prefix string) ([]string, error)

	// GetLastActivity is the time of the last input or output; the provider's
	// own repaints and resizes do not count. Zero when unknown.
	GetLastActivity(ctx context.Context, name string) (time.Time, error)

	// CopyTo copies a local file or folder into the session's file system
	// below its work dir. A relDst that escapes the work dir is
	// ErrPathEscapes. nil for an unknown session or a missing source.
	CopyTo(ctx context.Context, name, src, relDst string) error

	// RunLive runs the idempotent Config.SessionLive commands again on a
	// running session. Best effort: their failures are warnings.
	RunLive(ctx context.Context, name string, cfg Config) error

	// Capabilities tells what the provider can really do. It is constant for
	// the life of the provider.
	Capabilities() Capabilities
}

// Capabilities are facts about a provider, so that a caller skips what does not
// apply instead of guessing.
type Capabilities struct {
	Attach          bool // Attach connects a terminal
	AttachDetection bool // IsAttached tells the truth
	Activity        bool // GetLastActivity tells the truth
	ExactPeek       bool // Peek comes from a terminal emulator, cell by cell
	Keys            bool // SendKeys and Nudge reach a terminal
	DurableMeta     bool // metadata outlives the provider's process
	LastScreen      bool // Peek answers for a while after the session's exit
	LastWords       bool // and with all that the program had written by then
	ProcessTree     bool // ProcessAlive sees the session's processes
	KeyModes        bool // keys are encoded as the modes of the session's program ask
	Relaunch        bool // the agent can be started again inside its session
	Exec            bool // commands can be run inside the session's box
	Ordered         bool // nudges and keys of a session queue in the backend, whoever sends them
	Simulated       bool // no program really runs (the fake)
}

// Terminal is a person's terminal as Attach uses it.
type Terminal struct {
	In  io.Reader // keys; when it is an *os.File of a terminal it is put in raw mode
	Out io.Writer

	// Size returns columns and rows; nil means that In or Out is asked.
	Size func() (cols, rows int, err error)
	// Resized delivers a value on every size change; nil means that SIGWINCH
	// of this process is used when In is a terminal.
	Resized <-chan struct{}

	ReadOnly   bool   // never send input, never resize
	DetachKeys string // "ctrl-b d" when empty
	Alone      bool   // send the other terminals away; ErrUnsupported where that cannot be
	Scrollback bool   // show the history first, where the provider can

	// Ended, if not nil, is called when Attach returns because the program ended,
	// where the provider can tell that from a detach; the exit is nil when it is
	// not known.
	Ended func(*Exit)

	// Lost, if not nil, is called before Attach returns when bytes that were typed
	// may not have reached the program, because the server was killed.
	Lost func(bytes uint64)
}

// State is the outcome of a nudge.
type State string

// The receipts of a nudge. Only Submitted is success.
const (
	Submitted  State = "submitted"  // the screen says that the program took it
	Drafted    State = "drafted"    // typed, stands in the composer, not submitted
	Blocked    State = "blocked"    // not typed: By says what stood in the way
	Refused    State = "refused"    // the backend or the session takes no input
	Dead       State = "dead"       // the session ended before the text was submitted
	Unverified State = "unverified" // typed and entered, nothing could be seen
)

// Receipt is what a provider knows about one nudge.
type Receipt struct {
	State  State  `json:"state"`
	By     string `json:"by,omitempty"`     // Blocked: "dialog" or "draft"
	Detail string `json:"detail,omitempty"` // one line for a person

	// Changed says what was done to the text, or to what stood in the composer,
	// so that the message arrived as text: one line for a person, "" for nothing.
	Changed string `json:"changed,omitempty"`
}

// Block types of [ContentBlock].
const (
	BlockText     = "text"
	BlockRaw      = "raw" // text that is typed as it is, also what is a command to the agent
	BlockFilePath = "file_path"
)

// ContentBlock is one part of a message to an agent.
type ContentBlock struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	Path string `json:"path,omitempty"`
}
