package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/internal/controller"
)

type startOptions struct {
	foreground bool
	once       bool
	until      string
	timeout    time.Duration
}

func newStartCmd(a *app) *cobra.Command {
	var o startOptions
	cmd := &cobra.Command{
		Use:   "start [DIR]",
		Short: "Start the city's agents and keep them running",
		Args:  between(0, 1),
		RunE: graceful(func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.city = args[0]
			}
			return runStart(cmd.Context(), a, o)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&o.foreground, "foreground", false, "stay, log what happens, and stop the city on Ctrl-C")
	f.BoolVar(&o.once, "once", false, "start what is missing and return; nobody watches the agents then")
	f.StringVar(&o.until, "until", "", "with --foreground: done (every one_shot agent has ended) or idle")
	f.DurationVar(&o.timeout, "timeout", 0, "with --until: give up after this long")
	return describe(cmd, `Starts a controller in the background, which starts the agents, dependencies
first, restarts them when they die, and follows changes of city.toml. Returns
when every agent was tried once, and shows them.`, `
		gc start
		gc start examples/demo
		gc start --foreground --until done --timeout 10m`,
		statuses{exitFailure: "failure: an agent did not start, the city is running already …", exitNotFound: "", exitTimeout: ""})
}

func runStart(ctx context.Context, a *app, o startOptions) error {
	switch {
	case o.foreground && o.once:
		return fail(exitUsage, "", "--foreground and --once exclude each other")
	case o.until != "" && !o.foreground:
		return fail(exitUsage, "gc start --foreground --until "+o.until, "--until needs --foreground")
	case o.timeout != 0 && o.until == "":
		return fail(exitUsage, "", "--timeout needs --until")
	case o.until != "" && o.until != string(controller.UntilDone) && o.until != string(controller.UntilIdle):
		return fail(exitUsage, "valid values: done, idle", "--until %s is not known", o.until)
	}
	opts, err := a.controllerOptions()
	if err != nil {
		return err
	}
	if !o.foreground && !o.once {
		status, err := launchController(ctx, opts)
		if err != nil {
			return err
		}
		return a.showStarted(ctx, status)
	}
	var last controller.Status
	opts.Once, opts.Until, opts.Timeout, opts.StopOnCancel = o.once, controller.Until(o.until), o.timeout, o.foreground
	opts.Ready = func(s controller.Status) { last = s }
	opts.Settled = func(_ context.Context, s controller.Status) error { last = s; return nil }
	if o.foreground {
		opts.Log = a.err
	}
	err = controller.Run(ctx, opts)
	if errors.Is(err, controller.ErrTimeout) {
		err = fail(exitTimeout, "gc status shows what is missing", "%v", err)
	}
	if err != nil {
		return err
	}
	if o.foreground && o.until == "" {
		return nil
	}
	return a.showStarted(ctx, last)
}

// showStarted prints the agents, and fails when one is not as it should be.
func (a *app) showStarted(ctx context.Context, s controller.Status) error {
	if err := a.printStatus(ctx, s); err != nil {
		return err
	}
	bad := 0
	for _, ag := range s.Agents {
		if ag.State == controller.StateCrashed || ag.State == controller.StateQuarantined || ag.Error != "" {
			a.explainAgent(ag)
			bad++
		}
	}
	if bad > 0 {
		return quiet(exitFailure)
	}
	return nil
}

// explainAgent tells a person why an agent is not as it should be: its last
// screen, the cause, the next step.
func (a *app) explainAgent(ag controller.AgentStatus) {
	if ag.LastScreen != "" {
		fmt.Fprintln(a.err, cleanText(ag.LastScreen))
	}
	why := ag.Error
	if why == "" && ag.LastExit != nil {
		why = string(ag.State) + " (" + exitText(ag.LastExit) + ")"
	}
	if why == "" {
		why = string(ag.State)
	}
	hint := ag.Hint
	if hint == "" {
		hint = "gc restart " + ag.Name + " tries again"
	}
	printError(a.err, "agent "+ag.Name+": "+why, hint)
}
