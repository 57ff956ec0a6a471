// Package status says what an agent is doing, from what its terminal shows and
// was told.
//
// Its one invariant: an answer has positive evidence, which it names; without
// any it is Unknown. Silence is not idleness, and output is not work. A source
// of a higher rank wins, and a question in sight wins over an older claim. The
// package has no lock, goroutine, clock or I/O: the owner of the terminal
// serialises all calls and passes the time. It serves the multiplexer.
package status

import "time"

// What an agent is doing.
const (
	Idle    = "idle"
	Working = "working"
	Blocked = "blocked" // Kind says by what
	Done    = "done"
	Error   = "error"
	Exited  = "exited"
	Unknown = "unknown"
)

// What blocks an agent.
const (
	Permission = "permission"
	Question   = "question"
	Auth       = "auth"
	Trust      = "trust"
	RateLimit  = "ratelimit"
)

// Sources of evidence, the strongest first.
const (
	FromProcess  = "process"  // the program ended
	FromDialog   = "dialog"   // a question stands on the screen
	FromReport   = "osc7501"  // the program's own word
	FromProgress = "progress" // OSC 9;4
	FromPrompt   = "prompt"   // OSC 133: a shell's prompt
	FromTitle    = "title"    // a spinner in the window title
	FromScreen   = "screen"   // a status rule of config that holds on the screen
	FromReady    = "ready"    // the ready prefix on the cursor's line
	FromCommand  = "command"  // OSC 133: a shell's command runs
)

// Activity is what an agent is doing, who says so, and why it is believed.
type Activity struct {
	State    string    `json:"state"`
	Kind     string    `json:"kind,omitempty"` // Blocked only
	Source   string    `json:"source,omitempty"`
	Evidence string    `json:"evidence,omitempty"` // one line
	Since    time.Time `json:"since,omitzero"`
	Pending  *Pending  `json:"pending,omitempty"`
	Sources  []Finding `json:"sources,omitempty"` // every source, the strongest first
}

// TakesMessages reports whether a message typed now begins a turn: the program
// is idle, or done, which is idle with news. Whoever waits until a program is
// idle waits for this.
func (a Activity) TakesMessages() bool { return a.State == Idle || a.State == Done }

// Pending is a question that waits for an answer.
type Pending struct {
	ID       string   `json:"requestId"` // changes with the question
	Kind     string   `json:"kind"`
	Prompt   string   `json:"prompt"`            // the question's line
	Context  string   `json:"context,omitempty"` // the lines that belong to it, above
	Options  []string `json:"options,omitempty"` // labels, in the order of the screen
	Marked   string   `json:"marked,omitempty"`  // the label that is selected
	Dialog   string   `json:"dialog,omitempty"`  // its name, when it is a known one
	Selected int      `json:"selected"`          // index of Marked; -1 when it cannot be told
	// Horizontal: the options stand side by side, Left and Right move.
	Horizontal bool `json:"horizontal,omitempty"`
}

// Finding is what one source says.
type Finding struct {
	Source   string    `json:"source"`
	State    string    `json:"state,omitempty"` // "": nothing
	Kind     string    `json:"kind,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Evidence string    `json:"evidence"` // or why it says nothing
}
