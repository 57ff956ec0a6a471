package runtime

import "time"

// StepName names a step of the start sequence, in events and errors.
type StepName string

// The steps, in order.
const (
	StepPreStart StepName = "pre_start"
	StepStage    StepName = "stage"
	StepCreate   StepName = "create"
	StepAlive    StepName = "alive"
	StepSetup    StepName = "setup"
	StepReady    StepName = "ready"
	StepDialogs  StepName = "dialogs"
	StepNudge    StepName = "nudge"

	// StepAccepted is not a step: it reports that a start-up dialog was answered,
	// during the start or after it. See Step.Accepted.
	StepAccepted StepName = "accepted"
)

// Step is the report of one step that ran.
type Step struct {
	Session string
	Name    StepName
	Took    time.Duration
	Err     error
	Warning bool // Err did not end the start

	Accepted *Accepted // StepAccepted only
}

// Accepted is a start-up dialog that was answered on the user's behalf.
type Accepted struct {
	Dialog   string // name in the table
	Kind     string // "trust", "permission", "question"
	Question string // the line that identified it
	Label    string // the option that was confirmed
}
