package process

import (
	"time"

	"gascity.dev/gc/internal/clock"
)

// Types of events.
const (
	EventStarted  = "exec.started"
	EventFinished = "exec.finished"
	EventFailed   = "exec.failed"
	EventTimedOut = "exec.timed_out"
	EventKilled   = "exec.killed"
	EventLost     = "exec.lost"
)

// EventType is the type of the event that reports the status.
func (s Status) EventType() string {
	switch s {
	case Running:
		return EventStarted
	case Completed:
		return EventFinished
	}
	return "exec." + string(s)
}

// Event is one thing that happened to a command.
type Event struct {
	ID       string    `json:"eventId"`
	Type     string    `json:"type"`
	Session  string    `json:"sessionId"`
	Label    string    `json:"label,omitempty"`
	Command  string    `json:"command"`
	Owner    string    `json:"owner,omitempty"`
	CallID   string    `json:"callId,omitempty"`
	ExitCode int       `json:"exitCode"`
	Signal   string    `json:"signal,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Tail     string    `json:"tail,omitempty"`
	Started  time.Time `json:"startedAt,omitzero"`
	Ended    time.Time `json:"endedAt,omitzero"`

	Duration clock.Millis `json:"durationMs,omitzero"`
}

// EventID is the id of the event of the command's end. It is derived from the
// record, so that reporting the end again cannot make another event.
func (r *Record) EventID() string { return r.ID + "/exit" }

// Event returns the event that reports the record's status.
func (r *Record) Event() Event {
	e := Event{
		ID: r.EventID(), Type: r.Status.EventType(), Session: r.ID, Label: r.Label, Command: r.Command, Owner: r.Owner,
		CallID: r.CallID, ExitCode: r.ExitCode, Signal: r.Signal, Reason: r.Reason, Tail: r.Tail,
		Started: r.Started, Ended: r.Ended, Duration: clock.Millis(r.Duration),
	}
	if !r.Status.Ended() {
		e.ID = r.ID + "/start"
	}
	return e
}
