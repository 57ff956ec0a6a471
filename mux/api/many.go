package api

import (
	"time"

	"gascity.dev/gc/internal/status"
)

// Activity is what the program of a session is doing, Pending a question that it asks,
// and Finding the report of one source of evidence.
type (
	Activity = status.Activity
	Pending  = status.Pending
	Finding  = status.Finding
)

// States of an [Activity].
const (
	ActivityIdle    = status.Idle
	ActivityWorking = status.Working
	ActivityBlocked = status.Blocked
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

// AliveRequest asks whether a process with one of the names lives in a session.
type AliveRequest struct {
	Name  string   `json:"name"`
	Names []string `json:"names"`
}

// RespondRequest answers a [Pending].
type RespondRequest struct {
	ID     string `json:"requestId,omitempty"` // of the question; empty: the current one
	Action string `json:"action"`              // the whole label of an option
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
