package protocol

import "encoding/json"

// The requests in this file are carried out: decode them with DecodeExact, and check
// that what they need is there.

// ReadFileRequest asks for a file's text.
type ReadFileRequest struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`  // absolute
	Line      *int   `json:"line"`  // the first, from 1
	Limit     *int   `json:"limit"` // lines
}

// ReadFileResult answers a ReadFileRequest.
type ReadFileResult struct {
	Content string `json:"content"`
}

// WriteFileRequest asks to write a file.
type WriteFileRequest struct {
	SessionID string  `json:"sessionId"`
	Path      string  `json:"path"`    // absolute
	Content   *string `json:"content"` // nil is an error
}

// TerminalRequest asks to run a command.
type TerminalRequest struct {
	SessionID   string        `json:"sessionId"`
	Command     string        `json:"command"`
	Args        []string      `json:"args"`
	Env         []EnvVariable `json:"env"`
	Cwd         string        `json:"cwd"` // absolute; "" is the session's
	OutputLimit *int64        `json:"outputByteLimit"`
}

// EnvVariable is an environment variable.
type EnvVariable = pair

// TerminalResult answers a TerminalRequest.
type TerminalResult struct {
	TerminalID string `json:"terminalId"`
}

// TerminalRef is the params of the other requests about a terminal.
type TerminalRef struct {
	SessionID  string `json:"sessionId"`
	TerminalID string `json:"terminalId"`
}

// TerminalOutput answers terminal/output.
type TerminalOutput struct {
	Output    string      `json:"output"`
	Truncated bool        `json:"truncated"`
	Exit      *ExitStatus `json:"exitStatus,omitempty"` // once it has ended
}

// ExitStatus answers terminal/wait_for_exit.
type ExitStatus struct {
	Code   *int   `json:"exitCode"`
	Signal string `json:"signal,omitempty"`
}

// Empty is a result without members.
var Empty = json.RawMessage("{}")
