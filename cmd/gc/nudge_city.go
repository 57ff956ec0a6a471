package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/away"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/follow"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// Delivery modes of gc nudge.
const (
	deliverWaitIdle  = "wait-idle" // when the agent is known to be idle
	deliverImmediate = "immediate"
	deliverQueue     = "queue" // like wait-idle, but the command does not wait
)

type agentNudgeOptions struct {
	nudgeOptions
	delivery string
	timeout  time.Duration
	ttl      time.Duration
	to       []string // agents, pools and rigs
	all      bool
	single   bool // to is the first argument
}

// newAgentNudgeCmd returns gc nudge: newNudgeCmd with the city's queue.
func newAgentNudgeCmd(a *app, s scope) *cobra.Command {
	var o agentNudgeOptions
	cmd := &cobra.Command{
		Use:               "nudge AGENT [TEXT|-]",
		Short:             "Type a message, submit it and report whether it was accepted",
		Args:              cli.Between(0, 2),
		ValidArgsFunction: s.complete,
		RunE: cli.Graceful(func(cmd *cobra.Command, args []string) error {
			if err := o.parse(cmd, a, args); err != nil {
				return err
			}
			return runAgentNudge(cmd.Context(), a, s, o)
		}),
	}
	o.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.delivery, "delivery", "", "deliver in this `MODE`: wait-idle, immediate or queue (default: wait-idle if the agent reports that it is working, else immediate)")
	f.StringSliceVar(&o.to, "to", nil, "send to these `AGENTS`, separated by commas; a pool or rig means all its running agents")
	f.BoolVar(&o.all, "all", false, "send to every running agent except the calling one")
	f.DurationVar(&o.timeout, "timeout", 0, "with wait-idle: leave the message in the queue after this long (default: wait)")
	f.DurationVar(&o.ttl, "ttl", session.DefaultTTL, "give up a queued message after this long")
	values := cobra.FixedCompletions([]string{deliverWaitIdle, deliverImmediate, deliverQueue}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("delivery", values) // the flag exists
	cli.Describe(cmd, receiptsHelp+`
  queued      it waits until the agent is idle (--delivery queue, or the timeout), or
              here for its city: from a session on another machine than the city's

`+interruptHelp+`

`+commandsHelp+`

With wait-idle and queue the message goes into the city's queue on disk. It is typed
in order, only when the agent is known to be idle (gc explain), and only into the
session that is running now. Ctrl-C drops a waiting message.

AGENT may be a pool or a rig. Several agents get the message at the same time; each
receipt follows the agent's name, and the command fails if one delivery fails.`, `
		gc nudge worker 'please run the tests'
		git diff | gc nudge worker -
		gc nudge worker 'and then the linter' --delivery queue
		gc nudge worker --interrupt 'stop: the tests are wrong'
		gc nudge --to worker,tester 'stop at five'
		gc nudge --all 'the branch is frozen' --delivery queue`,
		cli.Statuses{cli.ExitOK: "submitted; with --delivery queue: queued", cli.ExitFailure: "drafted, blocked, refused or dead", cli.ExitNotFound: "", cli.ExitCannotTell: "unverified; with --interrupt: perhaps during a turn", cli.ExitUnsupported: "", cli.ExitTimeout: "still queued after --timeout"})
	a.AddTo(cmd, []cli.Entry{
		{Name: "list", Make: func() *cobra.Command { return newNudgeListCmd(a) }},
		{Name: "drop", Make: func() *cobra.Command { return newNudgeDropCmd(a) }},
	})
	return cmd
}

// parse reads the arguments: [AGENT] [TEXT|-].
func (o *agentNudgeOptions) parse(cmd *cobra.Command, a *app, args []string) error {
	switch {
	case len(o.to) > 0 && o.all:
		return cli.UsageError(cmd, "cannot use --to with --all")
	case len(o.to) > 0 || o.all:
	case len(args) == 0:
		return cli.Between(1, 2)(cmd, args)
	default:
		o.to, args = args[:1], args[1:]
		o.single = true
	}
	if len(args) > 1 {
		return cli.UsageError(cmd, "with --to or --all the only argument is the text: gc nudge --to a,b TEXT")
	}
	if err := o.checkInterrupt(cmd); err != nil {
		return err
	}
	return o.takeText(cmd, a, args)
}

func runAgentNudge(ctx context.Context, a *app, s scope, o agentNudgeOptions) error {
	switch {
	case o.delivery != "" && o.delivery != deliverWaitIdle && o.delivery != deliverImmediate && o.delivery != deliverQueue:
		return unknownDelivery(o.delivery)
	case o.timeout < 0 || o.wait < 0 || o.ttl <= 0:
		return cli.Fail(cli.ExitUsage, "", "--timeout and --wait cannot be negative, and --ttl must be positive")
	}
	if a.city.away() {
		return a.nudgeAway(ctx, o)
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

// nudgeAway queues the message for agents of a city on another machine, which only the
// city's controller knows.
func (a *app) nudgeAway(ctx context.Context, o agentNudgeOptions) error {
	if o.all || o.delivery != "" && o.delivery != deliverQueue || o.timeout > 0 {
		return cli.Fail(cli.ExitUnsupported, "gc nudge AGENT TEXT queues the message", "the city of this session is on another machine: --all, --timeout and --delivery %s need an answer from it", cmp.Or(o.delivery, deliverWaitIdle))
	}
	if err := a.messageText(&target{label: strings.Join(o.to, ",")}, &o.nudgeOptions); err != nil {
		return err
	}
	receipts := make([]manyReceipt, 0, len(o.to))
	for _, name := range o.to {
		q := cityapi.QueueRequest{Agent: strings.TrimSpace(name), Text: o.text, TTL: o.ttl, Raw: o.raw, Interrupt: o.interrupt}
		r, err := a.tellAway(ctx, cityapi.Message{Kind: cityapi.MessageNudge, Nudge: &q})
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case o.single:
			return a.printAway(r, o.json)
		case !o.json:
			fmt.Fprintf(a.Out, "%s: %s\n", display.Line(name), r)
		}
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		receipts = append(receipts, manyReceipt{Agent: name, Receipt: b})
	}
	if o.json {
		return a.PrintJSON(receipts)
	}
	return nil
}

// tellAway sends a message of this session to its city on another machine.
func (a *app) tellAway(ctx context.Context, m cityapi.Message) (away.Receipt, error) {
	var err error
	if m.InsideRequest, err = insideAgent(); err != nil {
		return away.Receipt{}, err
	}
	e, err := a.city.far().Post(ctx, m)
	return away.ReceiptOf(e), err
}

// sayAway is tellAway, and prints the receipt.
func (a *app) sayAway(ctx context.Context, m cityapi.Message, asJSON bool) error {
	r, err := a.tellAway(ctx, m)
	if err != nil {
		return err
	}
	return a.printAway(r, asJSON)
}

func (a *app) printAway(r away.Receipt, asJSON bool) error {
	if asJSON {
		return a.PrintJSON(r)
	}
	_, err := fmt.Fprintln(a.Out, r)
	return err
}

// deliverTo types or queues the message for one agent.
func (a *app) deliverTo(ctx context.Context, t *target, o agentNudgeOptions) error {
	if o.interrupt {
		return a.redirect(ctx, t, o)
	}
	if o.delivery == "" {
		o.delivery = a.usualDelivery(ctx, t)
	}
	if o.delivery == deliverImmediate {
		return runNudge(ctx, a, t, o.nudgeOptions)
	}
	if err := a.messageText(t, &o.nudgeOptions); err != nil {
		return err
	}
	c, _, err := a.city.controller()
	if errors.Is(err, cityapi.ErrNoController) {
		return cli.Fail(cli.ExitNotFound, "gc start, or --delivery immediate", "%v", err)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return a.deliverQueued(ctx, c, t, o)
}

// usualDelivery is wait-idle for an agent that reports that it is working. Others
// are idle, or will never report it.
func (a *app) usualDelivery(ctx context.Context, t *target) string {
	p, ok := runtime.As[runtime.ActivityProvider](t.provider)
	if !ok {
		return deliverImmediate
	}
	if act, err := p.Activity(ctx, t.session); err != nil || act.State != runtime.ActivityWorking && act.State != runtime.ActivityStuck {
		return deliverImmediate
	}
	fmt.Fprintf(a.Err, "%s is working (--delivery immediate does not wait)\n", display.Line(t.label))
	return deliverWaitIdle
}

// deliverQueued queues the message and, unless the mode is queue, waits until it
// is delivered or given up.
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
	fmt.Fprintf(a.Err, "queued as %s: waiting until %s is idle (Ctrl-C drops the message)\n", shortID(n.ID), display.Line(t.label))
	if q, _, err := asked(ctx, t); err == nil && q != nil {
		a.sayBlocked(ctx, t, runtime.Receipt{By: "dialog"})
	}
	wait := ctx
	if o.timeout > 0 {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	n, err = c.AwaitNudge(wait, n, status.Seq)
	switch {
	case ctx.Err() != nil:
		if err := c.DropNudge(context.WithoutCancel(ctx), n.ID); err != nil {
			a.Warn("the message may still be delivered: %v", err)
		}
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		if err := a.printQueued(n, o.json); err != nil {
			return err
		}
		return cli.Quiet(cli.ExitTimeout)
	case err != nil:
		return err
	}
	r := receiptOf(n)
	if err := a.printReceipt(r, o.json); err != nil {
		return err
	}
	return receiptStatus(r)
}

// receiptOf is the receipt of a message that is no longer waiting.
func receiptOf(n session.Nudge) runtime.Receipt {
	r := runtime.Receipt{State: n.Receipt, By: n.Blocker, Detail: n.Detail, Changed: n.Changed, Interrupted: n.Interrupted}
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
		return a.PrintJSON(n)
	}
	line := "queued as " + shortID(n.ID)
	if n.Detail != "" {
		line += ": " + n.Detail
	}
	_, err := fmt.Fprintln(a.Out, display.Line(line))
	return err
}

// shortID is the id of a queued message without leading zeros.
func shortID(id string) string { return cmp.Or(strings.TrimLeft(id, "0"), "0") }

// nudged are the agents that a message is for. group is true unless they were
// given as the name of one agent.
func (a *app) nudged(ctx context.Context, o agentNudgeOptions) (names []string, group bool, err error) {
	if o.single && !a.isGroup(o.to[0]) {
		return o.to, false, nil
	}
	status, err := cityStatus(ctx, a)
	if err != nil {
		return nil, false, err
	}
	if o.all {
		caller := os.Getenv("GC_SESSION_NAME")
		names = running(status, func(ag cityapi.AgentStatus) bool { return ag.Session != caller })
		if len(names) == 0 {
			return nil, false, cli.Fail(cli.ExitNotFound, "gc status shows the agents", "no other agent is running")
		}
		return names, true, nil
	}
	for _, name := range o.to {
		found, err := a.expand(status, strings.TrimSpace(name))
		if err != nil {
			return nil, false, err
		}
		for _, n := range found {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names, true, nil
}

// isGroup reports whether a name means a pool or a rig of the city, not an agent.
func (a *app) isGroup(name string) bool {
	city, err := a.city.load()
	if err != nil {
		return false
	}
	if ag, ok := city.Agent(name); ok {
		return ag.Pool != nil && ag.Pool.Max != 0
	}
	for i := range city.Rigs {
		if city.Rigs[i].Name == name {
			return true
		}
	}
	return false
}

// expand returns the agents that a name means: the agent, or the running agents
// of a pool or rig.
func (a *app) expand(s cityapi.Status, name string) ([]string, error) {
	for _, ag := range s.Agents {
		if ag.Name == name {
			return []string{name}, nil
		}
	}
	var found []string
	isRig := slices.ContainsFunc(s.Rigs, func(r cityapi.RigStatus) bool { return r.Name == name })
	switch {
	case isRig || a.isGroup(name):
		found = running(s, func(ag cityapi.AgentStatus) bool {
			return isRig && strings.HasPrefix(ag.Name, name+"/") || ag.Pool != "" && (ag.Pool == name || strings.HasSuffix(ag.Pool, "/"+name))
		})
		if len(found) == 0 {
			return nil, cli.Fail(cli.ExitNotFound, "gc status shows the agents", "no agent of %s is running", name)
		}
		return found, nil
	}
	city, err := a.city.load()
	if err != nil {
		return nil, err
	}
	spec, err := findAgent(city, name)
	if err != nil {
		return nil, err
	}
	return []string{spec.Name()}, nil
}

// running are the names of the running agents for which meant is true.
func running(s cityapi.Status, meant func(cityapi.AgentStatus) bool) []string {
	var names []string
	for _, ag := range s.Agents {
		if ag.State == cityapi.StateRunning && meant(ag) {
			names = append(names, ag.Name)
		}
	}
	return names
}

// manyReceipt is the result of a message to one of several agents, as JSON: a
// receipt, a queued message or an error.
type manyReceipt struct {
	Agent   string          `json:"agent"`
	Receipt json.RawMessage `json:"receipt,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// oneOfMany is the delivery to one of several agents, with its own output.
type oneOfMany struct {
	app      *app
	out, err bytes.Buffer
	failed   error
}

// nudgeMany delivers a message to several agents at the same time.
func (a *app) nudgeMany(ctx context.Context, s scope, names []string, o agentNudgeOptions) error {
	if err := a.messageText(&target{label: strings.Join(names, ",")}, &o.nudgeOptions); err != nil {
		return err
	}
	all := make([]oneOfMany, len(names))
	var work sync.WaitGroup
	for i, name := range names {
		d := &all[i]
		t, err := s.target(ctx, name)
		d.app, d.failed = a.on(cli.Streams{In: a.In, Out: &d.out, Err: &d.err}), err
		d.app.agent = t
		if err == nil {
			work.Go(func() { d.failed = d.app.agentDown(ctx, d.app.deliverTo(ctx, t, o)) })
		}
	}
	work.Wait()
	a.agent = nil
	receipts := make([]manyReceipt, len(names))
	statuses := make([]int, len(names))
	for i, name := range names {
		receipts[i], statuses[i] = a.printOne(name, &all[i], o.json)
	}
	var err error
	if o.json {
		err = a.PrintJSON(receipts)
	}
	if worst := slices.Max(statuses); worst != cli.ExitOK {
		if slices.Contains(statuses, cli.ExitFailure) {
			worst = cli.ExitFailure
		}
		return errors.Join(err, cli.Quiet(worst))
	}
	return err
}

// printOne prints one delivery, with the agent's name before each line, and returns
// its receipt for JSON and its exit status.
func (a *app) printOne(name string, d *oneOfMany, asJSON bool) (manyReceipt, int) {
	status := cli.Report(&d.err, nil, d.failed)
	receipt := manyReceipt{Agent: name}
	var said cli.Quiet
	if text := bytes.TrimSpace(d.out.Bytes()); asJSON && json.Valid(text) {
		receipt.Receipt = json.RawMessage(text)
	} else if d.failed != nil && !errors.As(d.failed, &said) {
		receipt.Error = display.Line(d.failed.Error())
	}
	if !asJSON {
		for _, line := range follow.Lines(strings.TrimSpace(d.out.String())) {
			fmt.Fprintf(a.Out, "%s: %s\n", display.Line(name), line)
		}
	}
	for _, line := range follow.Lines(strings.TrimRight(d.err.String(), "\n")) {
		fmt.Fprintf(a.Err, "%s: %s\n", display.Line(name), line)
	}
	return receipt, status
}
