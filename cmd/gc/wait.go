package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/runtime"
)

type waitOptions struct {
	until   []string
	timeout time.Duration
	json    bool
	all     bool // every one that runs
	each    bool // until every one of them has met a condition

	exitStatus bool // that of the program, when it ends
}

// waitResult is what gc wait --json prints.
type waitResult struct {
	Name string        `json:"name,omitempty"`
	Met  string        `json:"met"` // the condition as it was asked for
	Exit *runtime.Exit `json:"exit,omitempty"`
}

func newWaitCmd(a *app, s scope) *cobra.Command {
	var o waitOptions
	cmd := &cobra.Command{
		Use:               "wait " + s.noun + "...",
		Short:             "Wait until something is on the screen, or the program ends",
		ValidArgsFunction: s.complete,
		RunE: graceful(func(cmd *cobra.Command, args []string) error {
			if (len(args) > 0) == o.all {
				return usageError(cmd, "name one or more, or give --all: "+cmd.UseLine())
			}
			targets, err := a.waitTargets(cmd.Context(), s, args)
			if err != nil {
				return err
			}
			if len(targets) == 1 && !o.all {
				return runWait(cmd.Context(), a, targets[0], o)
			}
			return runWaitMany(cmd.Context(), a, targets, o)
		}),
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.until, "until", []string{"exit"}, "what to wait for; given several times, the first that holds counts")
	f.DurationVar(&o.timeout, "timeout", 0, "give up after this long (default: never)")
	f.BoolVar(&o.json, "json", false, "what was met as JSON")
	f.BoolVar(&o.all, "all", false, "every "+s.word+" that runs")
	f.BoolVar(&o.exitStatus, "exit-status", false, "when the program ends, end with its exit status (128+N after signal N)")
	f.BoolVar(&o.each, "each", false, "of several: until every one of them has met a condition, not the first")
	return describe(cmd, `Waits until a condition holds, told by the backend and not by polling, and
prints which one:

  exit        the program ended
  idle        the program waits for input: it says that it is idle or done, or its
              prompt stands and nothing moves, and it asks nothing
  done        the program says that it is done, and nobody has looked since
  blocked     the program asks something, or waits for a permission
  any-change  it begins or ends to do something, or asks another question
  text=RE     a line of the screen matches the regular expression
  quiet=2s    no output for this long
  title=RE    the window title matches
  bell        the bell rang
  prompt      a shell prompt is open (OSC 133)

Of several the first that meets a condition ends the wait, and its name is printed;
with --each all of them must.`, fmt.Sprintf(`
		%[1]s wait %[2]s
		%[1]s wait %[2]s --until 'text=^PASS' --until exit --timeout 10m
		%[1]s wait %[2]s --exit-status || echo it failed
		%[1]s wait %[2]s --until idle --until blocked --timeout 1h
		%[1]s wait --all --until blocked`, s.path, s.word),
		statuses{exitFailure: "failure, or the session ended before a condition held", exitNotFound: "", exitCannotTell: "", exitUnsupported: "", exitTimeout: ""})
}

func runWait(ctx context.Context, a *app, t *target, o waitOptions) error {
	conditions, err := o.conditions()
	if err != nil {
		return err
	}
	waiter, ok, err := runtime.AsFor[runtime.Waiter](ctx, t.provider, t.session)
	if err != nil {
		return err
	}
	if !ok && len(o.until) == 1 && conditions[0].Idle {
		return waitIdle(ctx, a, t, o)
	} else if !ok {
		return fmt.Errorf("wait: %w", runtime.ErrUnsupported)
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	met, err := waiter.WaitFor(ctx, t.session, conditions)
	if err != nil {
		return waitFailed(ctx, t, o, err)
	}
	return a.printWait(ctx, t, o, met)
}

// conditions are what is waited for.
func (o *waitOptions) conditions() ([]runtime.Condition, error) {
	if o.timeout < 0 {
		return nil, fail(exitUsage, "", "--timeout %v is negative", o.timeout)
	}
	if o.exitStatus && !slices.Contains(o.until, "exit") {
		return nil, fail(exitUsage, "add --until exit", "--exit-status needs a wait for the exit")
	}
	all := make([]runtime.Condition, len(o.until))
	for i, u := range o.until {
		c, err := parseCondition(u)
		if err != nil {
			return nil, err
		}
		all[i] = c
	}
	return all, nil
}

// forEver is the time limit of a wait that has none.
const forEver = 365 * 24 * time.Hour

// waitIdle is the wait of a provider that knows no other condition.
func waitIdle(ctx context.Context, a *app, t *target, o waitOptions) error {
	p, ok, err := runtime.AsFor[runtime.IdleWaitProvider](ctx, t.provider, t.session)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("wait --until idle: %w", runtime.ErrUnsupported)
	}
	if err := p.WaitForIdle(ctx, t.session, cmp.Or(o.timeout, forEver)); err != nil {
		return waitFailed(ctx, t, o, err)
	}
	return a.printWait(ctx, t, o, 0)
}

// waitFailed tells a session that ended meanwhile from one that never was.
func waitFailed(ctx context.Context, t *target, o waitOptions, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fail(exitTimeout, "gc peek shows the screen", "%s: %s did not happen within %v", t.label, strings.Join(o.until, ", "), o.timeout)
	}
	if !errors.Is(err, runtime.ErrSessionNotFound) {
		return err
	}
	if exit := lastExit(ctx, t); exit != nil {
		return fail(exitFailure, "", "%s ended (%s) before %s", t.label, exitText(exit), strings.Join(o.until, ", "))
	}
	return err
}

func (a *app) printWait(ctx context.Context, t *target, o waitOptions, met int) error {
	return a.printMet(ctx, t, o, met, false)
}

// printMet prints what was met, and of several by whom.
func (a *app) printMet(ctx context.Context, t *target, o waitOptions, met int, named bool) error {
	res := waitResult{Name: t.label, Met: o.until[met]}
	if res.Met == "exit" {
		res.Exit = lastExit(ctx, t)
	}
	if o.json {
		return errors.Join(a.printJSON(res), o.statusOf(res.Exit))
	}
	line := res.Met
	if named {
		line = t.label + ": " + line
	}
	if res.Exit != nil {
		line += ": " + exitText(res.Exit)
	}
	_, err := fmt.Fprintln(a.out, display.Line(line))
	return errors.Join(err, o.statusOf(res.Exit))
}

// statusOf ends a wait with --exit-status as the program ended.
func (o *waitOptions) statusOf(exit *runtime.Exit) error {
	switch {
	case !o.exitStatus || exit == nil:
		return nil
	case exit.Signal != "":
		return quiet(exitSignal + int(unix.SignalNum(exit.Signal)))
	case exit.Code < 0:
		return quiet(exitCannotTell)
	case exit.Code == 0:
		return nil
	}
	return quiet(exit.Code)
}

// lastExit is how the session ended, nil where that is not known.
func lastExit(ctx context.Context, t *target) *runtime.Exit {
	r, ok, err := runtime.AsFor[runtime.ExitReporter](ctx, t.provider, t.session)
	if !ok || err != nil {
		return nil
	}
	exit, err := r.LastExit(ctx, t.session)
	if err != nil {
		return nil
	}
	return exit
}

// parseCondition reads one --until.
func parseCondition(s string) (runtime.Condition, error) {
	word, value, has := strings.Cut(s, "=")
	bad := func(format string, args ...any) (runtime.Condition, error) {
		return runtime.Condition{}, fail(exitUsage, "valid: exit, idle, done, blocked, any-change, text=RE, quiet=DURATION, title=RE, bell, prompt", format, args...)
	}
	if plain := slices.Contains([]string{"exit", "idle", "done", "blocked", "any-change", "bell", "prompt"}, word); plain == has {
		return bad("--until %s: not a condition", s)
	}
	switch word {
	case "exit":
		return runtime.Condition{Exit: true}, nil
	case "idle":
		return runtime.Condition{Idle: true}, nil
	case "blocked":
		return runtime.Condition{Blocked: true}, nil
	case "done":
		return runtime.Condition{Done: true}, nil
	case "any-change":
		return runtime.Condition{Status: true}, nil
	case "bell":
		return runtime.Condition{Bell: true}, nil
	case "prompt":
		return runtime.Condition{Prompt: true}, nil
	case "quiet":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return bad("--until %s: want a duration such as 2s", s)
		}
		return runtime.Condition{Quiet: d}, nil
	case "text", "title":
		if value == "" {
			return bad("--until %s: the expression is empty", s)
		}
		if _, err := regexp.Compile(value); err != nil {
			return bad("--until %s: %v", s, err)
		}
		if word == "text" {
			return runtime.Condition{Text: value}, nil
		}
		return runtime.Condition{Title: value}, nil
	}
	return bad("--until %s: not a condition", s)
}
