package runtime

import (
	"context"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/rule"
)

// Activities of an agent, as far as there is evidence.
const (
	ActivityStarting = rule.StateStarting
	ActivityIdle     = rule.StateIdle
	ActivityWorking  = rule.StateWorking
	ActivityBlocked  = rule.StateBlocked // Kind says by what, Pending holds the question if known
	ActivityDone     = rule.StateDone    // idle with news, until the next turn or until a person has seen it
	ActivityError    = rule.StateError
	ActivityStuck    = rule.StateStuck // it claims to work, and nothing has moved for Config.StuckAfter
	ActivityExited   = rule.StateExited
	ActivityUnknown  = rule.StateUnknown // no positive evidence; never an error
)

// Kinds of ActivityBlocked.
const (
	BlockedPermission = rule.KindPermission
	BlockedQuestion   = rule.KindQuestion
	BlockedAuth       = rule.KindAuth
	BlockedTrust      = rule.KindTrust
	BlockedRateLimit  = rule.KindRateLimit
)

// Activity is what an agent is doing, with the source and its evidence.
type Activity struct {
	State    string       `json:"state"`
	Kind     string       `json:"kind,omitempty"`     // ActivityBlocked only
	Source   string       `json:"source,omitempty"`   // "osc7501", "prompt", "screen", "dialog", "process", …
	Evidence string       `json:"evidence,omitempty"` // rule and matched line
	Since    time.Time    `json:"since,omitzero"`
	Message  string       `json:"message,omitempty"` // the last message of the turn that ended, one line; "" if unknown
	Pending  *Interaction `json:"pending,omitempty"`
	// Sources are the findings of each source of evidence, the strongest first; nil
	// if the backend does not report them.
	Sources []ActivitySource `json:"sources,omitempty"`

	// Background is what runs beside the agent's turn, also while it is idle.
	Background []Work `json:"background,omitempty"`
	// Limit is that the agent's provider limits it, as it shows; nil if it shows none.
	Limit *Limit `json:"limit,omitempty"`

	// What an agent says about itself; empty if its backend cannot know.
	Mode     string `json:"mode,omitempty"`
	Model    string `json:"model,omitempty"`
	Usage    *Usage `json:"usage,omitempty"`
	LastTurn *Turn  `json:"last_turn,omitempty"`
	Notice   string `json:"notice,omitempty"` // one line, such as why a conversation was not resumed
	// Answered is how the last question ended if no caller of Respond answered it.
	Answered *Answered `json:"answered,omitempty"`
}

// Work is something in an agent's background: a background command of gc, or what the agent
// itself reports.
type Work struct {
	ID    string    `json:"id"`
	Text  string    `json:"text,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// Limit is a limit of an agent's provider.
type Limit struct {
	Until time.Time `json:"until,omitzero"` // zero: unknown
	Text  string    `json:"text"`           // the agent's message, in one line
}

// Busy reports whether the agent is in a turn.
func (a Activity) Busy() bool {
	return a.State == ActivityWorking || a.State == ActivityBlocked || a.State == ActivityStuck
}

// Answered is how a question ended, and by whom.
type Answered struct {
	RequestID string `json:"request_id"`
	Option    string `json:"option,omitempty"` // "" if it was cancelled or withdrawn
	By        string `json:"by"`
}

// Usage is what a conversation has used.
type Usage struct {
	Used     int64   `json:"used,omitempty"` // tokens of context
	Size     int64   `json:"size,omitempty"` // of the context; 0 if unknown
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"` // "" if the cost is unknown
}

// Turn is how a turn of an agent ended. A stop reason of "refusal" is a failure, and
// "end_turn" does not prove success.
type Turn struct {
	N            int          `json:"n"`  // counts the turns of the incarnation from 1
	ID           string       `json:"id"` // of the message that began it
	StopReason   string       `json:"stop_reason,omitempty"`
	Error        string       `json:"error,omitempty"`
	Duration     clock.Millis `json:"duration_ms"`
	InputTokens  int64        `json:"input_tokens,omitempty"`
	OutputTokens int64        `json:"output_tokens,omitempty"`
	Ended        time.Time    `json:"ended"`
	CancelledBy  string       `json:"cancelled_by,omitempty"` // who cancelled it, if no caller of Interrupt did
}

// ActivitySource is what one source of evidence says.
type ActivitySource struct {
	Source   string    `json:"source"`
	State    string    `json:"state,omitempty"` // "": no finding; Evidence says why
	Kind     string    `json:"kind,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Evidence string    `json:"evidence"`
}

// ActivityProvider reports what an agent is doing.
type ActivityProvider interface {
	// Activity answers from evidence only: without any the state is
	// ActivityUnknown and the error nil. ErrSessionNotFound without a session.
	Activity(ctx context.Context, name string) (Activity, error)
}

// SeenProvider records that a person has seen an agent's news.
type SeenProvider interface {
	// Seen turns ActivityDone into ActivityIdle. Nil without news;
	// ErrSessionNotFound without a session.
	Seen(ctx context.Context, name string) error
}

// ManyActivities reports what many agents are doing in one request to the backend.
type ManyActivities interface {
	// Activities answers for the sessions that run, by name, without waiting.
	Activities(ctx context.Context, names []string) (map[string]SessionActivity, error)
}

// ManyProcesses checks the processes of many sessions in one request to the
// backend.
type ManyProcesses interface {
	// SeenAlive takes sessions with their process names and returns those in which
	// such a process was seen. Nothing is known about the others.
	SeenAlive(ctx context.Context, names map[string][]string) ([]string, error)
}

// SessionActivity is an Activity without Sources.
type SessionActivity struct {
	Activity
	Last time.Time // of the last input or output; zero if unknown
	Line string    // the last line of the screen; "" if not requested
}

// Interaction is a question that blocks an agent until it is answered.
type Interaction struct {
	RequestID string            `json:"request_id"` // changes with every new question
	Kind      string            `json:"kind"`       // as Activity.Kind
	Prompt    string            `json:"prompt"`
	Options   []string          `json:"options,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// Answer answers an [Interaction].
type Answer struct {
	RequestID string            `json:"request_id"` // empty: the question on the screen
	Action    string            `json:"action"`     // the whole label of one of the options
	Text      string            `json:"text,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// InteractionProvider shows and answers blocking questions.
type InteractionProvider interface {
	// Pending returns the open question, nil if there is none.
	// ErrSessionNotFound without a session; ErrInteractionUnsupported if this
	// session's questions cannot be seen.
	Pending(ctx context.Context, name string) (*Interaction, error)
	// Respond answers, and returns once the question has disappeared. If another
	// question is open, or it lacks the option, Respond fails and types nothing.
	Respond(ctx context.Context, name string, a Answer) error
}
