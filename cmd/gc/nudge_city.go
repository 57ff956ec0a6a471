package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// Deliveries of gc nudge.
const (
	deliverWaitIdle  = "wait-idle" // when the agent is known to be idle
	deliverImmediate = "immediate"
	deliverQueue     = "queue" // as wait-idle, and the command does not wait
)

type agentNudgeOptions struct {
	nudgeOptions
	delivery string
	timeout  time.Duration
	ttl      time.Duration
	to       []string // agents, pools and rigs
	all      bool
	single   bool // to is one name, the first argument
}

// newAgentNudgeCmd is gc nudge: newNudgeCmd with the city's queue.
func newAgentNudgeCmd(a *app, s scope) *cobra.Command {
	var o agentNudgeOptions
	cmd := &cobra.Command{
		Use:               "nudge AGENT [TEXT|-]",
		Short:             "Type a message and submit it, and say whether it was taken",
		Args:              between(0, 2),
		ValidArgsFunction: s.complete,
		RunE: graceful(func(cmd *cobra.Command, args []string) error {
			switch {
			case len(o.to) > 0 && o.all:
				return usageError(cmd, "--to and --all exclude each other")
			case len(o.to) > 0 || o.all:
			case len(args) == 0:
				return between(1, 2)(cmd, args)
			default:
				o.to, args = args[:1], args[1:]
				o.single = true
			}
			if len(args) > 1 {
				return usageError(cmd, "--to and --all take the text alone: gc nudge --to a,b TEXT")
			}
			o.stdin = len(args) == 0 || args[0] == "-"
			if !o.stdin {
				o.text = args[0]
			}
			if len(args) == 0 && a.interactive() {
				return usageError(cmd, "no text: give it as an argument, or pipe it in")
			}
			return runAgentNudge(cmd.Context(), a, s, o)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "the receipt as JSON; of a message that stays queued its entry in the queue")
	f.StringVar(&o.delivery, "delivery", "", "wait-idle, immediate or queue (default: wait-idle when the agent says that it works, else immediate)")
	f.DurationVar(&o.wait, "wait", 0, "how long a dialog or a person's draft may stand in the way (default: say at once what does)")
	f.BoolVar(&o.raw, "raw", false, "type it as it is, also what is a command to the agent: !ls, /clear")
	f.StringSliceVar(&o.to, "to", nil, "`AGENTS`, with commas between them; the name of a pool or a rig is every one of it that runs")
	f.BoolVar(&o.all, "all", false, "to every agent that runs, but the one that calls")
	f.DurationVar(&o.timeout, "timeout", 0, "with wait-idle: leave it in the queue after this long (default: wait on)")
	f.DurationVar(&o.ttl, "ttl", session.DefaultTTL, "how long a message may wait before it is a dead letter")
	values := cobra.FixedCompletions([]string{deliverWaitIdle, deliverImmediate, deliverQueue}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("delivery", values) // the flag is there
	describe(cmd, `Delivers the text as one message and submits it with Enter. No other input gets
in between, an open dialog is never answered, and the screen is read afterwards.
Prints the receipt:

  submitted   the program took it
  drafted     it stands in the composer, not submitted
  blocked     not typed: a dialog or a person's draft was in the way; it says at once
              which, and how to answer it (--wait D waits for it to go away)
  refused     the session takes no input
  dead        the session ended first
  unverified  typed and entered, but nothing could be seen (echo is off)
  queued      it waits until the agent is idle (--delivery queue, or the timeout)

A message that the agent would take as a command (!ls, /clear) is marked so that it
arrives as text, and the receipt says so; --raw sends it as it is.

wait-idle and queue put it into the city's queue: on disk, in order, for the session
that runs now and no later one. They type only into an agent that is known to be idle
(gc explain). Ctrl-C takes a waiting message back.

AGENT may be a pool or a rig. To several agents the message goes at the same time,
each receipt stands behind its agent, and the command fails when one of them does.`, `
		gc nudge worker 'please run the tests'
		git diff | gc nudge worker -
		gc nudge worker 'and then the linter' --delivery queue
		gc nudge --to worker,tester 'stop at five'
		gc nudge --all 'the branch is frozen' --delivery queue`,
		statuses{exitOK: "submitted; with --delivery queue: queued", exitFailure: "drafted, blocked, refused or dead", exitNotFound: "", exitCannotTell: "unverified", exitTimeout: "still queued after --timeout"})
	a.addTo(cmd, []entry{
		{"list", "", func() *cobra.Command { return newNudgeListCmd(a) }},
		{"drop", "", func() *cobra.Command { return newNudgeDropCmd(a) }},
	})
	return cmd
}

func runAgentNudge(ctx context.Context, a *app, s scope, o agentNudgeOptions) error {
	switch {
	case o.delivery != "" && o.delivery != deliverWaitIdle && o.delivery != deliverImmediate && o.delivery != deliverQueue:
		return fail(exitUsage, "valid values: wait-idle, immediate, queue", "--delivery %s is not known", o.delivery)
	case o.timeout < 0 || o.wait < 0 || o.ttl <= 0:
		return fail(exitUsage, "", "a time limit must be positive")
	}
	names, group, err := a.nudged(ctx, o)
	if err != nil {
		return err
	}
	if !group {
		t, err := s.target(ctx, names[0])
		if err != nil {
			return err
		}
		return a.deliverTo(ctx, t, o)
	}
	return a.nudgeMany(ctx, s, names, o)
}

// deliverTo types or queues the message for one agent.
func (a *app) deliverTo(ctx context.Context, t *target, o agentNudgeOptions) error {
	if o.delivery == "" {
		o.delivery = a.usualDelivery(ctx, t)
	}
	if o.delivery == deliverImmediate {
		return runNudge(ctx, a, t, o.nudgeOptions)
	}
	if err := a.messageText(t, &o.nudgeOptions); err != nil {
		return err
	}
	c, _, err := a.cityController()
	if errors.Is(err, cityapi.ErrNoController) {
		return fail(exitNotFound, "gc start, or --delivery immediate", "%v", err)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return a.deliverQueued(ctx, c, t, o)
}

// usualDelivery waits for an agent that says that it works; about the others
// there is nothing to wait for: they are idle, or will never tell.
func (a *app) usualDelivery(ctx context.Context, t *target) string {
	p, ok := runtime.As[runtime.ActivityProvider](t.provider)
	if !ok {
		return deliverImmediate
	}
	if act, err := p.Activity(ctx, t.session); err != nil || act.State != runtime.ActivityWorking {
		return deliverImmediate
	}
	fmt.Fprintf(a.err, "%s is working (--delivery immediate does not wait)\n", display.Line(t.label))
	return deliverWaitIdle
}

// deliverQueued puts the message into the queue, and waits for its end unless
// it shall only be queued.
func (a *app) deliverQueued(ctx context.Context, c *cityapi.Client, t *target, o agentNudgeOptions) error {
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	n, err := c.Queue(ctx, cityapi.QueueRequest{Agent: t.label, Text: o.text, TTL: o.ttl, Raw: o.raw})
	if err != nil {
		return err
	}
	if o.delivery == deliverQueue {
		return a.printQueued(n, o.json)
	}
	fmt.Fprintf(a.err, "queued as %s: waiting until %s is idle (Ctrl-C takes it back)\n", shortID(n.ID), display.Line(t.label))
	if q, _, err := asked(ctx, t); err == nil && q != nil {
		a.sayBlocked(ctx, t, runtime.Receipt{By: "dialog"})
	}
	wait := ctx
	if o.timeout > 0 {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	n, err = awaitNudge(wait, c, n, status.Seq)
	switch {
	case ctx.Err() != nil:
		if err := c.DropNudge(context.WithoutCancel(ctx), n.ID); err != nil {
			a.warn("the message may still be delivered: %v", err)
		}
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		if err := a.printQueued(n, o.json); err != nil {
			return err
		}
		return quiet(exitTimeout)
	case err != nil:
		return err
	}
	r := receiptOf(n)
	if err := a.printReceipt(r, o.json); err != nil {
		return err
	}
	return receiptStatus(r)
}

// errNudgeOver ends the wait of awaitNudge.
var errNudgeOver = errors.New("the message was delivered or given up")

// awaitNudge returns when the message was delivered or given up. Events after
// seq tell of it.
func awaitNudge(ctx context.Context, c *cityapi.Client, n session.Nudge, seq uint64) (session.Nudge, error) {
	look := func() error {
		list, err := c.Nudges(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		for _, one := range list {
			switch {
			case one.ID != n.ID:
			case one.Ended.IsZero():
				n = one
				return nil
			default:
				n = one
				return errNudgeOver
			}
		}
		return fail(exitFailure, "gc nudge list", "the message was dropped from the queue")
	}
	err := c.Events(ctx, seq, true, func(e cityapi.Event) error {
		if e.Kind != cityapi.EventNudge || e.Agent != n.Agent {
			return nil
		}
		return look()
	})
	if ctx.Err() != nil && !errors.Is(err, errNudgeOver) {
		if err = look(); err == nil {
			err = ctx.Err()
		}
	}
	switch {
	case errors.Is(err, errNudgeOver):
		return n, nil
	case err == nil:
		err = fail(exitNotFound, "gc start delivers it, gc nudge list shows it", "the controller has ended; the message is still queued")
	}
	return n, err
}

// receiptOf is what became of a message, as a receipt.
func receiptOf(n session.Nudge) runtime.Receipt {
	r := runtime.Receipt{State: n.Receipt, Detail: n.Detail, Changed: n.Changed}
	switch {
	case n.State == session.NudgeDelivered && r.State == "":
		r.State = runtime.Submitted
	case n.State == session.NudgeDead && (r.State == "" || r.State == runtime.Submitted):
		r.State = runtime.Dead
	}
	return r
}

func (a *app) printQueued(n session.Nudge, asJSON bool) error {
	if asJSON {
		return a.printJSON(n)
	}
	line := "queued as " + shortID(n.ID)
	if n.Detail != "" {
		line += ": " + n.Detail
	}
	_, err := fmt.Fprintln(a.out, display.Line(line))
	return err
}

// shortID is an id of the queue without its leading zeros.
func shortID(id string) string { return cmp.Or(strings.TrimLeft(id, "0"), "0") }
