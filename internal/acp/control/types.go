package control

import (
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/outcome"
)

// Version is the protocol's number.
const Version = 1

// MaxLine is the longest line of the protocol in bytes.
const MaxLine = 4 << 20

// SocketVar names the environment variable that tells the host where to listen. The
// multiplexer sets it for a session that was created with a control socket.
const SocketVar = "GC_CONTROL_SOCKET"

// NonceVar names the environment variable with the nonce of the session's status
// reports (OSC 7501, key nonce): reports without it do not count.
const NonceVar = "GC_STATUS_NONCE"

// Hello is the first line that a host sends.
type Hello struct {
	Control int    `json:"control"` // Version
	Host    string `json:"host"`    // gc's version
}

// Operations of a [Request].
const (
	OpState     = "state"     // Reply.State
	OpWatch     = "watch"     // Reply.State now and after every change
	OpNudge     = "nudge"     // Request.Nudge; Reply.Receipt once the outcome is known
	OpRedirect  = "redirect"  // OpNudge ahead of all that wait, and cancels the turn
	OpTakeBack  = "take-back" // Request.ID of a queued message; an error if it was sent
	OpRespond   = "respond"   // Request.Answer
	OpInterrupt = "interrupt" // cancels the turn; answers at once
	OpSet       = "set"       // Request.Mode, Request.Model
	OpClose     = "close"     // ends the agent in an orderly way; answers once it has ended
)

// Request is one line from a client.
type Request struct {
	Seq       int64   `json:"seq"` // chosen by the client, > 0
	Op        string  `json:"op"`
	Nudge     *Nudge  `json:"nudge,omitempty"`
	MessageID string  `json:"message_id,omitempty"` // OpTakeBack
	Answer    *Answer `json:"answer,omitempty"`
	Mode      string  `json:"mode,omitempty"`
	Model     string  `json:"model,omitempty"`
}

// Nudge is a message to the agent. Without blocks it only asks for the receipt of the id;
// StateRefused if that is unknown.
type Nudge struct {
	ID     string  `json:"id"`               // the same id is never sent twice; required
	Blocks []Block `json:"blocks,omitempty"` // together at most 1 MiB
	Now    bool    `json:"now,omitempty"`    // do not wait for the end of a turn: steer it, or be blocked
	Queue  bool    `json:"queue,omitempty"`  // answer StateQueued at once if the message must wait for the end of a turn
	By     string  `json:"by,omitempty"`     // who sent it, for the transcript

	Interrupt bool `json:"-"` // OpRedirect
}

// Block is one part of a message: text, or a file.
type Block struct {
	Text string `json:"text,omitempty"`
	Path string `json:"path,omitempty"` // absolute
}

// States of a [Receipt]: those of runtime.State, and queued.
const (
	StateSubmitted  = outcome.Submitted
	StateBlocked    = outcome.Blocked
	StateRefused    = outcome.Refused
	StateDead       = outcome.Dead
	StateUnverified = outcome.Unverified
	StateQueued     = "queued" // on disk; sent when the turn ends
)

// Receipt is the outcome of a nudge.
type Receipt struct {
	State  string `json:"state"`
	By     string `json:"by,omitempty"`     // blocked: "turn" or "question"
	Detail string `json:"detail,omitempty"` // one line for a person

	// OpRedirect: outcome.InterruptEnded if a turn was cancelled and has ended,
	// outcome.InterruptNone if none ran.
	Interrupted string `json:"interrupted,omitempty"`
}

// Answer answers a question.
type Answer struct {
	ID        string `json:"id,omitempty"`         // chosen by the client; an answer that was carried out is not repeated
	RequestID string `json:"request_id,omitempty"` // "" is the open one
	Option    string `json:"option,omitempty"`     // the whole label
	Text      string `json:"text,omitempty"`
	By        string `json:"by,omitempty"` // who answers, for the transcript
}

// Reply is one line from the host.
type Reply struct {
	Seq     int64    `json:"seq,omitempty"` // of the request; 0 is a change
	Error   *Error   `json:"error,omitempty"`
	State   *State   `json:"state,omitempty"`
	Receipt *Receipt `json:"receipt,omitempty"`
}

// Codes of an [Error].
const (
	CodeBadRequest = "bad-request" // an unknown operation, a missing or malformed field
	CodeNotReady   = "not-ready"   // the agent has not started, or has failed to
	CodeStale      = "stale"       // the question is not open, or has no such option
	CodeNotFound   = "not-found"   // no such message, mode or model
	CodeAgent      = "agent"       // the agent answered with an error, or not at all
)

// Error is why a request failed.
type Error struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Valid   []string `json:"valid,omitempty"` // valid values, for a mode, a model or an option
}

func (e *Error) Error() string { return e.Message }

// Phases of a host.
const (
	PhaseStarting = "starting"
	PhaseReady    = "ready"
	PhaseFailed   = "failed" // State.Failure says why; the host stays for a while, for queries, and ends
	PhaseEnded    = "ended"  // the agent has ended
)

// State is everything that a host reports about its agent.
type State struct {
	Version  uint64    `json:"version"` // grows with every change
	Phase    string    `json:"phase"`
	Failure  *Failure  `json:"failure,omitempty"`
	Activity string    `json:"activity"`           // starting, idle, working, blocked
	Kind     string    `json:"kind,omitempty"`     // blocked: permission, question, auth
	Evidence string    `json:"evidence,omitempty"` // the source of the activity
	Since    time.Time `json:"since"`

	Pending *Question `json:"pending,omitempty"` // the oldest open question
	Open    int       `json:"open,omitempty"`    // open questions
	Queue   []string  `json:"queue,omitempty"`   // ids of the messages that wait, the oldest first

	Answered *Answered `json:"answered,omitempty"` // the last question that no client answered

	Turn     string `json:"turn,omitempty"`      // the id of the message whose turn runs
	LastTurn *Turn  `json:"last_turn,omitempty"` // how the last turn ended
	Turns    int    `json:"turns"`               // turns that have ended

	Conversation string   `json:"conversation,omitempty"` // the agent's session id
	Resumed      bool     `json:"resumed,omitempty"`
	Notice       string   `json:"notice,omitempty"` // one line: why the conversation was not resumed, and the like
	Agent        string   `json:"agent,omitempty"`  // its name and version
	Mode         string   `json:"mode,omitempty"`
	Modes        []Choice `json:"modes,omitempty"`
	Model        string   `json:"model,omitempty"`
	Models       []Choice `json:"models,omitempty"`
	Used         int64    `json:"used,omitempty"` // tokens of context
	Size         int64    `json:"size,omitempty"`
	Cost         float64  `json:"cost,omitempty"`
	Currency     string   `json:"currency,omitempty"`
}

// Failures of a start.
const (
	FailAuth  = "auth"  // the agent requires authentication
	FailDeath = "death" // the agent ended
	FailOther = "other" // it does not speak the protocol, or refuses
)

// Failure is why an agent did not become ready.
type Failure struct {
	Kind    string   `json:"kind"`
	Message string   `json:"message"`
	Methods []string `json:"methods,omitempty"` // auth: what the agent offers, with the variables it needs
	Stderr  []string `json:"stderr,omitempty"`  // its last 20 lines
	Exit    int      `json:"exit,omitempty"`    // death: exit status
}

// Turn is how a turn ended.
type Turn struct {
	ID         string       `json:"id"`
	StopReason string       `json:"stop_reason,omitempty"`
	Error      string       `json:"error,omitempty"`
	Duration   clock.Millis `json:"duration_ms"`
	Input      int64        `json:"input_tokens,omitempty"`
	Output     int64        `json:"output_tokens,omitempty"`
	Ended      time.Time    `json:"ended"`
	Cancelled  string       `json:"cancelled_by,omitempty"` // Person, if it was cancelled on the terminal
}

// Question is an open question.
type Question struct {
	RequestID string            `json:"request_id"`
	Kind      string            `json:"kind"` // permission or question
	Prompt    string            `json:"prompt"`
	Options   []string          `json:"options,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"` // "option.<label>": its kind; "command", "path", "tool"
}

// Answered is how a question ended that no client answered.
type Answered struct {
	RequestID string `json:"request_id"`
	Option    string `json:"option,omitempty"` // the label, or the text; "" if it was cancelled or withdrawn
	By        string `json:"by"`               // Person, the agent, or "gc: " and the reason
}

// Person is the author of what is typed on the host's terminal.
const Person = "person in attach"

// Choice is a mode or a model that the agent offers.
type Choice struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}
