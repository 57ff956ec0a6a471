// Package fleet is what gc ui and gc web show and do: the agents of a city, or the sessions
// of a multiplexer without one, as one interface and plain types.
//
// It has no state that must last, decides nothing, and prints nothing. internal/fleet/ofcity
// and internal/fleet/ofmux implement [Fleet], internal/fleet/wire carries one over HTTP, and
// internal/fleet/fleetfake is one for tests. The front-ends import this package and
// internal/screens alone.
//
// Texts come from programs as they are. Whoever shows them makes them harmless.
package fleet

import (
	"context"
	"errors"
	"io"
	"time"

	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/vt"
)

// Errors of a Fleet; test with errors.Is.
var (
	ErrUnsupported = errors.New("not supported here")
	ErrNotFound    = errors.New("not found")
	ErrAway        = errors.New("the source does not answer")
	// ErrChanged: the question is gone or another one; nothing was answered.
	ErrChanged = errors.New("the question has changed")
	// ErrRefused: the request is wrong, or the agent's state forbids it; nothing was done.
	ErrRefused = errors.New("refused")
)

// Fleet is a city or a multiplexer. Its methods may be called from many goroutines, and
// return when ctx ends. An id is that of an [Agent].
type Fleet interface {
	// Watch calls show with the state of the fleet: at once and after each change, a few
	// times a second at most, always with the newest, never two calls at a time. While the
	// source is away it calls show with Lost set and tries again. It returns only when ctx
	// ends.
	Watch(ctx context.Context, show func(Snapshot)) error
	// Screens returns a viewer of live screens. Its connection may break: the caller asks
	// for another one.
	Screens(ctx context.Context) (screens.Viewer, error)
	// Events calls fn with the kept events after the one with the id, or the newest ones
	// that are kept if after is "", and then with those that come. It returns when ctx ends
	// or the connection breaks.
	Events(ctx context.Context, after string, fn func(Event) error) error
	// Load returns what this machine's multiplexer carries; ErrUnsupported without one.
	Load(ctx context.Context) (Load, error)
	// Explain returns why an agent is in its state, as lines of text.
	Explain(ctx context.Context, id string) (Explanation, error)
	// History returns rows of an agent's history and screen; ErrUnsupported if the backend
	// keeps none.
	History(ctx context.Context, id string, p Page) (History, error)
	// Recording returns an agent's recording in asciicast version 2; the caller closes it.
	// ErrUnsupported if the session has none.
	Recording(ctx context.Context, id string) (io.ReadCloser, error)

	// Attach connects a terminal to an agent: its output from the first byte paints a
	// terminal of that size.
	Attach(ctx context.Context, id string, o AttachOptions) (Terminal, error)
	// Nudge types a message and submits it. Every outcome is in the receipt but a missing
	// agent.
	Nudge(ctx context.Context, id, text string) (Receipt, error)
	// Queue leaves a message that is delivered when the agent takes one.
	Queue(ctx context.Context, id, text string) (Message, error)
	// Answer answers a question and returns when it is gone. ErrChanged if the agent asks
	// another one by then, or none.
	Answer(ctx context.Context, id string, a Answer) error
	// Do interrupts, restarts … an agent. ErrUnsupported unless Agent.Can has the action.
	Do(ctx context.Context, id string, a Action) error
	// CancelMessage takes a queued message back, and forgets a dead letter; RetryMessage
	// queues a dead letter again. The id is that of a Message.
	CancelMessage(ctx context.Context, message string) error
	RetryMessage(ctx context.Context, message string) error

	// Commands lists background commands, running ones first; Output returns the output of
	// one.
	Commands(ctx context.Context) ([]Command, error)
	Output(ctx context.Context, command string, p Page) (Output, error)

	Close() error
}

// Snapshot is the state of a fleet.
type Snapshot struct {
	Name string    `json:"name"`           // of the city; of the machine without one
	City string    `json:"city,omitempty"` // its directory; "" without a city
	Host string    `json:"host,omitempty"` // the other machine, ssh://…
	Time time.Time `json:"time"`           // when it was made, by the source's clock

	Agents    []Agent     `json:"agents"`
	Attention []Attention `json:"attention"` // oldest first
	Messages  []Message   `json:"messages"`  // queued and dead ones, in order

	// Lost says why the source is away; the rest is what was last seen, at LostSince at
	// the latest.
	Lost      string    `json:"lost,omitempty"`
	LostSince time.Time `json:"lostSince,omitzero"`

	Warning string `json:"warning,omitempty"` // of the city: a config that cannot be used, a full disk
}

// Load is what the multiplexer carries.
type Load struct {
	Output   uint64 `json:"output"`   // bytes of all sessions, since its server started
	Waits    int    `json:"waits"`    // requests that wait for something of a session
	Attached int    `json:"attached"` // terminals, of all sessions
	// Server is the resident memory of its server in bytes, which has the screens of all
	// sessions; Keeper is that of its keeper.
	Server int64 `json:"server"`
	Keeper int64 `json:"keeper"`
}

// Agent is an agent of a city, or a session.
type Agent struct {
	ID          string `json:"id"`   // for the methods
	Name        string `json:"name"` // for people
	Session     string `json:"session,omitempty"`
	Incarnation string `json:"incarnation,omitempty"`
	Rig         string `json:"rig,omitempty"`
	Pool        string `json:"pool,omitempty"`
	Provider    string `json:"provider,omitempty"` // claude, codex …; of a session: its command
	Host        string `json:"host,omitempty"`     // the other machine, or pod
	Description string `json:"description,omitempty"`

	State  string    `json:"state"`            // stopped, starting, running, draining, exited, crashed, quarantined, suspended, unknown
	Status string    `json:"status"`           // what it does: idle, working, blocked, done, error, stuck, starting, exited, unknown
	Kind   string    `json:"kind,omitempty"`   // of blocked: permission, question, auth, trust, ratelimit
	Source string    `json:"source,omitempty"` // of the status: process, dialog, osc7501, hook …
	Why    string    `json:"why,omitempty"`    // the evidence of the status, one line
	Since  time.Time `json:"since,omitzero"`   // of the status; of the state if there is none
	Seen   time.Time `json:"seen,omitzero"`    // of unknown: when it was last known to be anything else
	Start  time.Time `json:"start,omitzero"`   // of the newest incarnation
	Active time.Time `json:"active,omitzero"`  // last input or output

	Restarts int    `json:"restarts"`
	Exit     string `json:"exit,omitempty"`  // how it ended last, in words
	Title    string `json:"title,omitempty"` // of its window
	LastLine string `json:"lastLine,omitempty"`
	Message  string `json:"message,omitempty"` // the last one of its last turn
	Error    string `json:"error,omitempty"`   // why it is not as wanted
	Hint     string `json:"hint,omitempty"`    // a command that helps
	By       string `json:"by,omitempty"`      // who suspended it: agent, pool NAME, rig NAME, city, config

	Question   *Question `json:"question,omitempty"`
	Limited    string    `json:"limited,omitempty"` // its provider limits it: the message
	LimitedTil time.Time `json:"limitedUntil,omitzero"`
	Queued     int       `json:"queued,omitempty"`     // messages that wait for it
	Background []string  `json:"background,omitempty"` // what runs beside its turn
	Attached   int       `json:"attached,omitempty"`   // terminals
	Recording  bool      `json:"recording,omitempty"`
	Can        []Action  `json:"can"` // what Do accepts now
}

// Shown is what only the multiplexer knows of a session.
type Shown struct {
	Incarnation, Title, LastLine string
	Attached                     int // terminals
	Recording                    bool
}

// Question is what a blocked agent asks.
type Question struct {
	Request string   `json:"request"` // for Answer; another question has another one
	Kind    string   `json:"kind"`
	Prompt  string   `json:"prompt"`
	Context string   `json:"context,omitempty"` // the lines above it
	Options []string `json:"options,omitempty"`
	Marked  string   `json:"marked,omitempty"` // the selected option
	Text    bool     `json:"text,omitempty"`   // it takes a text
}

// Answer answers a question.
type Answer struct {
	Request string `json:"request"`          // Question.Request; required
	Option  string `json:"option,omitempty"` // the whole label
	Text    string `json:"text,omitempty"`   // instead of an option
}

// Attention is something that needs somebody; the kinds are those of gc attention.
type Attention struct {
	ID      string    `json:"id"` // of this occasion
	Kind    string    `json:"kind"`
	Agent   string    `json:"agent"` // Agent.ID
	Since   time.Time `json:"since,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	Text    string    `json:"text"`
	Hint    string    `json:"hint,omitempty"`
	Message string    `json:"message,omitempty"` // of a dead letter: its Message.ID
}

// Action is something to do to an agent.
type Action string

// The actions.
const (
	Interrupt Action = "interrupt"
	Restart   Action = "restart"
	Stop      Action = "stop"
	Suspend   Action = "suspend"
	Resume    Action = "resume"
	Start     Action = "start"
	Seen      Action = "seen" // a person has looked at finished work
)

// Destructive reports whether an action is confirmed first.
func (a Action) Destructive() bool { return a == Restart || a == Stop || a == Suspend }

// Receipt is how a nudge went: submitted, drafted, blocked, refused, dead, unverified.
type Receipt struct {
	State   string `json:"state"`
	By      string `json:"by,omitempty"`
	Detail  string `json:"detail,omitempty"`
	Changed string `json:"changed,omitempty"`
}

// Submitted is the one State of a Receipt that is success.
const Submitted = "submitted"

// Message is a message that waits for an agent, or that was given up.
type Message struct {
	ID      string    `json:"id"`
	Agent   string    `json:"agent"` // Agent.ID
	Text    string    `json:"text"`
	State   string    `json:"state"` // queued, delivering, dead
	By      string    `json:"by,omitempty"`
	Detail  string    `json:"detail,omitempty"`
	Created time.Time `json:"created"`
	Ended   time.Time `json:"ended,omitzero"`
}

// Event is one thing that happened.
type Event struct {
	ID     string    `json:"id"` // to continue after
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"`
	Agent  string    `json:"agent,omitempty"` // Agent.ID, or the session
	Host   string    `json:"host,omitempty"`
	Why    string    `json:"why,omitempty"`
	Detail string    `json:"detail,omitempty"`
	By     string    `json:"by,omitempty"`
}

// Explanation is why an agent is in its state.
type Explanation struct {
	Facts    []Fact    `json:"facts"`
	Evidence []Finding `json:"evidence,omitempty"` // the strongest first
}

// Fact is one fact for a person.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Finding is what one source of evidence says.
type Finding struct {
	Source string    `json:"source"`
	State  string    `json:"state,omitempty"` // "": nothing
	Kind   string    `json:"kind,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Text   string    `json:"text"`
}

// Page is a part of a history, or of an output.
type Page struct {
	// Before is the line that follows the page; 0: the end.
	Before uint64 `json:"before,omitempty"`
	Lines  int    `json:"lines,omitempty"` // at most; 0: 500
	// Search keeps only lines with the text, whatever the case. The page is then as many
	// of them.
	Search string `json:"search,omitempty"`
}

// History is a page of the rows that a session has shown, the screen included.
type History struct {
	Cols  int           `json:"cols"`
	Lines []HistoryLine `json:"lines"`          // in order
	More  bool          `json:"more"`           // there are earlier ones
	Total uint64        `json:"total"`          // the line that will follow the last one
	Lost  int           `json:"lost,omitempty"` // lines that are no longer kept
}

// HistoryLine is one row. The numbers of rows grow from 1 on, with gaps, and stay while the session
// lives and its size stays.
type HistoryLine struct {
	N    uint64  `json:"n"`
	Line vt.Line `json:"line"`
}

// AttachOptions are how to attach.
type AttachOptions struct {
	Cols, Rows int
	// ReadOnly sends nothing typed and never changes the agent's size.
	ReadOnly bool
}

// Terminal is a program's terminal. Reads return its output, and io.EOF after its end or a
// detach; Close detaches. One goroutine may read while another writes.
type Terminal interface {
	io.ReadWriteCloser
	Resize(cols, rows int) error
}

// Command is a background command.
type Command struct {
	ID      string    `json:"id"`
	Owner   string    `json:"owner,omitempty"` // Agent.ID, or the session
	Command string    `json:"command"`
	Status  string    `json:"status"` // running, exited …
	Code    *int      `json:"code,omitempty"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Host    string    `json:"host,omitempty"`
}

// Output is a page of the output of a background command, as text.
type Output struct {
	Lines []OutputLine `json:"lines"`
	More  bool         `json:"more"`
	Total uint64       `json:"total"` // lines so far
}

// OutputLine is one line, counted from 1.
type OutputLine struct {
	N    uint64 `json:"n"`
	Text string `json:"text"`
}
