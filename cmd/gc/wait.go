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

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/runtime"
)

type waitOptions struct {
	until   []string
	timeout time.Duration
	json    bool
	all     bool // wait for all running ones
	each    bool // until each of them meets a condition

	exitStatus bool // exit with the program's status
}

// waitResult is what gc wait --json prints.
type waitResult struct {
	Name string        `json:"name,omitempty"`
	Met  string        `json:"met"` // the condition as given
	Exit *runtime.Exit `json:"exit,omitempty"`
}

func newWaitCmd(a *app, s scope) *cobra.Command {
	var o waitOptions
	cmd := &cobra.Command{
		Use:               "wait " + s.noun + "...",
		Short:             "Wait for text on the screen, a state, or the program's exit",
		ValidArgsFunction: s.complete,
		RunE: cli.Graceful(func(cmd *cobra.Command, args []string) error {
			if (len(args) > 0) == o.all {
				return cli.UsageError(cmd, "requires names or --all: "+cmd.UseLine())
			}
			targets, err := s.targets(cmd.Context(), args)
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
	f.StringArrayVar(&o.until, "until", []string{"exit"}, "wait for this `CONDITION`; repeat it to wait for the first of several")
	f.DurationVar(&o.timeout, "timeout", 0, "give up after this long (default: never)")
	f.BoolVar(&o.json, "json", false, "print the met condition as JSON")
	f.BoolVar(&o.all, "all", false, "wait for every running "+s.word)
	f.BoolVar(&o.exitStatus, "exit-status", false, "exit with the program's exit status when it ends (128+N after signal N)")
	f.BoolVar(&o.each, "each", false, "wait until each of several meets a condition, not the first")
	cli.CompleteFlag(cmd, "until", "exit", "idle", "done", "blocked", "stuck", "any-change", "text=", "quiet", "quiet=", "title=", "bell", "prompt")
	return cli.Describe(cmd, `Waits until a condition holds, without polling, and prints the condition:

  exit        the program ended
  idle        the program waits for input and asks no question: it reports idle or
              done, or shows its prompt on a still screen
  done        the program reports done, and no one has attached since
  blocked     the program asks a question or waits for a permission
  stuck       the program claims to work, and nothing moves (stuck_after of the agent)
  any-change  its activity changes, or it asks another question
  text=RE     a line of the screen matches the regular expression
  quiet       it is idle, and nothing runs in its background: no background command of
              gc, and nothing that the program reports beside itself
  quiet=2s    no output for this long
  title=RE    the window title matches
  bell        the bell rings
  prompt      a shell prompt is open (OSC 133)

With several names the first that meets a condition ends the wait and is printed;
with --each all of them must meet one.`, fmt.Sprintf(`
		%[1]s wait %[2]s
		%[1]s wait %[2]s --until 'text=^PASS' --until exit --timeout 10m
		%[1]s wait %[2]s --exit-status || echo it failed
		%[1]s wait %[2]s --until idle --until blocked --timeout 1h
		%[1]s wait --all --until blocked`, s.path, s.word),
		cli.Statuses{cli.ExitFailure: "failure, or the session ended before a condition held", cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: "", cli.ExitTimeout: ""})
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
	return printMet(ctx, &a.Console, t, o, met, false)
}

// conditions parses --until.
func (o *waitOptions) conditions() ([]runtime.Condition, error) {
	if o.timeout < 0 {
		return nil, cli.Fail(cli.ExitUsage, "", "--timeout %v is negative", o.timeout)
	}
	if o.exitStatus && !slices.Contains(o.until, "exit") {
		return nil, cli.Fail(cli.ExitUsage, "add --until exit", "--exit-status requires --until exit")
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

// forEver is the time limit of a wait without --timeout.
const forEver = 365 * 24 * time.Hour

// waitIdle waits with a provider that only supports waiting for idle.
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
	return printMet(ctx, &a.Console, t, o, 0, false)
}

// waitFailed is the error of a failed wait; it distinguishes a session that ended
// from one that never existed.
func waitFailed(ctx context.Context, t *target, o waitOptions, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return cli.Fail(cli.ExitTimeout, "gc peek shows the screen", "%s: %s did not happen within %v", t.label, strings.Join(o.until, ", "), o.timeout)
	}
	if !errors.Is(err, runtime.ErrSessionNotFound) {
		return err
	}
	if exit := lastExit(ctx, t); exit != nil {
		return cli.Fail(cli.ExitFailure, "", "%s ended (%s) before %s", t.label, exit.Status(), strings.Join(o.until, ", "))
	}
	return err
}

// printMet prints the met condition, with the name if there are several.
func printMet(ctx context.Context, c *cli.Console, t *target, o waitOptions, met int, named bool) error {
	res := waitResult{Name: t.label, Met: o.until[met]}
	if res.Met == "exit" {
		res.Exit = lastExit(ctx, t)
	}
	if o.json {
		return errors.Join(c.PrintJSON(res), o.statusOf(res.Exit))
	}
	line := res.Met
	if named {
		line = t.label + ": " + line
	}
	if res.Exit != nil {
		line += ": " + res.Exit.Status()
	}
	_, err := fmt.Fprintln(c.Out, display.Line(line))
	return errors.Join(err, o.statusOf(res.Exit))
}

// statusOf is the exit status of a wait with --exit-status.
func (o *waitOptions) statusOf(exit *runtime.Exit) error {
	switch {
	case !o.exitStatus || exit == nil:
		return nil
	case exit.Signal != "":
		return cli.Quiet(cli.ExitSignal + int(unix.SignalNum(exit.Signal)))
	case exit.Code < 0:
		return cli.Quiet(cli.ExitCannotTell)
	case exit.Code == 0:
		return nil
	}
	return cli.Quiet(exit.Code)
}

// lastExit is how the session ended, or nil if that is unknown.
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

// parseCondition parses one --until.
func parseCondition(s string) (runtime.Condition, error) {
	word, value, has := strings.Cut(s, "=")
	bad := func(format string, args ...any) (runtime.Condition, error) {
		return runtime.Condition{}, cli.Fail(cli.ExitUsage, "valid: exit, idle, done, blocked, stuck, any-change, text=RE, quiet, quiet=DURATION, title=RE, bell, prompt", format, args...)
	}
	if word == "quiet" && !has {
		return runtime.Condition{Free: true}, nil
	}
	if plain := slices.Contains([]string{"exit", "idle", "done", "blocked", "stuck", "any-change", "bell", "prompt"}, word); plain == has {
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
	case "stuck":
		return runtime.Condition{Stuck: true}, nil
	case "any-change":
		return runtime.Condition{Status: true}, nil
	case "bell":
		return runtime.Condition{Bell: true}, nil
	case "prompt":
		return runtime.Condition{Prompt: true}, nil
	case "quiet":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return bad("--until %s: requires a duration such as 2s", s)
		}
		return runtime.Condition{Quiet: d}, nil
	case "text", "title":
		if value == "" {
			return bad("--until %s: empty regular expression", s)
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
