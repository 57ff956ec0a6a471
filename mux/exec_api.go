package mux

import (
	"context"
	"crypto/rand"
	"net/url"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/internal/process"
)

// ExecRequest starts a command. Exactly one of Command and Argv is set.
type ExecRequest struct {
	Command       string   `json:"command,omitempty"` // a shell command line, run as CreateRequest's
	Argv          []string `json:"argv,omitempty"`
	Background    bool     `json:"background,omitempty"`    // answer at once
	YieldMS       int64    `json:"yieldMs,omitempty"`       // wait so long, then go on in the background; 0: to the end
	Follow        bool     `json:"follow,omitempty"`        // stay in the foreground, and answer with a stream; see ExecFollow
	PTY           bool     `json:"pty,omitempty"`           // on a terminal instead of pipes
	Cols          int      `json:"cols,omitempty"`          // 0: DefaultCols
	Rows          int      `json:"rows,omitempty"`          // 0: DefaultRows
	TimeoutMS     int64    `json:"timeoutMs,omitempty"`     // 0: 30 min in the foreground, none in the background; < 0: none
	IdleTimeoutMS int64    `json:"idleTimeoutMs,omitempty"` // no output for so long; 0: none
	Stdin         []byte   `json:"stdin,omitempty"`         // written at the start
	EOF           bool     `json:"eof,omitempty"`           // and then the input is closed
	WorkDir       string   `json:"cwd,omitempty"`           // absolute; empty as CreateRequest's
	Env           []string `json:"-"`                       // whole environment, as CreateRequest's
	Label         string   `json:"label,omitempty"`
	Limits        Limits   `json:"limits,omitzero"`
	Owner         string   `json:"owner,omitempty"` // name of the session that is woken
	CallID        string   `json:"callId,omitempty"`
	Key           string   `json:"idempotencyKey,omitempty"` // a second request of the owner with it starts nothing
	Notify        string   `json:"notify,omitempty"`         // auto, always, failure, never; empty: auto
}

type execPlain ExecRequest

type execWire struct {
	execPlain
	Env      []string `json:"env,omitempty"`
	EnvBytes [][]byte `json:"envBytes,omitempty"`
}

// ExecResult is what is known of a command: the one shape of every answer.
type ExecResult struct {
	ID       string         `json:"sessionId"`
	Status   process.Status `json:"status"`
	ExitCode *int           `json:"exitCode,omitempty"` // not before the end
	Signal   string         `json:"signal,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	PID      int            `json:"pid,omitempty"`
	Started  time.Time      `json:"startedAt,omitzero"`
	Ended    time.Time      `json:"endedAt,omitzero"`

	DurationMS int64  `json:"durationMs"`
	Output     string `json:"output,omitempty"`    // new since the cursor of the request; what is not UTF-8 is U+FFFD
	Data       []byte `json:"data,omitempty"`      // the same as bytes, when asked for
	Missing    uint64 `json:"missing,omitempty"`   // bytes before Output that are not kept
	Cursor     uint64 `json:"cursor"`              // for the next poll
	Tail       string `json:"tail,omitempty"`      // the end of the output, at most 4000 characters
	Truncated  bool   `json:"truncated,omitempty"` // there is more behind Cursor, or something is missing
	Waiting    bool   `json:"waitingForInput,omitempty"`
	IdleMS     int64  `json:"idleMs,omitempty"` // since the last output
	EventID    string `json:"eventId,omitempty"`

	Command    string `json:"command"`
	Label      string `json:"label,omitempty"`
	Owner      string `json:"owner,omitempty"`
	CallID     string `json:"callId,omitempty"`
	PTY        bool   `json:"pty,omitempty"`
	Background bool   `json:"background,omitempty"`
	Existed    bool   `json:"existed,omitempty"` // the key was known: nothing was started
	Delivery   string `json:"delivery,omitempty"`
}

// PollRequest asks for what is new.
type PollRequest struct {
	Cursor *uint64 `json:"cursor,omitempty"` // acknowledges what is before it; nil: from what was acknowledged last
	WaitMS int64   `json:"waitMs,omitempty"` // for output or the end; at most 30000
	Bytes  int     `json:"bytes,omitempty"`  // of output at most; 0: 65536
	Raw    bool    `json:"raw,omitempty"`    // fill in Data instead of Output
	Caller string  `json:"caller,omitempty"` // name of the session that asks: the owner has then seen the end
}

// LogRequest asks for lines of the output.
type LogRequest struct {
	Offset uint64 `json:"offset,omitempty"` // number of the first line, from 1
	Limit  int    `json:"limit,omitempty"`  // lines; 0: 200
	Tail   int    `json:"tail,omitempty"`   // the last so many lines, when Offset is 0; 0: 200
	Match  string `json:"match,omitempty"`  // RE2: only such lines; the search begins at Offset, or 1
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
	Cut     bool   `json:"cut,omitempty"`     // longer than 64 KiB, or its beginning is not kept
	Missing uint64 `json:"missing,omitempty"` // instead of text: bytes that are not kept
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

// WriteRequest gives a command input.
type WriteRequest struct {
	Data   []byte `json:"data,omitempty"`
	Submit bool   `json:"submit,omitempty"` // and then a line end: LF, on a terminal CR
	EOF    bool   `json:"eof,omitempty"`    // and then the end of the input
}

// Delivery is how far the waking of an owner came.
type Delivery = process.Delivery

func processPath(id, more string) string { return "/v1/processes/" + url.PathEscape(id) + more }

// Exec starts a command, and waits for its end unless the request says
// otherwise, also across a restart of the server: nothing is started twice.
// ErrLimit when the owner has too many, and the errors of Create.
func (c *Client) Exec(ctx context.Context, r ExecRequest) (ExecResult, error) {
	w, made := execBody(r)
	var out ExecResult
	err := c.across(ctx, func() error {
		out = ExecResult{}
		return c.call(ctx, "POST", "/v1/exec", w, &out)
	})
	out.Existed = out.Existed && !made
	return out, err
}

// execBody is a request as it is sent, with a key, so that it can be asked again
// when the server dies meanwhile. made: the caller gave none.
func execBody(r ExecRequest) (w execWire, made bool) {
	if made = r.Key == ""; made {
		r.Key = rand.Text()
	}
	w = execWire{execPlain: execPlain(r)}
	for _, kv := range r.Env {
		if utf8.ValidString(kv) {
			w.Env = append(w.Env, kv)
		} else {
			w.EnvBytes = append(w.EnvBytes, []byte(kv))
		}
	}
	return w, made
}

// ProcessList lists the background commands of an owner, oldest first; "" is
// everybody's. all adds those that ended.
func (c *Client) ProcessList(ctx context.Context, owner string, all bool) ([]ExecResult, error) {
	q := url.Values{}
	if owner != "" {
		q.Set("owner", owner)
	}
	if all {
		q.Set("all", "true")
	}
	var out struct {
		Processes []ExecResult `json:"processes"`
	}
	err := c.call(ctx, "GET", "/v1/processes?"+q.Encode(), nil, &out)
	return out.Processes, err
}

// Process tells about one command. ErrNotFound for an id that is none.
func (c *Client) Process(ctx context.Context, id string) (ExecResult, error) {
	var out ExecResult
	err := c.call(ctx, "GET", processPath(id, ""), nil, &out)
	return out, err
}

// ProcessPoll returns what is new since a cursor, also across a restart of the
// server. ErrRequest for a cursor behind the end.
func (c *Client) ProcessPoll(ctx context.Context, id string, r PollRequest) (ExecResult, error) {
	var out ExecResult
	err := c.across(ctx, func() error {
		out = ExecResult{}
		return c.call(ctx, "POST", processPath(id, "/poll"), r, &out)
	})
	return out, err
}

// ProcessWait waits for the end; after the timeout, 0 for none, the command is
// told of as it is, running.
func (c *Client) ProcessWait(ctx context.Context, id, caller string, timeout time.Duration) (ExecResult, error) {
	var out ExecResult
	end := time.Now().Add(timeout)
	err := c.across(ctx, func() error {
		in := map[string]any{"caller": caller}
		if timeout > 0 {
			in["timeoutMs"] = max(1, time.Until(end).Milliseconds())
		}
		out = ExecResult{}
		return c.call(ctx, "POST", processPath(id, "/wait"), in, &out)
	})
	return out, err
}

// ProcessLog returns lines of the output.
func (c *Client) ProcessLog(ctx context.Context, id string, r LogRequest) (LogResult, error) {
	var out LogResult
	err := c.call(ctx, "POST", processPath(id, "/log"), r, &out)
	return out, err
}

// ProcessWrite gives input. ErrExited when nobody reads it any more.
func (c *Client) ProcessWrite(ctx context.Context, id string, r WriteRequest) error {
	return c.call(ctx, "POST", processPath(id, "/write"), r, nil)
}

// ProcessKeys presses keys as Keys does.
func (c *Client) ProcessKeys(ctx context.Context, id string, keys []string, literal bool) error {
	return c.call(ctx, "POST", processPath(id, "/keys"), KeysRequest{Keys: keys, Literal: literal}, nil)
}

// ProcessPaste types data as one paste.
func (c *Client) ProcessPaste(ctx context.Context, id string, data []byte) error {
	return c.call(ctx, "POST", processPath(id, "/paste"), map[string][]byte{"data": data}, nil)
}

// ProcessSignal sends a signal by name to the command's foreground group.
func (c *Client) ProcessSignal(ctx context.Context, id, sig string) error {
	return c.call(ctx, "POST", processPath(id, "/signal"), map[string]string{"signal": sig}, nil)
}

// ProcessKill ends the whole tree: TERM, and KILL after grace. It returns when
// the end is written down.
func (c *Client) ProcessKill(ctx context.Context, id, caller string, grace time.Duration) (ExecResult, error) {
	var out ExecResult
	in := map[string]any{"caller": caller, "graceMs": grace.Milliseconds()}
	err := c.across(ctx, func() error { return c.call(ctx, "POST", processPath(id, "/kill"), in, &out) })
	return out, err
}

// ProcessBackground lets a command of the foreground go on in the background;
// its timeout lapses.
func (c *Client) ProcessBackground(ctx context.Context, id string) (ExecResult, error) {
	var out ExecResult
	err := c.call(ctx, "POST", processPath(id, "/background"), nil, &out)
	return out, err
}

// ProcessRemove forgets a command and its output; ErrBusy while it runs, unless
// kill ends it first.
func (c *Client) ProcessRemove(ctx context.Context, id string, kill bool) error {
	q := ""
	if kill {
		q = "?kill=true"
	}
	return c.call(ctx, "DELETE", processPath(id, q), nil, nil)
}

// Deliveries lists what owners are told: what is open, and what was done with
// the commands that are still kept. State "" is all.
func (c *Client) Deliveries(ctx context.Context, owner, state string) ([]Delivery, error) {
	return c.deliveries(ctx, url.Values{"owner": {owner}, "state": {state}})
}

func (c *Client) deliveries(ctx context.Context, q url.Values) ([]Delivery, error) {
	var out struct {
		Deliveries []Delivery `json:"deliveries"`
	}
	err := c.call(ctx, "GET", "/v1/deliveries?"+q.Encode(), nil, &out)
	return out.Deliveries, err
}
