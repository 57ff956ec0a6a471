package api

import (
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
)

// Activity is what the program of a session is doing, Pending a question that it asks,
// Finding the report of one source of
// evidence, and Work something in its background.
type (
	Activity = status.Activity
	Pending  = status.Pending
	Finding  = status.Finding
	Work     = status.Work
)

// States of an [Activity].
const (
	ActivityIdle    = status.Idle
	ActivityWorking = status.Working
	ActivityBlocked = status.Blocked
	ActivityStuck   = rule.StateStuck
	ActivityDone    = status.Done
	ActivityError   = status.Error
	ActivityExited  = status.Exited
	ActivityUnknown = status.Unknown
)

// SessionActivity is one session's activity when its screen was last whole.
type SessionActivity struct {
	Name       string    `json:"name"`
	Activity   Activity  `json:"activity"` // without Sources
	LastInput  time.Time `json:"lastInput,omitzero"`
	LastOutput time.Time `json:"lastOutput,omitzero"`
	Attached   int       `json:"attached"`
}

// ReportRequest says what the agent of a session is doing. Its sender runs in that session,
// as the process tree proves.
type ReportRequest struct {
	State   string       `json:"state"`             // idle, working, blocked, done, error, or clear: the last report counts no longer
	Kind    string       `json:"kind,omitempty"`    // of blocked: permission, question (the default) or auth
	Message string       `json:"message,omitempty"` // for a person; 2 KiB are kept, as one line
	Hook    string       `json:"hook,omitempty"`    // the agent's hook that made it, such as "claude Stop"
	Age     clock.Millis `json:"ageMs,omitzero"`    // how long ago it was made
}

// ReportResult is what became of a report.
type ReportResult struct {
	Session string `json:"session"`           // name
	SID     string `json:"sessionId"`         // of the incarnation
	Ignored string `json:"ignored,omitempty"` // why it does not count; "" if it does
}

// AliveRequest asks whether a process with one of the names lives in a session.
type AliveRequest struct {
	Name  string   `json:"name"`
	Names []string `json:"names"`
}

// RespondRequest answers a [Pending].
type RespondRequest struct {
	ID     string `json:"requestId,omitempty"` // of the question; empty: the current one
	Action string `json:"action"`              // the whole label of an option
	Text   string `json:"text,omitempty"`      // Control only: instead of Action, for a question that takes text

	// AnswerID makes the request repeatable, for Control only: an answer whose id was
	// carried out is not given again.
	AnswerID string `json:"answerId,omitempty"`
}

// Claim is a message about ended commands for its claimer to type. Batch is "" if
// there is nothing to type.
type Claim struct {
	Batch  string   `json:"batch"`
	Events []string `json:"events"` // whose tags are in Text
	Text   string   `json:"text"`
}

// PeekList is the body of a request for several sessions, at most 4096.
type PeekList struct {
	Requests []PeekRequest `json:"requests,omitempty"`
	Keep     bool          `json:"keep,omitempty"`  // reply with a token, for a list of at most 1024
	Watch    string        `json:"watch,omitempty"` // the token of a list, instead of Requests
	// Wait is how long the server waits, in ns, for something new in Requests, which all
	// have IfRevision. An older server does not wait.
	Wait time.Duration `json:"wait,omitempty"`
}

// PeekReply is the reply to a PeekList.
type PeekReply struct {
	Results []PeekResult `json:"results"`
	Watch   string       `json:"watch,omitempty"`
}

// PeekUnchanged is the reply to the token of an unchanged list.
type PeekUnchanged struct {
	Unchanged bool `json:"unchanged"`
}

// TypedHeader tells a connecting client how many bytes of its input the server has,
// and how many of the last of these may be lost.
const TypedHeader = "Gc-Typed"

// SessionHeader is the id of the session that an attach connection shows.
const SessionHeader = "Gc-Session-Id"

// ReconnectWithin is how long an attached client tries to reach a new server. For that
// long the server keeps the sizes of sessions.
const ReconnectWithin = 10 * time.Second

// RenameRequest gives a session another name.
type RenameRequest struct {
	Name string `json:"name"`
}
