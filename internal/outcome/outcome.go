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

	// Disrupted: the backend ended it, as an eviction, a drain of its node or a deletion by
	// hand does. The program did not fail.
	Disrupted bool `json:"disrupted,omitempty"`
}

// Reasons of an [Exit].
const (
	Exited   = "exited"            // by itself, with Code
	Killed   = "killed"            // by a signal that the backend did not send
	Stopped  = "stopped"           // by the backend
	NotFound = "command not found" // status 127 or 126 of the shell at once
	Unknown  = "unknown"           // the status can no longer be determined
	Rebooted = "rebooted"          // the machine was rebooted

	OOMKilled = "OOMKilled" // it used too much memory
)

// Status is "exit status 3", "SIGKILL", "ended by a reboot" or "exit status unknown", with the
// reason if the backend ended it. A nil Exit is unknown.
func (e *Exit) Status() string {
	if e != nil && (e.Disrupted || e.Reason == OOMKilled) && e.Reason != Stopped && e.Reason != Unknown {
		return e.plain() + " (" + e.Reason + ")"
	}
	return e.plain()
}

func (e *Exit) plain() string {
	switch {
	case e != nil && e.Reason == Rebooted:
		return "ended by a reboot"
	case e == nil || e.Signal == "" && e.Code < 0:
		return "exit status unknown"
	case e.Signal != "":
		return e.Signal
	}
	return "exit status " + strconv.Itoa(e.Code)
}

// Text is Status and the reason, unless the program simply exited.
func (e *Exit) Text() string {
	if e.Reason == "" || e.Reason == Exited || e.Reason == Rebooted {
		return e.plain()
	}
	return e.plain() + " (" + e.Reason + ")"
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

// What is known about the turn that a nudge was to interrupt.
const (
	InterruptEnded      = "ended"      // interrupted, and seen to have ended
	InterruptNone       = "none"       // no turn ran: no key was pressed
	InterruptUnverified = "unverified" // interrupted; whether a turn ran, or has ended, is unknown
)
