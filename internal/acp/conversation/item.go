package conversation

import (
	"path"
	"strings"
)

// Kind is the kind of an item.
type Kind string

// Kinds of items.
const (
	Prompt  Kind = "prompt"  // a message to the agent
	Message Kind = "message" // what the agent says
	Thought Kind = "thought" // what it thinks
	Call    Kind = "tool"    // a tool call
	Plan    Kind = "plan"    // the agent's plan; one item, changed in place
	Notice  Kind = "notice"  // a line from the host: an error, an answer of a policy, a refused resume
)

// Item is one entry of a conversation. Texts hold no control characters except
// newline and tab.
type Item struct {
	ID      string // unique within the conversation
	Kind    Kind
	Text    string      // Prompt, Message, Thought, Notice: all chunks joined
	By      string      // Prompt, Notice: the author, "" for the host
	Tool    *Tool       // Call
	Plan    []PlanEntry // Plan
	Done    bool        // complete: a later chunk begins a new item
	Version uint64      // of the conversation when the item changed last
}

// Statuses of tool calls, as the protocol has them.
const (
	ToolPending   = "pending"
	ToolRunning   = "in_progress"
	ToolCompleted = "completed"
	ToolFailed    = "failed"
)

// Tool is a tool call with everything from its updates so far.
type Tool struct {
	CallID    string
	Name      string // the agent's own name of the tool, if it says it
	Kind      string // read, edit, delete, move, search, execute, think, fetch, other, or one that the protocol does not know
	Title     string
	Status    string // one of the above, or one that the protocol does not know
	Command   string // of a tool that runs one, if its input has it
	Input     string // its arguments as JSON, in one line, of a tool without a Command
	Output    string // text of its content, at most 64 KiB, the end of it
	Cut       int    // lines removed from the beginning of Output
	Diffs     []Diff
	Locations []string // absolute paths
}

// Arguments returns what a person must know of a tool call that names no command, no
// file and no change: its arguments.
func (t *Tool) Arguments() string {
	switch {
	case t.Command != "" || len(t.Diffs) > 0 || len(t.Locations) > 0:
		return ""
	case t.Input == "" && t.Status == ToolPending && strings.HasPrefix(t.Output, "{"): // Gemini
		return strings.TrimSpace(t.Output)
	}
	return t.Input
}

// File returns the first file of a tool call that its title does not name, "" if there is
// none.
func (t *Tool) File() string {
	var files []string
	for _, d := range t.Diffs {
		files = append(files, d.Path)
	}
	files = append(files, t.Locations...)
	if t.Command != "" || len(files) == 0 || strings.Contains(t.Title, path.Base(files[0])) {
		return ""
	}
	return files[0]
}

// Diff is a change of one file.
type Diff struct {
	Path     string
	Old, New string // at most 64 KiB each; Old is "" for a new file
}

// PlanEntry is one step of a plan.
type PlanEntry struct {
	Text   string
	Status string // pending, in_progress, completed
}

// Question is a request of the agent that someone must answer.
type Question struct {
	ID      string // <incarnation>-<n>
	Kind    string // "permission" or "question"
	Title   string // the question, in one line
	Tool    *Tool  // Kind permission: the tool call, merged with earlier updates
	Options []Option
	Text    bool // accepts free text
}

// Option is one possible answer.
type Option struct {
	ID    string // the agent's
	Label string // unique in the question: a second one of the same name gets " (2)"
	Kind  string // allow_once, allow_always, reject_once, reject_always, or ""
}

// Choice is a mode, a model or a command that the agent offers.
type Choice struct {
	ID, Name, Description string
}

// Usage is the conversation's use of its context, and its cost.
type Usage struct {
	Used, Size int64 // tokens; 0 if unknown
	Cost       float64
	Currency   string // "" if the cost is unknown
}
