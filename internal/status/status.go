// Package status determines what an agent is doing from its terminal and from
// the events that its program sent.
//
// Its invariant: an answer has positive evidence, which it names; without any
// it is Unknown. Silence is not idleness, and output is not work. A source of a
// higher rank wins, and a visible question overrides an older claim. The
// package has no lock, goroutine, clock or I/O: the terminal's owner serialises
// all calls and passes the time. It serves the multiplexer.
package status

import (
	"time"

	"gascity.dev/gc/internal/rule"
)

// The states of an agent.
const (
	Idle    = rule.StateIdle
	Working = rule.StateWorking
	Blocked = rule.StateBlocked // Kind says by what
	Done    = rule.StateDone
	Error   = rule.StateError
	Exited  = rule.StateExited
	Unknown = rule.StateUnknown
)

// The kinds of Blocked.
const (
	Permission = rule.KindPermission
	Question   = rule.KindQuestion
	Auth       = rule.KindAuth
	Trust      = rule.KindTrust
	RateLimit  = rule.KindRateLimit
)

// The sources of evidence, strongest first.
const (
	FromProcess  = "process"  // the program has ended
	FromDialog   = "dialog"   // a question on the screen
	FromReport   = "osc7501"  // the program's own report
	FromHook     = "hook"     // what a program said by gc report, such as a hook of the agent
	FromProgress = "progress" // OSC 9;4
	FromPrompt   = "prompt"   // OSC 133: a shell's prompt
	FromTitle    = "title"    // a spinner in the window title
	FromScreen   = "screen"   // a configured status rule matches the screen
	FromReady    = "ready"    // the ready prefix on the cursor's line
	FromCommand  = "command"  // OSC 133: a shell is running a command
	FromLimit    = "limit"    // a message on the screen about a limit of the provider
)

// Activity is what an agent is doing, with the source and its evidence.
type Activity struct {
	State    string    `json:"state"`
	Kind     string    `json:"kind,omitempty"` // Blocked only
	Source   string    `json:"source,omitempty"`
	Evidence string    `json:"evidence,omitempty"` // one line
	Since    time.Time `json:"since,omitzero"`
	Pending  *Pending  `json:"pending,omitempty"`
	Message  string    `json:"message,omitempty"` // the last message of the turn that ended, if a hook had it
	// Background is what runs beside the turn, also while the program is idle.
	Background []Work    `json:"background,omitempty"`
	Limit      *Limit    `json:"limit,omitempty"`   // nil: it shows none
	Sources    []Finding `json:"sources,omitempty"` // every source, strongest first
}

// Work is something that runs in the background of a program.
type Work struct {
	ID    string    `json:"id"`             // of a background command of gc; else the program's own
	Text  string    `json:"text,omitempty"` // its command, or what the program calls it
	Since time.Time `json:"since,omitzero"`
}

// TakesMessages reports whether a message typed now begins a turn: the program
// is idle, or done, which is idle with unread results. It is the condition of
// every wait for an idle program.
func (a Activity) TakesMessages() bool { return a.State == Idle || a.State == Done }

// Pending is a question waiting for an answer.
type Pending struct {
	ID       string   `json:"requestId"` // changes with the question
	Kind     string   `json:"kind"`
	Prompt   string   `json:"prompt"`            // the line with the question
	Context  string   `json:"context,omitempty"` // related lines above it
	Options  []string `json:"options,omitempty"` // labels, in screen order
	Marked   string   `json:"marked,omitempty"`  // label of the selected option
	Dialog   string   `json:"dialog,omitempty"`  // name of a known dialog
	Selected int      `json:"selected"`          // index of Marked; -1 if unknown
	// Horizontal: the options are side by side; Left and Right move.
	Horizontal bool `json:"horizontal,omitempty"`
}

// Finding is the result of one source.
type Finding struct {
	Source   string    `json:"source"`
	State    string    `json:"state,omitempty"` // "": no statement
	Kind     string    `json:"kind,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Evidence string    `json:"evidence"` // or why there is no statement
}
