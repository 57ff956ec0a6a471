// Package check tests a script of the exec session protocol the way its callers use
// it: through the protocol, with real sessions, knowing nothing about the script.
//
// Its invariant: every finding names the operation, what was seen, the consequence
// for callers, and the call to repeat by hand. A script may lack operations; its
// answers must be true. It keeps nothing after the check. It serves authors of
// scripts (gc session-op check) and the tests of the scripts in contrib.
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
	Missing = "missing" // the script lacks the operation
	Skipped = "skipped" // not applicable, because of another finding or an undeclared capability
)

// Result is the result of one rule.
type Result struct {
	Operation string `json:"operation"`
	Rule      string `json:"rule"`
	Outcome   string `json:"outcome"`
	Detail    string `json:"detail,omitempty"` // what was seen
	Advice    string `json:"advice,omitempty"` // the consequence for callers
	Call      string `json:"call,omitempty"`   // the last call, for a shell
}

// Options configure a check.
type Options struct {
	Script  string   // path
	Environ []string // of the script; nil: this process's
	Only    string   // an operation; "" for all

	Timeout time.Duration // of one call; 0 = 30 s
	Effect  time.Duration // for an effect to be seen; 0 = 10 s
	Done    func(Result)  // of each rule as it ends; may be nil
}

// rule is one rule of docs/exec-protocol.md.
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
	dir  string // temporary, for this check
	city string // GC_CITY_PATH of the calls
	caps []string
	last string // the last call
	said string // standard error of the last start

	spoken  bool // it has a handshake
	broken  bool // start runs nothing
	started []session
	count   int
}

// session is a session that may still have to be stopped.
type session struct{ city, name string }

// Run checks the script and returns the result of every rule. It fails if the check
// itself could not be done.
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
	// Short, because scripts may keep sockets in it.
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

// callers are the variables that identify a caller; each call sets its own.
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

// without says what callers do if an operation is not implemented.
var without = map[string]string{
	"start":             "callers cannot use the script",
	"stop":              "callers cannot end a session",
	"is-running":        "callers do not know what runs, and restart nothing",
	"protocol":          "callers assume that attach, keys, processes and metadata work",
	"list-running":      "callers query each known session with is-running and find no others",
	"peek":              "callers see nothing: no prompt, no dialogs, no last output",
	"nudge":             "messages are refused",
	"send-keys":         "callers cannot answer dialogs, or remove a message that was not submitted",
	"interrupt":         "a drain cannot interrupt",
	"process-alive":     "callers assume that a running session has its agent, even if only a shell is left",
	"set-meta":          "callers cannot recognise their sessions after a restart",
	"get-meta":          "callers cannot recognise their sessions after a restart",
	"remove-meta":       "callers set an empty value instead",
	"get-last-activity": "queued messages may not be delivered, and idle timeouts may not fire",
	"is-attached":       "callers may stop a session that a person uses",
	"attach":            "people cannot attach",
	"clear-scrollback":  "the scrollback stays",
	"copy-to":           "files are copied by the caller, on its own machine",
	"run-live":          "live commands are run by the caller",
	"exec":              "setup commands run on the caller's machine",
	"provision":         "pre-start commands run on the caller's machine",
	"relaunch":          "a changed command ends the session and starts another",
	"wait-idle":         "callers read the screen instead",
	"last-exit":         "callers do not know how a session ended",
}

func (r *run) has(capability string) bool { return slices.Contains(r.caps, capability) }

// name returns an unused session name.
func (r *run) name() string {
	r.count++
	return fmt.Sprintf("gc-check-%d-%d", os.Getpid(), r.count)
}

// stopAll ends what a rule left running.
func (r *run) stopAll() {
	city := r.city
	for _, s := range r.started {
		r.city = s.city
		_, _ = r.call("stop", s.name, "") // rules about stop check its result
	}
	r.started, r.city = nil, city
}

func rules() []rule {
	return slices.Concat(lifeRules, listRules, outputRules, inputRules, metaRules, configRules, boxRules)
}
