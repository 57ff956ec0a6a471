// Package check tests a script of the exec session protocol as its callers use
// it: over the wire, with real sessions, knowing nothing of the script.
//
// Its invariant: every finding names the operation, what was seen, what callers
// do about it, and the call to repeat by hand. A script may lack operations; what
// it answers must be true. It serves the authors of scripts (gc session-op check)
// and the tests of the scripts in contrib.
package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Outcomes of a rule.
const (
	OK      = "ok"
	Fault   = "fault"
	Missing = "missing" // the script does not have the operation
	Skipped = "skipped" // another finding, or a capability, leaves nothing to check
)

// Result is what came of one rule.
type Result struct {
	Operation string `json:"operation"`
	Rule      string `json:"rule"`
	Outcome   string `json:"outcome"`
	Detail    string `json:"detail,omitempty"` // what was seen
	Advice    string `json:"advice,omitempty"` // what callers do about it
	Call      string `json:"call,omitempty"`   // the last call, for a shell
}

// Options configure a check.
type Options struct {
	Script  string   // path
	Environ []string // of the script; nil: this process's
	Only    string   // rules of this operation; "" for all

	Timeout time.Duration // of one call; 0 = 30 s
	Effect  time.Duration // for an effect to be seen; 0 = 10 s
	Done    func(Result)  // of each rule as it ends; may be nil
}

// rule is one law of docs/exec-protocol.md.
type rule struct {
	op     string
	text   string
	advice string
	check  func(*run) error
}

// run is one check of one script.
type run struct {
	o    Options
	ctx  context.Context
	path string
	env  []string
	dir  string // of this check, removed at the end
	city string // that calls are made for
	caps []string
	last string // the last call
	said string // on standard error by the last start

	spoken  bool // it has a handshake
	broken  bool // start runs nothing
	started []session
	count   int
}

// session is a session that may have to be stopped.
type session struct{ city, name string }

// Run checks the script and returns what came of every rule. The error means
// that the check itself could not be made.
func Run(ctx context.Context, o Options) ([]Result, error) {
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Effect <= 0 {
		o.Effect = 10 * time.Second
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	// Short: scripts may keep sockets in it.
	dir, err := os.MkdirTemp("", "gcc")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	r := &run{o: o, ctx: ctx, path: o.Script, dir: dir, city: filepath.Join(dir, "city")}
	for _, kv := range o.Environ {
		if k, _, _ := strings.Cut(kv, "="); !slices.Contains(callers, k) {
			r.env = append(r.env, kv)
		}
	}
	r.env = append(r.env, "GC_EXEC_STATE_DIR="+filepath.Join(dir, "s"))
	defer r.stopAll()
	var results []Result
	for _, c := range rules() {
		if err := ctx.Err(); err != nil {
			return results, err
		}
		if o.Only != "" && c.op != o.Only && c.op != "protocol" {
			continue
		}
		result := r.apply(c)
		r.stopAll()
		results = append(results, result)
		if o.Done != nil {
			o.Done(result)
		}
	}
	return results, nil
}

// callers are variables that say who calls; each call has its own.
var callers = []string{
	"GC_SESSION", "GC_SESSION_ID", "GC_SESSION_NAME", "GC_CITY", "GC_CITY_PATH", "GC_CITY_NAME",
	"GC_SESSION_NAMESPACE", "GC_EXEC_STATE_DIR",
}

// skip is why a rule does not apply.
type skip string

func (s skip) Error() string { return string(s) }

func (r *run) apply(c rule) Result {
	r.last = ""
	r.city = filepath.Join(r.dir, "city")
	err := c.check(r)
	res := Result{Operation: c.op, Rule: c.text, Outcome: OK}
	var s skip
	switch {
	case err == nil:
		return res
	case errors.As(err, &s):
		res.Outcome, res.Detail = Skipped, string(s)
		return res
	case errors.Is(err, errMissing):
		res.Outcome, res.Detail, res.Advice = Missing, "exit status 2", without[c.op]
		if !slices.Contains(needed, c.op) {
			return res
		}
	default:
		res.Detail, res.Advice = err.Error(), c.advice
	}
	res.Outcome, res.Call = Fault, r.last
	return res
}

// needed are the operations that every script must have.
var needed = []string{"start", "stop", "is-running"}

// without is what callers do where an operation is not implemented.
var without = map[string]string{
	"start":             "callers cannot use the script",
	"stop":              "callers cannot end a session",
	"is-running":        "callers cannot tell what runs, and restart nothing",
	"protocol":          "callers take it that attach, keys, processes and metadata work",
	"list-running":      "callers ask each session that they know by is-running; they find no others",
	"peek":              "no readiness, no dialogs, no last words: callers see nothing",
	"nudge":             "messages are refused",
	"send-keys":         "callers answer no dialogs, and cannot take back a message that was not taken",
	"interrupt":         "a drain cannot interrupt",
	"process-alive":     "callers take a session for its agent: an agent that hangs in a shell looks alive",
	"set-meta":          "callers cannot recognise their sessions after a restart of their own",
	"get-meta":          "callers cannot recognise their sessions after a restart of their own",
	"remove-meta":       "callers set an empty value instead",
	"get-last-activity": "queued messages and idle timeouts may never come",
	"is-attached":       "callers may stop a session that a person uses",
	"attach":            "nobody can look at the session",
	"clear-scrollback":  "the scrollback stays",
	"copy-to":           "files are copied by the caller, on its own machine",
	"run-live":          "live commands are run by the caller",
	"exec":              "setup commands run on the caller's machine",
	"provision":         "pre-start commands run on the caller's machine",
	"relaunch":          "a changed command ends the session and starts another",
	"wait-idle":         "callers look at the screen instead",
	"last-exit":         "callers do not know how a session ended",
}

func (r *run) has(capability string) bool { return slices.Contains(r.caps, capability) }

// name returns a session name that nothing has.
func (r *run) name() string {
	r.count++
	return fmt.Sprintf("gc-check-%d-%d", os.Getpid(), r.count)
}

// stopAll ends what a rule left.
func (r *run) stopAll() {
	city := r.city
	for _, s := range r.started {
		r.city = s.city
		_, _ = r.call("stop", s.name, "") // rules about stop say what it does
	}
	r.started, r.city = nil, city
}

func rules() []rule {
	return slices.Concat(lifeRules, listRules, outputRules, inputRules, metaRules, configRules, boxRules)
}
