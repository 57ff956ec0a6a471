package api

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/outcome"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/vt"
)

// Size is a terminal size in cells; see [CheckSize].
type Size struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// The default size of a session.
const (
	DefaultCols = 120
	DefaultRows = 40
)

// CreateRequest describes a session to start. Exactly one of Command and Argv
// is set; with neither, the shell of Env runs.
type CreateRequest struct {
	ID              string            `json:"id,omitempty"` // of the incarnation, formed like a name; empty: the server makes one
	Name            string            `json:"name"`
	Command         string            `json:"command,omitempty"` // a shell command line, run by $SHELL -c of Env, else /bin/sh -c
	Argv            []string          `json:"argv,omitempty"`
	WorkDir         string            `json:"workDir,omitempty"`         // absolute; empty: HOME of Env, else /
	Env             []string          `json:"-"`                         // the whole environment, "K=V"; GC_SESSION_ID, TERM and COLORTERM are set by the server
	Umask           *int              `json:"umask,omitempty"`           // nil: 022
	Cols            int               `json:"cols,omitempty"`            // 0: DefaultCols
	Rows            int               `json:"rows,omitempty"`            // 0: DefaultRows
	ScrollbackLines int               `json:"scrollbackLines,omitempty"` // 0: 100,000; < 0: none
	ScrollbackBytes int64             `json:"scrollbackBytes,omitempty"` // 0: 64 MiB
	Meta            map[string]string `json:"-"`                         // at most 1024 keys of 1 to 1024 bytes; values of at most 1 MiB, any bytes
	Limits          Limits            `json:"limits,omitzero"`
	Recording       bool              `json:"recording,omitempty"`    // keep the newest raw output
	RecordingMax    int64             `json:"recordingMax,omitempty"` // bytes of it; 0: 256 MiB, which is also the most

	// KeepSessionID leaves GC_SESSION_ID of Env unchanged, as another program's id;
	// GC_MUX_MARK then marks the processes.
	KeepSessionID bool `json:"keepSessionId,omitempty"`

	ReadyPrefix string `json:"readyPrefix,omitempty"` // the start of the program's prompt; evidence of idleness

	StatusRules []StatusRule `json:"statusRules,omitempty"` // at most 100: which screens mean which status of the program
	LimitRules  []LimitRule  `json:"limitRules,omitempty"`  // at most 100: which messages mean that its provider limits it
	Composer    Composer     `json:"composer,omitzero"`     // what the program makes of typed text; for every nudge

	// FirstMessage is the program's first task, given on its command line; "" if none.
	// The program is not idle before it has accepted it.
	FirstMessage  string   `json:"firstMessage,omitempty"`
	ReportsStatus bool     `json:"reportsStatus,omitempty"` // it reports its status (OSC 7501): until it has, or for a while has not, its prompt alone does not mean idle
	InterruptKeys []string `json:"interruptKeys,omitempty"` // names of the keys that an interrupt presses in order; empty: Ctrl-C
	// StuckAfter: a program that claims to work is stuck when for so long nothing has moved:
	// its screen, its processes, their CPU time and network. 0: never.
	StuckAfter clock.Millis `json:"stuckAfter,omitzero"`

	// Control: the program serves a control socket (package internal/acp/control) at the
	// path in GC_CONTROL_SOCKET. Messages, questions and interrupts go through it, and
	// only status reports with the nonce in GC_STATUS_NONCE count.
	Control bool `json:"control,omitempty"`
}

// Composer is what a program's input line makes of a message.
type Composer = rule.Composer

// StatusRule says which screen means which status.
type StatusRule = rule.Status

// LimitRule says which message means that the program's provider limits it.
type LimitRule = rule.Limit

// createWire is CreateRequest in JSON; strings that are not UTF-8 are in base64.
type createWire struct {
	createPlain
	Env      []string          `json:"env,omitempty"`
	EnvBytes [][]byte          `json:"envBytes,omitempty"`
	Meta     map[string][]byte `json:"meta,omitempty"`
}

type createPlain CreateRequest

// MarshalJSON keeps environment values and metadata that are not UTF-8.
func (r CreateRequest) MarshalJSON() ([]byte, error) {
	w := createWire{createPlain: createPlain(r), Meta: metaWire(r.Meta)}
	for _, kv := range r.Env {
		if utf8.ValidString(kv) {
			w.Env = append(w.Env, kv)
		} else {
			w.EnvBytes = append(w.EnvBytes, []byte(kv))
		}
	}
	return json.Marshal(w)
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (r *CreateRequest) UnmarshalJSON(b []byte) error {
	var w createWire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*r = CreateRequest(w.createPlain)
	r.Env = w.Env
	for _, kv := range w.EnvBytes {
		r.Env = append(r.Env, string(kv))
	}
	r.Meta = MetaStrings(w.Meta)
	return nil
}

func metaWire(m map[string]string) map[string][]byte {
	if m == nil {
		return nil
	}
	out := make(map[string][]byte, len(m))
	for k, v := range m {
		out[k] = []byte(v)
	}
	return out
}

// MetaStrings returns metadata as it is on the wire, where values are bytes, as strings.
func MetaStrings(m map[string][]byte) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = string(v)
	}
	return out
}

// KindExec is the kind of a session that a background command runs in.
const KindExec = "exec"

// States of a session.
const (
	StateRunning = "running"
	StateExited  = "exited"
)

// Reasons of an [Exit].
const (
	ReasonExited   = outcome.Exited
	ReasonKilled   = outcome.Killed
	ReasonStopped  = outcome.Stopped
	ReasonNotFound = outcome.NotFound
	ReasonUnknown  = outcome.Unknown // the keeper died, and the kernel does not report it
)

// Exit is how a session's leader ended.
type Exit = outcome.Exit

// SessionInfo describes one session.
type SessionInfo struct {
	ID          string      `json:"id"` // of this incarnation
	Name        string      `json:"name"`
	State       string      `json:"state"`
	PID         int         `json:"pid"` // of the leader; 0 once it was reaped
	Command     string      `json:"command"`
	WorkDir     string      `json:"workDir"`
	Size        Size        `json:"size"`
	Title       string      `json:"title,omitempty"`
	Created     time.Time   `json:"created"`
	Started     time.Time   `json:"started"`
	LastInput   time.Time   `json:"lastInput,omitzero"`
	LastOutput  time.Time   `json:"lastOutput,omitzero"`
	Attached    int         `json:"attached"` // number of clients
	Revision    uint64      `json:"revision"` // changes with the screen
	Output      uint64      `json:"output"`   // bytes of output so far
	ScreenLost  bool        `json:"screenLost,omitempty"`
	Recording   bool        `json:"recording,omitempty"`
	Recorded    int64       `json:"recordedBytes,omitempty"` // of the recording on disk
	Kind        string      `json:"kind,omitempty"`          // KindExec; empty for others
	Owner       string      `json:"owner,omitempty"`         // the session that a background command belongs to
	ReadyPrefix string      `json:"readyPrefix,omitempty"`
	Limits      []LimitInfo `json:"limits,omitempty"`
	Control     bool        `json:"control,omitempty"` // as CreateRequest.Control
	Exit        *Exit       `json:"exit,omitempty"`
	Dropped     *Dropped    `json:"dropped,omitempty"` // output beyond a limit
}

// Dropped counts output that was dropped at a limit. Plain text is dropped only as
// history that did not fit on the disk.
type Dropped struct {
	vt.Dropped
	HistoryBytes uint64 `json:"historyBytes,omitempty"` // of history that did not fit on the disk, since the server started
}

// ProcessStatus is one of the multiplexer's own processes.
type ProcessStatus struct {
	PID         int       `json:"pid"`
	Since       time.Time `json:"since,omitzero"`
	MemoryBytes int64     `json:"memoryBytes"` // resident
}

// ServerStatus is what `gc mux status` shows.
type ServerStatus struct {
	Version  string        `json:"version"`
	API      int           `json:"api"` // 1
	Features []string      `json:"features"`
	Socket   string        `json:"socket"`
	StateDir string        `json:"stateDir"`
	Epoch    string        `json:"epoch"` // of the event sequence
	Server   ProcessStatus `json:"server"`
	Keeper   ProcessStatus `json:"keeper"`
	Sessions int           `json:"sessions"` // running
	Exited   int           `json:"exited"`   // kept
	Restarts int           `json:"restarts"` // of the server, by the keeper
	Output   uint64        `json:"output"`   // bytes of all sessions, since the server started
	Waits    int           `json:"waits"`    // requests that wait for something of a session now

	UpgradeFailed string `json:"upgradeFailed,omitempty"` // why the last upgrade was undone

	// Damaged databases that were moved aside; their metadata, queue and background
	// commands are lost.
	Damaged []string `json:"damaged,omitempty"`
}

// Formats of a peek.
const (
	FormatText = "text"
	FormatANSI = "ansi"
	FormatJSON = "json"
)

// PeekRequest reads what a session shows.
type PeekRequest struct {
	Name       string    `json:"name"`
	Lines      int       `json:"lines,omitempty"`      // from the bottom of screen and history; <= 0: all
	Screen     bool      `json:"screen,omitempty"`     // the screen only
	Format     string    `json:"format,omitempty"`     // "" is FormatText
	Join       bool      `json:"join,omitempty"`       // wrapped lines as one
	At         time.Time `json:"at,omitzero"`          // at this time; requires a recording, as do the last two
	IfRevision uint64    `json:"ifRevision,omitempty"` // reply Unchanged if the screen still has it; 0: always the screen

	Elapsed  *time.Duration `json:"elapsed,omitempty"`  // At as the time since the recording began, in ns
	AtOutput *uint64        `json:"atOutput,omitempty"` // At as the bytes of output so far
}

// KeysRequest presses keys.
type KeysRequest struct {
	Keys    []string `json:"keys"`
	Literal bool     `json:"literal,omitempty"` // Keys are text, not names
}

// NudgeRequest is a message to be typed and submitted.
type NudgeRequest struct {
	ID      string        `json:"id,omitempty"`      // a repeated id gets the receipt of the first request; empty: Client makes one
	Text    string        `json:"text"`              // at most 1 MiB
	Timeout time.Duration `json:"timeout,omitempty"` // for a dialog or a draft to go away, in ns; 0: 30 s
	Raw     bool          `json:"raw,omitempty"`     // type it unchanged, even if it is a command to the program
	Now     bool          `json:"now,omitempty"`     // Control only: do not wait for the end of a turn
	Blocks  []Block       `json:"blocks,omitempty"`  // Control only: the message, instead of Text
	By      *Actor        `json:"-"`                 // set by the server

	// Interrupt ends the turn that runs before the message is delivered; a request of its
	// own, so that an older server refuses it.
	Interrupt bool `json:"-"`
}

// Block is one part of a message: text, or a file.
type Block struct {
	Text string `json:"text,omitempty"`
	Path string `json:"path,omitempty"` // absolute, on the session's machine
}

// States of a [Receipt].
const (
	Submitted  = outcome.Submitted
	Drafted    = outcome.Drafted
	Blocked    = outcome.Blocked
	Refused    = outcome.Refused
	Dead       = outcome.Dead
	Unverified = outcome.Unverified
)

// What blocks a message to a program with a control socket.
const (
	ByTurn     = "turn"     // its agent works
	ByQuestion = "question" // its agent asks
	ByStart    = "start"    // its agent is not ready yet
)

// What is known about the turn that a nudge was to interrupt.
const (
	InterruptEnded      = outcome.InterruptEnded
	InterruptNone       = outcome.InterruptNone
	InterruptUnverified = outcome.InterruptUnverified
)

// Receipt is the outcome of one nudge.
type Receipt struct {
	State  string `json:"state"`
	By     string `json:"by,omitempty"`     // Blocked: "dialog" or "draft"; Control: ByTurn and so on
	Detail string `json:"detail,omitempty"` // one line for a person

	// Changed says, in one line for a person, how the text was changed to arrive as
	// text; "" if it was typed unchanged.
	Changed string `json:"changed,omitempty"`
	Typed   bool   // bytes of the text were written; always true when Submitted

	Interrupted string `json:"interrupted,omitempty"` // NudgeRequest.Interrupt only: InterruptEnded and so on
}

// Condition is one thing to wait for. Exactly one field is set.
type Condition struct {
	Text    string        `json:"text,omitempty"`    // RE2 on a line of the live screen
	Quiet   time.Duration `json:"quiet,omitempty"`   // no output for this long, in ns
	Exit    bool          `json:"exit,omitempty"`    // the session ended
	Title   string        `json:"title,omitempty"`   // RE2 on the window title
	Bell    bool          `json:"bell,omitempty"`    // BEL after the wait began
	Prompt  bool          `json:"prompt,omitempty"`  // a shell prompt is open (OSC 133)
	Idle    bool          `json:"idle,omitempty"`    // the program accepts a message: ActivityIdle or ActivityDone
	Blocked bool          `json:"blocked,omitempty"` // the program is ActivityBlocked
	Done    bool          `json:"done,omitempty"`    // the program is ActivityDone
	Free    bool          `json:"free,omitempty"`    // as Idle, and nothing runs in the program's background
	Stuck   bool          `json:"stuck,omitempty"`   // the program is ActivityStuck
	Status  bool          `json:"status,omitempty"`  // the activity differs from that at the start of the wait
	// Changed waits until the screen no longer has this revision, which a peek returned.
	Changed *uint64 `json:"changed,omitempty"`
}

// WaitRequest waits until one of 1 to 64 conditions holds.
type WaitRequest struct {
	Conditions []Condition   `json:"conditions"`
	Timeout    time.Duration `json:"timeout,omitempty"` // in ns; 0: no limit but the context's
}

// WaitResult is the end of a wait. The session's end without a matching
// condition gives Met -1 and Exit set.
type WaitResult struct {
	Met      int   `json:"met"` // index of the first condition that held; -1: none
	TimedOut bool  `json:"timedOut,omitempty"`
	Exit     *Exit `json:"exit,omitempty"`
}

// ProcessInfo is one process of a session's tree.
type ProcessInfo struct {
	PID     int      `json:"pid"`
	PPID    int      `json:"ppid"`
	PGID    int      `json:"pgid"`
	SID     int      `json:"sid"`
	State   string   `json:"state"` // letter of /proc/PID/stat
	Command string   `json:"command"`
	Argv    []string `json:"argv,omitempty"`
}

// Types of an [Event].
const (
	EventStarted     = "session.started"
	EventExited      = "session.exited"
	EventRemoved     = "session.removed" // deleted
	EventTitle       = "session.title"
	EventBell        = "session.bell"
	EventAttached    = "session.attached"
	EventDetached    = "session.detached"
	EventResized     = "session.resized"
	EventRenamed     = "session.renamed" // Session is the new name
	EventNudged      = "session.nudged"
	EventAnswered    = "session.answered" // its question, by POST …/respond
	EventInterrupted = "session.interrupted"
	EventLost        = "session.screen-lost"
	EventServer      = "server.started"
)

// Event is one thing that happened. ID is "EPOCH:SEQUENCE", the value for after.
type Event struct {
	ID      string    `json:"id"`
	Type    string    `json:"type"`
	Time    time.Time `json:"time"`
	Session string    `json:"session,omitempty"` // name
	SID     string    `json:"sessionId,omitempty"`
	Control bool      `json:"control,omitempty"` // the session has a control socket
	Exit    *Exit     `json:"exit,omitempty"`
	Title   string    `json:"title,omitempty"`
	Size    *Size     `json:"size,omitempty"`
	Receipt *Receipt  `json:"receipt,omitempty"`
	Text    string    `json:"text,omitempty"` // the start of a message; the option that was chosen
	By      *Actor    `json:"by,omitempty"`   // who did it; nil if unknown

	Exec *process.Event `json:"exec,omitempty"` // of the exec.* types
}

// Actor is the process that asked for something, as its socket proves. Without a
// session or a terminal it may be anything, such as a city's controller.
type Actor struct {
	Session  string `json:"session,omitempty"`  // it runs in this session
	Terminal string `json:"terminal,omitempty"` // it runs in no session and has this controlling terminal
	Server   bool   `json:"server,omitempty"`   // the multiplexer itself: a message from a queue, the end of a command
	PID      int    `json:"pid,omitempty"`
}

// AttachRequest connects a terminal to a session.
type AttachRequest struct {
	Name       string
	Cols, Rows int // of the client's terminal; 0: the session's
	ReadOnly   bool
	Scrollback bool // paint the history first
	Alone      bool // detach the other clients
	Running    bool // ErrExited for a session that ended, instead of its last screen

	// Back says that the client lost its connection. With Resume, output continues at
	// Offset (from the last "paint" or "offset") plus Skip (bytes received since), if
	// the server still has it.
	Back         bool
	Resume       bool
	Offset, Skip uint64

	// Through are the processes that show the client's terminal if its parents do
	// not, such as the clients of a tmux. Unless empty, the session around them counts
	// as the one around the client. The first 32 count.
	Through []int

	// Client is a number of 64 bits, in hexadecimal, that the client chose. Under it the server
	// counts input across connections.
	Client string

	// Images are those that the client's terminal shows, as far as it knows: see AttachControl.
	Images []string
}

// Images that a terminal shows.
const (
	ImagesKitty = "kitty" // kitty's graphics protocol
	ImagesSixel = "sixel"
	ImagesITerm = "iterm2" // iTerm2's inline images
)

// AttachControl is a control message of an attach connection: a WebSocket text
// message. Binary messages are terminal bytes.
//
// From the client: "resize"; "terminal" (the colours and cell size of its terminal,
// for programs that ask, and the images it shows: others are not sent to it); "look" (these changed: the server sends the same at a point
// of its output where questions can be written); "detach", before it closes.
//
// From the server: "paint" (the next binary message repaints a terminal of Cols and
// Rows; with Raw, program output follows from Offset), "resume" (instead of the first
// paint: output follows from where the client was), "offset" (raw output up to here
// was sent), "typed" (the server has so many bytes of input from all connections of the
// Client), "exit" (the program ended; the connection closes).
type AttachControl struct {
	Type   string `json:"type"`
	Cols   int    `json:"cols,omitempty"`
	Rows   int    `json:"rows,omitempty"`
	Offset uint64 `json:"offset,omitempty"`
	Raw    bool   `json:"raw,omitempty"`

	Foreground string `json:"foreground,omitempty"` // as OSC 10 has it
	Background string `json:"background,omitempty"`
	CellWidth  int    `json:"cellWidth,omitempty"` // pixels
	CellHeight int    `json:"cellHeight,omitempty"`

	Images []string `json:"images,omitempty"` // that the terminal shows

	Typed uint64 `json:"typed,omitempty"`

	Exit *Exit `json:"exit,omitempty"`
}
