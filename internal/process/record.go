// Package process records background commands: their state, the events of their
// ends, the deliveries of these to their owners, and the ring of their output on
// disk.
//
// Its invariant: an end is written once, together with its event and its
// delivery, and either the delivery or the owner's own look at the end wins,
// never both. Everything but the [Ring] and the transactions of a [Store] is a
// pure function of its arguments. It serves the multiplexer, which runs the
// commands and types the messages.
package process

import (
	"errors"
	"fmt"
	"time"

	"gascity.dev/gc/internal/delivery"
)

// When the owner is notified of the end.
const (
	NotifyAuto    = "auto"    // if the command went to the background and the owner has not seen the end
	NotifyAlways  = "always"  // even if the owner was there
	NotifyFailure = "failure" // as auto, unless it completed
	NotifyNever   = "never"
)

// Intents are why gc is about to end a command. They are written before the
// first signal, so that the end is reported correctly after a crash.
const (
	IntentNone     = ""
	IntentTimeout  = "timeout"
	IntentIdle     = "idle timeout"
	IntentKill     = "killed on request"
	IntentShutdown = "gc was shut down" // does not wake the owner
)

// Limits.
const (
	MaxRunning = 64 // running commands of one owner
	MaxKept    = 50 // ended commands of one owner
	KeepSeen   = 30 * time.Minute
	KeepMost   = 24 * time.Hour
	MaxTail    = 4000 // characters of output in an event
)

// Errors of this package; compare with errors.Is.
var (
	ErrLimit    = errors.New("too many background commands")
	ErrNotFound = errors.New("no such background command")
	ErrRunning  = errors.New("the background command is running")
	ErrState    = delivery.ErrState
	ErrCursor   = errors.New("bad cursor")
	ErrNotify   = errors.New("bad notify")
)

// Record is one command. JSON; fields are only ever added.
type Record struct {
	ID          string        `json:"id"` // of the session that it runs in
	Label       string        `json:"label,omitempty"`
	Command     string        `json:"command"`
	WorkDir     string        `json:"workDir,omitempty"`
	PTY         bool          `json:"pty,omitempty"`
	Owner       string        `json:"owner,omitempty"` // the session to tell
	CallID      string        `json:"callId,omitempty"`
	Key         string        `json:"key,omitempty"` // idempotency
	Notify      string        `json:"notify,omitempty"`
	Background  bool          `json:"background,omitempty"`
	Follow      bool          `json:"follow,omitempty"` // its caller reads the output as it comes
	Timeout     time.Duration `json:"timeout,omitempty"`
	IdleTimeout time.Duration `json:"idleTimeout,omitempty"`
	Created     time.Time     `json:"created"`
	Started     time.Time     `json:"started,omitzero"`
	PID         int           `json:"pid,omitempty"`
	Intent      string        `json:"intent,omitempty"`
	Acked       uint64        `json:"acked,omitempty"` // bytes of output that the owner acknowledged

	Status   Status        `json:"status"`
	ExitCode int           `json:"exitCode"`
	Signal   string        `json:"signal,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Ended    time.Time     `json:"ended,omitzero"`
	Duration time.Duration `json:"duration,omitempty"`
	Tail     string        `json:"tail,omitempty"` // the end of the output, as text
	Seen     time.Time     `json:"seen,omitzero"`  // when the owner saw the end

	// By the monotonic clock: for limits, and for how long the record is kept.
	MonoStart time.Time `json:"begun,omitzero"`
	MonoEnd   time.Time `json:"over,omitzero"`
}

// CheckNotify returns ErrNotify for an unknown word; "" is auto.
func CheckNotify(word string) error {
	switch word {
	case "", NotifyAuto, NotifyAlways, NotifyFailure, NotifyNever:
		return nil
	}
	return fmt.Errorf("%w: %q (auto, always, failure, never)", ErrNotify, word)
}

// End is how a command ended.
type End struct {
	Code   int    // exit status; 128+n for signal n; -1 if unknown
	Signal string // "SIGKILL"
	Reason string // for a person
	Lost   bool   // it cannot be known
	At     time.Time
	Now    time.Time     // by the monotonic clock; zero: At
	Took   time.Duration // 0: from the times
	Tail   string
}

// outside reports whether people and systems end commands by the signal, rather
// than commands themselves.
func outside(signal string) bool {
	switch signal {
	case "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT":
		return true
	}
	return false
}

// Finish returns the record after the end. An ended record stays as it is: the
// first end counts.
func (r Record) Finish(e End) Record {
	if r.Status.Ended() {
		return r
	}
	r.ExitCode, r.Signal, r.Reason, r.Ended, r.Tail = e.Code, e.Signal, e.Reason, e.At, e.Tail
	if r.MonoEnd = e.Now; r.MonoEnd.IsZero() {
		r.MonoEnd = e.At
	}
	r.Duration = e.Took
	if r.Duration <= 0 && !r.Started.IsZero() {
		r.Duration = max(0, e.At.Sub(r.Started))
	}
	switch {
	case r.Intent == IntentTimeout || r.Intent == IntentIdle:
		r.Status, r.Reason = TimedOut, r.Intent
	case r.Intent == IntentKill || r.Intent == IntentShutdown:
		r.Status, r.Reason = Killed, r.Intent
	case e.Lost:
		r.Status, r.ExitCode = Lost, -1
	case outside(e.Signal):
		r.Status = Killed
	case e.Code == 0 && e.Signal == "":
		r.Status = Completed
	default:
		r.Status = Failed
	}
	return r
}

// Wakes reports whether the owner of an ended record is notified of the end.
func (r *Record) Wakes() bool {
	if r.Owner == "" || r.Intent == IntentShutdown {
		return false
	}
	switch r.Notify {
	case NotifyNever:
		return false
	case NotifyAlways:
		return true
	case NotifyFailure:
		return r.Background && r.Seen.IsZero() && r.Status != Completed
	}
	return r.Background && r.Seen.IsZero()
}
