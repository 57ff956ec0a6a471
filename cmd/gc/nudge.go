package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

// maxMessage is the longest message read from standard input, in bytes.
const maxMessage = 1 << 20

type nudgeOptions struct {
	text  string
	stdin bool
	json  bool
	raw   bool          // also what is a command to the program
	wait  time.Duration // for a dialog or a draft to go away

	delivery string        // of gc session nudge; gc nudge has its own
	ttl      time.Duration // of a message in the queue
}

func newNudgeCmd(a *app, s scope) *cobra.Command {
	var o nudgeOptions
	cmd := &cobra.Command{
		Use:               "nudge " + s.noun + " [TEXT|-]",
		Short:             "Type a message and submit it, and say whether it was taken",
		Args:              between(1, 2),
		ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.stdin = len(args) == 1 || args[1] == "-"
			if !o.stdin {
				o.text = args[1]
			}
			if len(args) == 1 && a.interactive() {
				return usageError(cmd, "no text: give it as an argument, or pipe it in")
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
			return fail(exitUsage, "valid values: immediate, wait-idle, queue", "--delivery %s is not known", o.delivery)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "the receipt as JSON; with --delivery queue the entry in the queue")
	f.DurationVar(&o.wait, "wait", 0, "how long a dialog or a person's draft may stand in the way (default: say at once what does)")
	f.BoolVar(&o.raw, "raw", false, "type it as it is, also what is a command to the agent: !ls, /clear")
	f.StringVar(&o.delivery, "delivery", deliverImmediate, "immediate, wait-idle or queue")
	f.DurationVar(&o.ttl, "ttl", 0, "how long a message may wait before it is a dead letter (default 24h)")
	values := cobra.FixedCompletions([]string{deliverImmediate, deliverWaitIdle, deliverQueue}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("delivery", values) // the flag is there
	return describe(cmd, `Delivers the text as one message and submits it with Enter. No other input gets
in between, an open dialog is never answered, and the screen is read afterwards.
Prints the receipt:

  submitted   the program took it
  drafted     it stands in the composer, not submitted
  blocked     not typed: a dialog or a person's draft was in the way; it says at once
              which, and how to answer it (--wait D waits for it to go away)
  refused     the session takes no input
  dead        the session ended first
  unverified  typed and entered, but nothing could be seen (echo is off)

A message that an agent of a city would take as a command (!ls, /clear) is marked so
that it arrives as text, and the receipt says so; --raw sends it as it is.

With --delivery wait-idle it is typed when the program is known to be idle, and not
before; with queue the command does not wait for that (gc session queue). A message
that waits is on disk, and for this session only, not for a later one of the name.`, fmt.Sprintf(`
		%[1]s nudge %[2]s 'please run the tests'
		%[1]s nudge %[2]s 'and then the linter' --delivery queue
		git diff | %[1]s nudge %[2]s -`, s.path, s.word),
		statuses{exitOK: "submitted; with --delivery queue: queued", exitFailure: "drafted, blocked, refused or dead", exitNotFound: "", exitCannotTell: "unverified"})
}

// messageText reads the message from standard input where it comes from there.
func (a *app) messageText(t *target, o *nudgeOptions) error {
	if o.stdin {
		text, err := a.readMessage()
		if err != nil {
			return err
		}
		o.text, o.stdin = strings.TrimRight(text, "\n"), false
	}
	if o.text == "" {
		return fail(exitUsage, a.pathOf(t)+" keys "+t.label+" Enter presses Enter alone", "the message is empty")
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
	if err := a.printReceipt(r, o.json); err != nil {
		return err
	}
	if r.State == runtime.Blocked {
		a.sayBlocked(ctx, t, r)
	}
	return receiptStatus(r)
}

// nudgeRetry is how often a nudge that waits tries again.
const nudgeRetry = 250 * time.Millisecond

// nudgeWithin types at once, or tries again for as long as it may wait.
func nudgeWithin(ctx context.Context, t *target, o nudgeOptions) (runtime.Receipt, error) {
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

// pathOf is the command whose sub-commands act on the target.
func (a *app) pathOf(t *target) string {
	if t == a.agent {
		return program
	}
	return program + " session"
}

// sayBlocked shows what stands in the way of a message, and the next step.
func (a *app) sayBlocked(ctx context.Context, t *target, r runtime.Receipt) {
	if r.By != "dialog" {
		fmt.Fprintln(a.err, "hint: --wait 1m waits for it to go away")
		return
	}
	path := a.pathOf(t)
	name := shell.Word(t.label)
	q, _, err := asked(ctx, t)
	if err != nil || q == nil {
		fmt.Fprintf(a.err, "hint: %s peek %s shows its screen, %s attach %s answers it\n", path, display.Line(name), path, display.Line(name))
		return
	}
	fmt.Fprint(a.err, questionText(q))
	a.shown(ctx, t, q)
	answer := "--text ANSWER"
	if len(q.Options) > 0 {
		answer = "--option " + shell.Word(q.Options[0])
	}
	fmt.Fprintf(a.err, "hint: %s pending %s shows it, such as %s respond %s %s answers it; --wait 1m waits for an answer\n",
		path, display.Line(name), path, display.Line(name), display.Line(answer))
}

// content is the message for a provider.
func (o *nudgeOptions) content() []runtime.ContentBlock {
	if o.raw {
		return runtime.RawContent(o.text)
	}
	return runtime.TextContent(o.text)
}

func (a *app) printReceipt(r runtime.Receipt, asJSON bool) error {
	if asJSON {
		return a.printJSON(r)
	}
	line := string(r.State)
	if r.By != "" {
		line += " by " + r.By
	}
	if r.Detail != "" && r.State != runtime.Submitted {
		line += ": " + r.Detail
	}
	if r.Changed != "" {
		line += " (" + r.Changed + ")"
	}
	_, err := fmt.Fprintln(a.out, display.Line(line))
	return err
}

// receiptStatus: only submitted is success.
func receiptStatus(r runtime.Receipt) error {
	switch r.State {
	case runtime.Submitted:
		return nil
	case runtime.Unverified:
		return quiet(exitCannotTell)
	}
	return quiet(exitFailure)
}

// readMessage reads standard input, up to maxMessage.
func (a *app) readMessage() (string, error) {
	text, err := io.ReadAll(io.LimitReader(a.in, maxMessage+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(text) > maxMessage {
		return "", fail(exitUsage, "put it in a file and nudge its path", "the text is larger than %d bytes", maxMessage)
	}
	return string(text), nil
}
