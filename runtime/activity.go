package runtime

import (
	"context"
	"time"

	"gascity.dev/gc/internal/rule"
)

// What an agent is doing, as far as there is evidence for it.
const (
	ActivityStarting = rule.StateStarting
	ActivityIdle     = rule.StateIdle
	ActivityWorking  = rule.StateWorking
	ActivityBlocked  = rule.StateBlocked // Kind says by what, Pending holds the question where it is known
	ActivityDone     = rule.StateDone    // idle with news, until the next turn or a person's look
	ActivityError    = rule.StateError
	ActivityStuck    = rule.StateStuck
	ActivityExited   = rule.StateExited
	ActivityUnknown  = rule.StateUnknown // no positive evidence; never an error
)

// What blocks an agent.
const (
	BlockedPermission = rule.KindPermission
	BlockedQuestion   = rule.KindQuestion
	BlockedAuth       = rule.KindAuth
	BlockedTrust      = rule.KindTrust
	BlockedRateLimit  = rule.KindRateLimit
)

// Activity is what an agent is doing, who says so, and why it is believed.
type Activity struct {
	State    string       `json:"state"`
	Kind     string       `json:"kind,omitempty"`     // ActivityBlocked only
	Source   string       `json:"source,omitempty"`   // "osc7501", "prompt", "screen", "dialog", "process", …
	Evidence string       `json:"evidence,omitempty"` // rule and matched line
	Since    time.Time    `json:"since,omitzero"`
	Pending  *Interaction `json:"pending,omitempty"`
	// Sources are what each source of evidence says, the strongest first; nil
	// where the backend does not tell.
	Sources []ActivitySource `json:"sources,omitempty"`
}

// ActivitySource is what one source of evidence says.
type ActivitySource struct {
	Source   string    `json:"source"`
	State    string    `json:"state,omitempty"` // "": nothing, and Evidence says why
	Kind     string    `json:"kind,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Evidence string    `json:"evidence"`
}

// ActivityProvider tells what an agent is doing.
type ActivityProvider interface {
	// Activity answers from evidence only: without any the state is
	// ActivityUnknown and the error nil. ErrSessionNotFound without a session.
	Activity(ctx context.Context, name string) (Activity, error)
}

// SeenProvider takes note that a person looked at an agent.
type SeenProvider interface {
	// Seen makes an agent that is ActivityDone an idle one. Nil where there is
	// no news; ErrSessionNotFound without a session.
	Seen(ctx context.Context, name string) error
}

// ManyActivities tells what many agents are doing with one question to the
// backend.
type ManyActivities interface {
	// Activities answers for those of the sessions that run, by name, and waits
	// for nothing.
	Activities(ctx context.Context, names []string) (map[string]SessionActivity, error)
}

// ManyProcesses asks for the processes of many sessions with one question to
// the backend.
type ManyProcesses interface {
	// SeenAlive returns those of the sessions, given with their process names,
	// in which such a process was seen. It is no answer for the others.
	SeenAlive(ctx context.Context, names map[string][]string) ([]string, error)
}

// SessionActivity is an Activity without Sources, and when there was input or
// output last; zero when that is not known.
type SessionActivity struct {
	Activity
	Last time.Time
	Line string // the last one of the screen; "" where it was not asked for
}

// Interaction is a question that blocks an agent until somebody answers it.
type Interaction struct {
	RequestID string            `json:"request_id"` // changes with every new question
	Kind      string            `json:"kind"`       // as Activity.Kind
	Prompt    string            `json:"prompt"`
	Options   []string          `json:"options,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// Answer answers an [Interaction].
type Answer struct {
	RequestID string            `json:"request_id"` // empty: whatever is asked now
	Action    string            `json:"action"`     // the label of one of the options, whole
	Text      string            `json:"text,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// InteractionProvider shows and answers blocking questions.
type InteractionProvider interface {
	// Pending returns the question that stands now, nil when none does.
	// ErrSessionNotFound without a session; ErrInteractionUnsupported where
	// this session's questions cannot be seen.
	Pending(ctx context.Context, name string) (*Interaction, error)
	// Respond gives the answer and returns when the question is seen to be
	// gone. A question that is not the one asked for, or an option that it does
	// not have, is an error and nothing is typed.
	Respond(ctx context.Context, name string, a Answer) error
}
