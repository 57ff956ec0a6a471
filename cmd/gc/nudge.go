package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

type nudgeOptions struct {
	text  string
	stdin bool
	json  bool
	raw   bool          // even if the program would run the text as a command
	wait  time.Duration // for a dialog or a draft to go away

	interrupt bool // end the turn first

	delivery string        // of gc session nudge; gc nudge has its own
	ttl      time.Duration // of a queued message
}

// receiptsHelp and commandsHelp are parts of the help of both nudge commands.
const (
	receiptsHelp = `Types the text as one message and submits it with Enter. No other input can come in
between, an open dialog is never answered, and the screen is checked afterwards.
Prints the receipt:

  submitted   the program accepted it
  drafted     it is in the composer, not submitted
  blocked     not typed: a dialog or a person's draft is in the way; the reason and how
              to answer it are printed (--wait D waits for it to go away)
  refused     the session accepts no input
  dead        the session ended first
  unverified  typed and entered, but the result cannot be seen (echo is off)

An agent over ACP gets the message itself, not keys: submitted means that it has the
message, and blocked that it is working (by turn) or waits for an answer (by question).`
	interruptHelp = `--interrupt ends the turn that runs (interrupt_keys of the preset, else Ctrl-C; over ACP
it is cancelled), waits until it is seen to have ended, and then delivers the message,
ahead of those that wait. An open question is cancelled. The receipt says what is known:
"the turn was interrupted", "no turn was running", or, for a program that does not show
what it does, "cannot tell". If the turn does not end, the message is blocked by turn.`
	commandsHelp = `A message that an agent of a city would run as a command (!ls, /clear) is changed so
that it arrives as text, and the receipt says so; --raw types it as it is.`
)

func newNudgeCmd(a *app, s scope) *cobra.Command {
	var o nudgeOptions
	cmd := &cobra.Command{
		Use:               "nudge " + s.noun + " [TEXT|-]",
		Short:             "Type a message, submit it and report whether it was accepted",
		Args:              cli.Between(1, 2),
		ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.takeText(cmd, a, args[1:]); err != nil {
				return err
			}
			if err := o.checkInterrupt(cmd); err != nil {
				return err
			}
			t, err := s.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			switch o.delivery {
			case deliverImmediate:
				return runNudge(cmd.Context(), a, t, o)
			case deliverWaitIdle, deliverQueue:
				return a.deliverToSession(cmd.Context(), t, o)
			}
			return unknownDelivery(o.delivery)
		},
	}
	o.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.delivery, "delivery", deliverImmediate, "deliver in this `MODE`: immediate, wait-idle or queue")
	f.DurationVar(&o.ttl, "ttl", 0, "give up a queued message after this long (default 24h)")
	values := cobra.FixedCompletions([]string{deliverImmediate, deliverWaitIdle, deliverQueue}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("delivery", values) // the flag exists
	return cli.Describe(cmd, receiptsHelp+`

`+interruptHelp+`

`+commandsHelp+`

With --delivery wait-idle the message is typed when the program is known to be idle;
with queue the command does not wait for that (gc session queue). A waiting message
is on disk and is only for this session, not for a later one with the same name.`, fmt.Sprintf(`
		%[1]s nudge %[2]s 'please run the tests'
		%[1]s nudge %[2]s 'and then the linter' --delivery queue
		%[1]s nudge %[2]s --interrupt 'stop: the tests are wrong'
		git diff | %[1]s nudge %[2]s -`, s.path, s.word),
		cli.Statuses{cli.ExitOK: "submitted; with --delivery queue: queued", cli.ExitFailure: "drafted, blocked, refused or dead", cli.ExitNotFound: "", cli.ExitCannotTell: "unverified; with --interrupt: perhaps during a turn", cli.ExitUnsupported: ""})
}

// addFlags adds the flags that both nudge commands have.
func (o *nudgeOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print the receipt, or the queued message, as JSON")
	f.DurationVar(&o.wait, "wait", 0, "wait this long for a dialog or a person's draft to go away")
	f.BoolVar(&o.interrupt, "interrupt", false, "end the turn that runs, then deliver at once")
	f.BoolVar(&o.raw, "raw", false, "type the text as it is, even if the agent would run it as a command: !ls, /clear")
}

// checkInterrupt rejects flags that contradict --interrupt.
func (o *nudgeOptions) checkInterrupt(cmd *cobra.Command) error {
	for _, flag := range []string{"delivery", "wait", "timeout", "ttl"} {
		if o.interrupt && cmd.Flags().Changed(flag) {
			return cli.UsageError(cmd, "cannot use --interrupt with --"+flag)
		}
	}
	return nil
}

// takeText takes the message from the arguments [TEXT|-].
func (o *nudgeOptions) takeText(cmd *cobra.Command, a *app, args []string) (err error) {
	o.text, o.stdin, err = a.Message(cmd, args)
	return err
}

func unknownDelivery(mode string) error {
	return cli.Fail(cli.ExitUsage, "valid values: wait-idle, immediate, queue", "unknown delivery mode %q", mode)
}

// messageText reads the message if it is on standard input, and rejects an empty
// one.
func (a *app) messageText(t *target, o *nudgeOptions) error {
	if o.stdin {
		text, err := a.ReadMessage()
		if err != nil {
			return err
		}
		o.text, o.stdin = strings.TrimRight(text, "\n"), false
	}
	if o.text == "" {
		return cli.Fail(cli.ExitUsage, a.pathOf(t)+" keys "+t.label+" Enter presses only Enter", "the message is empty")
	}
	return nil
}

func runNudge(ctx context.Context, a *app, t *target, o nudgeOptions) error {
	if err := a.messageText(t, &o); err != nil {
		return err
	}
	r, err := nudgeWithin(ctx, t, o)
	if err != nil {
		return err
	}
	return a.reportNudge(ctx, t, r, o.json)
}

// reportNudge prints the receipt, and what to do if the message was not delivered.
func (a *app) reportNudge(ctx context.Context, t *target, r runtime.Receipt, asJSON bool) error {
	if err := a.printReceipt(r, asJSON); err != nil {
		return err
	}
	if r.State == runtime.Blocked {
		a.sayBlocked(ctx, t, r)
	}
	if r.State == runtime.Refused {
		if why := a.requiresLogin(ctx, t); why != nil {
			return why
		}
	}
	return receiptStatus(r)
}

// nudgeRetry is how often a blocked nudge tries again.
const nudgeRetry = 250 * time.Millisecond

// nudgeWithin types at once; while it is blocked, it tries again for --wait.
func nudgeWithin(ctx context.Context, t *target, o nudgeOptions) (runtime.Receipt, error) {
	if o.interrupt {
		return nudgeInterrupt(ctx, t, o)
	}
	now, ok, err := runtime.AsFor[runtime.ImmediateNudgeProvider](ctx, t.provider, t.session)
	if err != nil {
		return runtime.Receipt{}, err
	}
	if !ok {
		return t.provider.Nudge(ctx, t.session, o.content())
	}
	for end := time.Now().Add(o.wait); ; {
		r, err := now.NudgeNow(ctx, t.session, o.content())
		if err != nil || r.State != runtime.Blocked || time.Now().After(end) {
			return r, err
		}
		select {
		case <-time.After(nudgeRetry):
		case <-ctx.Done():
			return r, context.Cause(ctx)
		}
	}
}

// nudgeInterrupt ends the turn and delivers.
func nudgeInterrupt(ctx context.Context, t *target, o nudgeOptions) (runtime.Receipt, error) {
	p, ok, err := runtime.AsFor[runtime.InterruptNudgeProvider](ctx, t.provider, t.session)
	if err == nil && !ok {
		err = cli.Fail(cli.ExitUnsupported, "gc interrupt and gc wait --until idle, then gc nudge", "nudge --interrupt to %s: %w", t.label, runtime.ErrUnsupported)
	}
	if err != nil {
		return runtime.Receipt{}, err
	}
	return p.NudgeInterrupt(ctx, t.session, o.content())
}

// redirect ends the agent's turn and delivers the message: by the controller, so that no
// message that waits for the end of the turn comes first; without one, directly.
func (a *app) redirect(ctx context.Context, t *target, o agentNudgeOptions) error {
	c, _, err := a.city.controller()
	if errors.Is(err, cityapi.ErrNoController) {
		return runNudge(ctx, a, t, o.nudgeOptions)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if err := a.messageText(t, &o.nudgeOptions); err != nil {
		return err
	}
	if err := mustExist(ctx, t); err != nil {
		return err
	}
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	n, err := c.Queue(ctx, cityapi.QueueRequest{Agent: t.label, Text: o.text, TTL: o.ttl, Raw: o.raw, Interrupt: true})
	if err != nil {
		return err
	}
	n, err = c.AwaitNudge(ctx, n, status.Seq)
	if err != nil || n.State != session.NudgeDelivered { // it is not delivered later without a word
		_ = c.DropNudge(context.WithoutCancel(ctx), n.ID) // the receipt tells
	}
	if err != nil {
		return err
	}
	return a.reportNudge(ctx, t, receiptOf(n), o.json)
}

// interrupted are the words for what is known about an interrupted turn.
var interrupted = map[string]string{
	runtime.InterruptEnded:      "the turn was interrupted",
	runtime.InterruptNone:       "no turn was running",
	runtime.InterruptUnverified: "interrupted; cannot tell whether a turn has ended",
}

// pathOf is the command whose subcommands act on the target.
func (a *app) pathOf(t *target) string {
	if t == a.agent {
		return cli.Program
	}
	return cli.Program + " session"
}

// sayBlocked prints what blocks a message, and a hint.
func (a *app) sayBlocked(ctx context.Context, t *target, r runtime.Receipt) {
	if r.By == "turn" && r.Interrupted != "" {
		fmt.Fprintf(a.Err, "hint: %s peek %s shows what it does\n", a.pathOf(t), display.Line(shell.Word(t.label)))
		return
	}
	if r.By != "dialog" && r.By != "question" {
		fmt.Fprintln(a.Err, "hint: --wait 1m waits for it to go away")
		return
	}
	path := a.pathOf(t)
	name := shell.Word(t.label)
	q, _, err := asked(ctx, t)
	if err != nil || q == nil {
		fmt.Fprintf(a.Err, "hint: %s peek %s shows the screen; answer with %s attach %s\n", path, display.Line(name), path, display.Line(name))
		return
	}
	fmt.Fprint(a.Err, questionText(q))
	a.shown(ctx, t, q)
	answer := "--text ANSWER"
	if !takesText(q) {
		answer = "--option " + shell.Word(suggested(q))
	}
	fmt.Fprintf(a.Err, "hint: %s pending %s shows the question; answer with %s respond %s %s; --wait 1m waits for an answer\n",
		path, display.Line(name), path, display.Line(name), display.Line(answer))
}

// content is the message for the provider.
func (o *nudgeOptions) content() []runtime.ContentBlock {
	if o.raw {
		return runtime.RawContent(o.text)
	}
	return runtime.TextContent(o.text)
}

func (a *app) printReceipt(r runtime.Receipt, asJSON bool) error {
	if asJSON {
		return a.PrintJSON(r)
	}
	line := string(r.State)
	if r.By != "" {
		line += " by " + r.By
	}
	if r.Detail != "" && r.State != runtime.Submitted {
		line += ": " + r.Detail
	}
	for _, note := range []string{interrupted[r.Interrupted], r.Changed} {
		if note != "" {
			line += " (" + note + ")"
		}
	}
	_, err := fmt.Fprintln(a.Out, display.Line(line))
	return err
}

// receiptStatus is the exit status of a receipt: only submitted is success.
func receiptStatus(r runtime.Receipt) error {
	switch r.State {
	case runtime.Submitted:
		if r.Interrupted == runtime.InterruptUnverified {
			return cli.Quiet(cli.ExitCannotTell)
		}
		return nil
	case runtime.Unverified:
		return cli.Quiet(cli.ExitCannotTell)
	}
	return cli.Quiet(cli.ExitFailure)
}
