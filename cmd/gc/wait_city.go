package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

type agentWaitOptions struct {
	waitOptions
	wake string
	note string
}

// newAgentWaitCmd returns gc wait: newWaitCmd with waits that the city stores.
func newAgentWaitCmd(a *app, s scope) *cobra.Command {
	cmd, o := newWaitCmd(a, s), &agentWaitOptions{}
	cmd.Long = strings.Replace(cmd.Long, "\n\nExit status:", `

With --wake the command returns at once: the city stores the wait (exit, idle, text
or quiet), across restarts, and nudges the agent when the condition is met. gc wait
list lists stored waits.

Exit status:`, 1)
	cmd.Example += "\n  " + `gc wait tester --until exit --wake worker --note 'read the results'`
	f := cmd.Flags()
	f.StringVar(&o.wake, "wake", "", "do not wait; the city nudges this `AGENT` when the condition is met")
	f.StringVar(&o.note, "note", "", "with --wake: the message to the agent")
	_ = cmd.RegisterFlagCompletionFunc("wake", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return a.city.agentNames(cmd.Context(), prefix), cobra.ShellCompDirectiveNoFileComp
	}) // the flag exists
	block := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case o.wake == "" && o.note != "":
			return cli.UsageError(cmd, "--note requires --wake")
		case o.wake == "":
			return block(cmd, args)
		case cmd.Flags().Changed("timeout"):
			return cli.UsageError(cmd, "cannot use --wake with --timeout: a stored wait lasts until its condition is met")
		}
		until, err := cmd.Flags().GetStringArray("until")
		if err != nil {
			return err
		}
		asJSON, err := cmd.Flags().GetBool("json")
		if err != nil {
			return err
		}
		o.until, o.json = until, asJSON
		if len(args) != 1 {
			return cli.UsageError(cmd, "--wake requires one agent to wait for")
		}
		return runStoreWait(cmd.Context(), a, args[0], *o)
	}
	a.AddTo(cmd, []cli.Entry{
		{Name: "list", Make: func() *cobra.Command { return newWaitListCmd(a) }},
		{Name: "drop", Make: func() *cobra.Command { return newWaitDropCmd(a) }},
	})
	return cmd
}

func runStoreWait(ctx context.Context, a *app, name string, o agentWaitOptions) error {
	if len(o.until) != 1 {
		return cli.Fail(cli.ExitUsage, "store one wait per condition", "--wake accepts only one --until")
	}
	if _, err := cityapi.ParseUntil(o.until[0]); err != nil {
		return cli.Fail(cli.ExitUsage, cityapi.Hint(err), "%v", err)
	}
	q := cityapi.WaitRequest{Agent: name, Until: o.until[0], Wake: o.wake, Note: o.note}
	if a.city.away() {
		return a.sayAway(ctx, cityapi.Message{Kind: cityapi.MessageWait, Wait: &q}, o.json)
	}
	c, names, err := a.city.controller(name, o.wake)
	if err != nil {
		return err
	}
	defer c.Close()
	q.Agent, q.Wake = names[0], names[1]
	w, err := c.StoreWait(ctx, q)
	if err != nil {
		return err
	}
	if o.json {
		return a.PrintJSON(w)
	}
	_, err = fmt.Fprintf(a.Out, "stored as %s\n", shortID(w.ID))
	return err
}

func newWaitListCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List stored waits whose conditions are not met",
		Args:  cli.Exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runWaitList(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cli.Describe(cmd, "Lists the waits stored by gc wait --wake. A met wait becomes a message in gc nudge\nlist.", `
		gc wait list
		gc wait list --json`, cli.Statuses{cli.ExitNotFound: "no city or controller"})
}

func runWaitList(ctx context.Context, a *app, asJSON bool) error {
	c, _, err := a.city.controller()
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Waits(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(append([]session.Wait{}, list...))
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Err, "no waits")
		return nil
	}
	now := time.Now()
	t := a.Table(cli.Listing{})
	t.Add("ID", "AGENT", "UNTIL", "WAKES", "AGE", "NOTE")
	for _, w := range list {
		t.Add(shortID(w.ID), w.Agent, w.Until, w.Wake, display.Ago(w.Created, now), cmp.Or(w.Detail, w.Note))
	}
	return t.Print(a.Out)
}

func newWaitDropCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drop ID...",
		Short: "Remove stored waits",
		Args:  cli.Between(1, -1),
		RunE:  func(cmd *cobra.Command, args []string) error { return runWaitDrop(cmd.Context(), a, args) },
	}
	return cli.Describe(cmd, "Removes stored waits without nudging their agents.", "gc wait drop 3", cli.Statuses{cli.ExitNotFound: "no such wait, city or controller"})
}

func runWaitDrop(ctx context.Context, a *app, ids []string) error {
	c, _, err := a.city.controller()
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Waits(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		i := slices.IndexFunc(list, func(w session.Wait) bool { return shortID(w.ID) == shortID(id) })
		if i < 0 {
			return cli.Fail(cli.ExitNotFound, "gc wait list", "no wait %s", id)
		}
		if err := c.DropWait(ctx, list[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// waited is the result of the wait for one of several targets.
type waited struct {
	t   *target
	met int
	err error
}

// runWaitMany waits for the first of several targets, or for each of them.
func runWaitMany(ctx context.Context, a *app, targets []*target, o waitOptions) error {
	conditions, err := o.conditions()
	if err != nil {
		return err
	}
	limited, cancel := context.WithCancel(ctx)
	if o.timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, o.timeout)
	}
	ends := make(chan waited)
	for _, t := range targets {
		go func() {
			met, err := waitOne(limited, t, conditions)
			ends <- waited{t, met, err}
		}()
	}
	open := len(targets)
	defer func() { // wait for every goroutine
		cancel()
		for ; open > 0; open-- {
			<-ends
		}
	}()
	var failed error
	for open > 0 {
		w := <-ends
		open--
		switch {
		case w.err == nil:
			err := printMet(ctx, &a.Console, w.t, o, w.met, true)
			if status := cli.Quiet(0); !o.each || err != nil && !errors.As(err, &status) {
				return err
			}
			failed = cmp.Or(failed, err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			one := waitFailed(ctx, w.t, o, w.err)
			if o.each || errors.Is(w.err, context.DeadlineExceeded) {
				return manyFailed(targets, o, w.err, one)
			}
			a.Warn("%v", one)
			failed = cli.Quiet(cli.ExitFailure)
		}
	}
	return failed
}

// manyFailed is the error of a wait for several targets: that of one of them, or
// the timeout.
func manyFailed(targets []*target, o waitOptions, err, one error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return one
	}
	return cli.Fail(cli.ExitTimeout, "gc status shows them", "%s of %s did not happen within %v",
		strings.Join(o.until, ", "), display.Count(len(targets), "session"), o.timeout)
}

// waitOne waits for one of several targets.
func waitOne(ctx context.Context, t *target, conditions []runtime.Condition) (met int, err error) {
	w, ok, err := runtime.AsFor[runtime.Waiter](ctx, t.provider, t.session)
	switch {
	case err != nil:
		return 0, err
	case ok:
		return w.WaitFor(ctx, t.session, conditions)
	case len(conditions) > 1 || !conditions[0].Idle:
		return 0, fmt.Errorf("wait for %s: %w", t.label, runtime.ErrUnsupported)
	}
	p, ok, err := runtime.AsFor[runtime.IdleWaitProvider](ctx, t.provider, t.session)
	if err == nil && !ok {
		err = fmt.Errorf("wait for %s: %w", t.label, runtime.ErrUnsupported)
	}
	if err != nil {
		return 0, err
	}
	return 0, p.WaitForIdle(ctx, t.session, forEver)
}
