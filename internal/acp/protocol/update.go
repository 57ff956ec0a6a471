package protocol

import (
	"cmp"
	"encoding/json"
)

// SessionNotification is the params of session/update.
type SessionNotification struct {
	SessionID string `json:"sessionId"`
	Update    Update `json:"update"`
}

// Kinds of updates.
const (
	UpdateUser     = "user_message_chunk"
	UpdateMessage  = "agent_message_chunk"
	UpdateThought  = "agent_thought_chunk"
	UpdateToolCall = "tool_call"
	UpdateTool     = "tool_call_update"
	UpdatePlan     = "plan"
	UpdateCommands = "available_commands_update"
	UpdateMode     = "current_mode_update"
	UpdateOptions  = "config_option_update"
	UpdateUsage    = "usage_update"
	UpdateInfo     = "session_info_update"
)

// Update is a change of a session.
type Update struct {
	Kind      string             // one of the above, or one that the protocol does not know
	MessageID string             // UpdateUser, UpdateMessage, UpdateThought: "" if the agent does not say
	Content   Block              // the same
	Tool      ToolCall           // UpdateToolCall, UpdateTool
	Plan      List[PlanEntry]    // UpdatePlan: the whole plan
	Commands  List[Command]      // UpdateCommands: all of them
	ModeID    string             // UpdateMode
	Options   List[ConfigOption] // UpdateOptions: all of them
	Usage     ContextUsage       // UpdateUsage
	Spent     Usage              // UpdateMessage: by one request to the model, where the agent says so beside it
	Title     string             // UpdateInfo: "" leaves it unchanged
}

// IsHistory reports whether the update is part of what was said and done.
func (u *Update) IsHistory() bool {
	switch u.Kind {
	case UpdateUser, UpdateMessage, UpdateThought, UpdateToolCall, UpdateTool, UpdatePlan:
		return true
	}
	return false
}

// UnmarshalJSON never fails.
func (u *Update) UnmarshalJSON(raw []byte) error {
	var w struct {
		SessionUpdate string
		MessageID     string
		Content       json.RawMessage // of chunks and tools
		Entries       List[PlanEntry]
		Commands      List[Command] `json:"availableCommands"`
		ModeID        string
		CurrentModeID string
		Options       List[ConfigOption] `json:"configOptions"`
		Title         string
		Meta          struct{ Usage tokens } `json:"_meta"`
	}
	lenient(raw, &w)
	*u = Update{Kind: w.SessionUpdate}
	switch u.Kind {
	case UpdateUser, UpdateMessage, UpdateThought:
		u.MessageID = w.MessageID
		lenient(w.Content, &u.Content)
		u.Spent = w.Meta.Usage.usage()
	case UpdateToolCall, UpdateTool:
		lenient(raw, &u.Tool)
	case UpdatePlan:
		u.Plan = w.Entries
	case UpdateCommands:
		u.Commands = w.Commands
	case UpdateMode:
		u.ModeID = w.CurrentModeID // of the schema
		if u.ModeID == "" {
			u.ModeID = w.ModeID // of the documentation
		}
	case UpdateOptions:
		u.Options = w.Options
	case UpdateUsage:
		lenient(raw, &u.Usage)
	case UpdateInfo:
		u.Title = w.Title
	}
	return nil
}

// ToolCall is an update of a tool call. What it does not mention has the
// zero value and leaves the call unchanged.
type ToolCall struct {
	ID        string            `json:"toolCallId"`
	Name      string            `json:"name"` // of the tool, where the agent says it
	Title     string            `json:"title"`
	Kind      string            `json:"kind"`
	Status    string            `json:"status"`
	Content   List[ToolContent] `json:"content"` // replaces the former; empty removes it
	Locations List[Location]    `json:"locations"`
	RawInput  json.RawMessage   `json:"rawInput"`
	RawOutput json.RawMessage   `json:"rawOutput"`
	Meta      json.RawMessage   `json:"_meta"`
}

// ToolName returns the agent's own name of the tool, "" if it does not say. Claude's and
// Qwen's adapters put it into _meta.
func (t *ToolCall) ToolName() string {
	var m struct {
		ToolName   string
		ClaudeCode struct{ ToolName string }
	}
	lenient(t.Meta, &m)
	return cmp.Or(t.Name, m.ToolName, m.ClaudeCode.ToolName)
}

// Printed is what the command of a terminal that the agent owns has printed.
type Printed struct {
	Terminal string
	Text     string
	Replaces bool // all that it has printed, not what follows
}

// Printed returns what an update says of such a terminal, nil if nothing. It is a
// convention of Claude's and Codex's adapters, not of the protocol.
func (t *ToolCall) Printed() *Printed {
	type data struct {
		Data     string
		Terminal string `json:"terminal_id"`
	}
	var m struct {
		All  *data `json:"terminal_output"`
		More *data `json:"terminal_output_delta"`
		Exit *data `json:"terminal_exit"`
	}
	lenient(t.Meta, &m)
	switch {
	case m.All != nil:
		return &Printed{m.All.Terminal, m.All.Data, true}
	case m.More != nil:
		return &Printed{m.More.Terminal, m.More.Data, false}
	case m.Exit != nil: // nothing more, or nothing at all
		return &Printed{m.Exit.Terminal, "", false}
	}
	return nil
}

// Types of a tool's content.
const (
	ContentBlock    = "content"
	ContentDiff     = "diff"
	ContentTerminal = "terminal"
)

// ToolContent is a part of a tool call's result.
type ToolContent struct {
	Type       string `json:"type"` // one of the above, or one that the protocol does not know
	Block      Block  `json:"content"`
	Path       string `json:"path"` // ContentDiff
	OldText    string `json:"oldText"`
	NewText    string `json:"newText"`
	TerminalID string `json:"terminalId"`
}

func (c ToolContent) complete() bool { return c.Type != "" }

// Location is a file that a tool call is about.
type Location struct {
	Path string `json:"path"`
}

func (l Location) complete() bool { return l.Path != "" }

// PlanEntry is a step of a plan.
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

func (e PlanEntry) complete() bool { return e.Content != "" }

// Command is a command that the agent understands after a slash.
type Command struct {
	Name        string
	Description string
	Input       struct{ Hint string } // what to write after the name
}

func (c Command) complete() bool { return c.Name != "" }

// ContextUsage is a session's use of its context, and its cost so far.
type ContextUsage struct {
	Used, Size int64 // tokens
	Cost       float64
	Currency   string // "" if the cost is unknown
}

// UnmarshalJSON never fails.
func (u *ContextUsage) UnmarshalJSON(raw []byte) error {
	var w struct {
		Used, Size count
		Cost       struct {
			Amount   float64
			Currency string
		}
	}
	lenient(raw, &w)
	*u = ContextUsage{int64(w.Used), int64(w.Size), w.Cost.Amount, w.Cost.Currency}
	return nil
}
