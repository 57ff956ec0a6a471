package api

import (
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/process"
)

// Millis is a duration whose JSON form is an integer, in milliseconds.
type Millis = clock.Millis

// NoTimeout as the Timeout of an ExecRequest means none, even in the foreground.
const NoTimeout = Millis(-time.Millisecond)

// ExecRequest starts a command. Exactly one of Command and Argv is set.
type ExecRequest struct {
	Command     string   `json:"command,omitempty"` // a shell command line, run as CreateRequest's
	Argv        []string `json:"argv,omitempty"`
	Background  bool     `json:"background,omitempty"`   // reply at once
	Yield       Millis   `json:"yieldMs,omitzero"`       // wait this long, then continue in the background; 0: wait for the end
	Follow      bool     `json:"follow,omitempty"`       // stay in the foreground and reply with a stream; see ExecFollow
	PTY         bool     `json:"pty,omitempty"`          // on a terminal instead of pipes
	Cols        int      `json:"cols,omitempty"`         // 0: DefaultCols
	Rows        int      `json:"rows,omitempty"`         // 0: DefaultRows
	Timeout     Millis   `json:"timeoutMs,omitzero"`     // 0: 30 min in the foreground, none in the background; NoTimeout
	IdleTimeout Millis   `json:"idleTimeoutMs,omitzero"` // maximum time without output; 0: none
	Stdin       []byte   `json:"stdin,omitempty"`        // written at the start
	EOF         bool     `json:"eof,omitempty"`          // then close the input
	WorkDir     string   `json:"cwd,omitempty"`          // absolute; empty as CreateRequest's
	Env         []string `json:"-"`                      // whole environment, as CreateRequest's
	Label       string   `json:"label,omitempty"`        // at most 200 bytes, as CallID and Key
	Limits      Limits   `json:"limits,omitzero"`
	Owner       string   `json:"owner,omitempty"` // name of the session to wake
	CallID      string   `json:"callId,omitempty"`
	Key         string   `json:"idempotencyKey,omitempty"` // a second request of the owner with this key starts nothing
	Notify      string   `json:"notify,omitempty"`         // auto, always, failure, never; empty: auto
}

// ExecPlain is the part of an ExecWire without the environment.
type ExecPlain ExecRequest

// ExecWire is an ExecRequest on the wire: variables that are not UTF-8 are in EnvBytes.
type ExecWire struct {
	ExecPlain
	Env      []string `json:"env,omitempty"`
	EnvBytes [][]byte `json:"envBytes,omitempty"`
}

// ExecResult describes a command, in every reply.
type ExecResult struct {
	ID       string         `json:"sessionId"`
	Status   process.Status `json:"status"`
	ExitCode *int           `json:"exitCode,omitempty"` // only after the end
	Signal   string         `json:"signal,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	PID      int            `json:"pid,omitempty"`
	Started  time.Time      `json:"startedAt,omitzero"`
	Ended    time.Time      `json:"endedAt,omitzero"`

	Duration  Millis `json:"durationMs"`
	Output    string `json:"output,omitempty"`    // since the cursor of the request; bytes that are not UTF-8 become U+FFFD
	Data      []byte `json:"data,omitempty"`      // the same as bytes, if requested
	Missing   uint64 `json:"missing,omitempty"`   // bytes before Output that are not kept
	Cursor    uint64 `json:"cursor"`              // for the next poll
	Tail      string `json:"tail,omitempty"`      // the end of the output, at most 4000 characters
	Truncated bool   `json:"truncated,omitempty"` // there is more after Cursor, or some is missing
	Waiting   bool   `json:"waitingForInput,omitempty"`
	Idle      Millis `json:"idleMs,omitzero"` // since the last output
	EventID   string `json:"eventId,omitempty"`

	Command    string `json:"command"`
	Label      string `json:"label,omitempty"`
	Owner      string `json:"owner,omitempty"`
	CallID     string `json:"callId,omitempty"`
	PTY        bool   `json:"pty,omitempty"`
	Background bool   `json:"background,omitempty"`
	Existed    bool   `json:"existed,omitempty"` // the key was known, and nothing was started
	Delivery   string `json:"delivery,omitempty"`
}

// PollRequest reads new output.
type PollRequest struct {
	Cursor *uint64 `json:"cursor,omitempty"` // acknowledges everything before it; nil: the last acknowledged cursor
	Wait   Millis  `json:"waitMs,omitzero"`  // for output or the end; at most 30 s
	Bytes  int     `json:"bytes,omitempty"`  // most bytes of output, at most 1 MiB; 0: 64 KiB
	Raw    bool    `json:"raw,omitempty"`    // fill in Data instead of Output
	Caller string  `json:"caller,omitempty"` // name of the calling session; if it is the owner, it has seen the end
}

// LogRequest reads lines of the output, about 1 MiB at most.
type LogRequest struct {
	Offset uint64 `json:"offset,omitempty"` // number of the first line, from 1
	Limit  int    `json:"limit,omitempty"`  // lines, at most 10,000; 0: 200
	Tail   int    `json:"tail,omitempty"`   // number of last lines, at most 10,000, if Offset is 0 and Match is empty; 0: Limit
	Match  string `json:"match,omitempty"`  // RE2: only matching lines; the search begins at Offset, or 1
	Format string `json:"format,omitempty"` // text, raw, screen; empty: text
}

// Formats of a log, besides FormatText.
const (
	FormatRaw    = "raw"
	FormatScreen = "screen"
)

// LogLine is one line. Numbers count from 1 and never shift.
type LogLine struct {
	N       uint64 `json:"n"`
	Text    string `json:"text"`
	Data    []byte `json:"data,omitempty"`    // FormatRaw
	Cut     bool   `json:"cut,omitempty"`     // longer than 64 KiB, or its beginning was dropped
	Missing uint64 `json:"missing,omitempty"` // instead of text: bytes that were dropped
}

// LogResult is a page of the output.
type LogResult struct {
	Lines      []LogLine `json:"lines"`
	First      uint64    `json:"firstLine"`
	Next       uint64    `json:"nextOffset"`
	TotalLines uint64    `json:"totalLines"`
	TotalBytes uint64    `json:"totalBytes"`
	Screen     string    `json:"screen,omitempty"` // FormatScreen
}

// WriteRequest is input for a command.
type WriteRequest struct {
	Data   []byte `json:"data,omitempty"`
	Submit bool   `json:"submit,omitempty"` // append a line end: LF, or CR on a terminal
	EOF    bool   `json:"eof,omitempty"`    // then end the input
}

// Delivery is the state of a message to an owner.
type Delivery = process.Delivery
