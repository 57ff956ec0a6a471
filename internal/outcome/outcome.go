// Package outcome holds the words for how programs and nudges end. It is pure data,
// shared by the contract of providers and the multiplexer, which do not import each
// other. The strings are on the wire and in files.
package outcome

import (
	"strconv"
	"time"
)

// Exit is how a session's leader ended.
type Exit struct {
	Code   int       `json:"code"`             // exit status; 128+n for signal n; -1 unknown
	Signal string    `json:"signal,omitempty"` // "SIGKILL"
	Reason string    `json:"reason,omitempty"` // one of the reasons, or text for a person
	Time   time.Time `json:"time"`
}

// Reasons of an [Exit].
const (
	Exited   = "exited"            // by itself, with Code
	Killed   = "killed"            // by a signal that the backend did not send
	Stopped  = "stopped"           // by the backend
	NotFound = "command not found" // status 127 or 126 of the shell at once
	Unknown  = "unknown"           // the status can no longer be determined
)

// Status is "exit status 3", "SIGKILL" or "exit status unknown". A nil Exit is unknown.
func (e *Exit) Status() string {
	switch {
	case e == nil || e.Signal == "" && e.Code < 0:
		return "exit status unknown"
	case e.Signal != "":
		return e.Signal
	}
	return "exit status " + strconv.Itoa(e.Code)
}

// Text is Status and the reason, unless the program simply exited.
func (e *Exit) Text() string {
	if e.Reason == "" || e.Reason == Exited {
		return e.Status()
	}
	return e.Status() + " (" + e.Reason + ")"
}

// Receipts of a nudge. Only Submitted is success.
const (
	Submitted  = "submitted"  // the screen shows that the program took it
	Drafted    = "drafted"    // typed into the composer, not submitted
	Blocked    = "blocked"    // not typed: a dialog or a draft is in the way
	Refused    = "refused"    // the backend or the session takes no input
	Dead       = "dead"       // the session ended before the text was submitted
	Unverified = "unverified" // typed and entered; the screen shows no effect
)
