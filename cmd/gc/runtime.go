package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	cityapi "gascity.dev/gc/internal/controller/api"
)

func newRuntimeCmd(a *app) *cobra.Command {
	return a.Group("runtime", "Drain or restart an agent from inside its session",
		`An agent that is no longer wanted is drained: it gets one Ctrl-C and may finish its
work. The agent asks with drain-check whether it is draining, and agrees to be stopped
with drain-ack, or simply exits. GC_AGENT, GC_CITY_PATH and GC_INSTANCE_TOKEN identify
the session's agent; drain, undrain and drain-check also take a name, from anywhere.

On another machine than the city's, what needs no answer (drain, undrain, drain-ack,
request-restart) is queued on disk there, and reaches the city once when it can.`, `
		gc runtime drain-check && gc runtime drain-ack
		gc runtime request-restart`,
		[]cli.Entry{
			{Name: "drain", Make: func() *cobra.Command { return newRuntimeDrainCmd(a) }},
			{Name: "undrain", Make: func() *cobra.Command { return newRuntimeUndrainCmd(a) }},
			{Name: "drain-check", Make: func() *cobra.Command { return newRuntimeDrainCheckCmd(a) }},
			{Name: "drain-ack", Make: func() *cobra.Command { return newRuntimeDrainAckCmd(a) }},
			{Name: "request-restart", Make: func() *cobra.Command { return newRuntimeRestartCmd(a) }},
		})
}

// insideAgent is the agent in whose session this process runs.
func insideAgent() (cityapi.InsideRequest, error) {
	q := cityapi.InsideRequest{Agent: os.Getenv("GC_AGENT"), Token: os.Getenv("GC_INSTANCE_TOKEN")}
	if q.Agent == "" {
		return q, cli.Fail(cli.ExitUsage, "gc agent and gc restart work outside a session", "not in an agent's session: GC_AGENT is not set")
	}
	return q, nil
}

// aboutSelf sends the city a request of a kind about the agent of this session; ask sends
// it to the controller.
func aboutSelf(ctx context.Context, a *app, kind string, ask func(*cityapi.Client, context.Context, cityapi.InsideRequest) error) error {
	q, err := insideAgent()
	if err != nil {
		return err
	}
	queued, err := a.city.tell(ctx, cityapi.Message{Kind: kind, InsideRequest: q}, func(c *cityapi.Client) error { return ask(c, ctx, q) })
	if queued != nil {
		fmt.Fprintln(a.Err, queued)
	}
	return err
}

func newRuntimeDrainCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "drain [AGENT...]",
		Short:             "Let agents finish and exit; they stay down",
		ValidArgsFunction: a.city.completeEveryAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return aboutSelf(cmd.Context(), a, cityapi.MessageDrain, (*cityapi.Client).DrainSelf)
			}
			return runRuntimeDrain(cmd.Context(), a, args, (*cityapi.Client).Drain)
		},
	}
	return cli.Describe(cmd, `Sends one Ctrl-C; then the agent may exit or agree to be stopped (drain-ack). After
drift_drain_timeout it is stopped. It stays down until undrain, gc restart, gc agent
resume or the next gc start. Without a name, drains the agent of this session.`, `
		gc runtime drain
		gc runtime drain worker-2`, cli.Statuses{cli.ExitNotFound: "no such agent, city or controller"})
}

func newRuntimeUndrainCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "undrain [AGENT...]",
		Short:             "Cancel a drain, or start drained agents again",
		ValidArgsFunction: a.city.completeEveryAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return aboutSelf(cmd.Context(), a, cityapi.MessageUndrain, func(c *cityapi.Client, ctx context.Context, q cityapi.InsideRequest) error {
					return c.Undrain(ctx, q.Agent)
				})
			}
			return runRuntimeDrain(cmd.Context(), a, args, (*cityapi.Client).Undrain)
		},
	}
	return cli.Describe(cmd, `Undoes gc runtime drain: cancels the drain, or starts the agent if it has exited. It
does not cancel drains caused by a config change.`, "gc runtime undrain worker-2",
		cli.Statuses{cli.ExitNotFound: "no such agent, city or controller"})
}

func runRuntimeDrain(ctx context.Context, a *app, names []string, act func(*cityapi.Client, context.Context, ...string) error) error {
	c, names, err := a.city.controller(names...)
	if err != nil {
		return err
	}
	defer c.Close()
	return act(c, ctx, names...)
}

func newRuntimeDrainCheckCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "drain-check [AGENT]",
		Short:             "Report whether an agent is draining",
		Args:              cli.Between(0, 1),
		ValidArgsFunction: a.city.completeAgents,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			return runRuntimeDrainCheck(cmd.Context(), a, name, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: since, until, why, acked; null without a drain")
	return cli.Describe(cmd, `Prints the reason for the agent's drain and the time it has left. Without a name,
reports on the agent of this session. Agents call it between two pieces of work.`, `
		gc runtime drain-check && exit 0
		gc runtime drain-check worker-2 --json`,
		cli.Statuses{cli.ExitOK: "draining", cli.ExitFailure: "not draining, or failure", cli.ExitNotFound: "no such agent, city or controller"})
}

func runRuntimeDrainCheck(ctx context.Context, a *app, name string, asJSON bool) error {
	if name == "" {
		q, err := insideAgent()
		if err != nil {
			return err
		}
		name = q.Agent
	}
	c, names, err := a.city.controller(name)
	if err != nil {
		return err
	}
	defer c.Close()
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	for _, ag := range status.Agents {
		if ag.Name == names[0] {
			return printDrain(&a.Console, ag, asJSON)
		}
	}
	return fmt.Errorf("%w: %s", cityapi.ErrUnknownAgent, names[0])
}

func printDrain(c *cli.Console, ag cityapi.AgentStatus, asJSON bool) error {
	var err error
	switch {
	case asJSON:
		err = c.PrintJSON(ag.Drain)
	case ag.Drain != nil:
		left := max(time.Until(ag.Drain.Until), 0).Round(time.Second)
		_, err = fmt.Fprintf(c.Out, "draining: %s, %s left\n", display.Line(ag.Drain.Why), left)
	}
	if err == nil && ag.Drain == nil {
		return cli.Quiet(cli.ExitFailure)
	}
	return err
}

func newRuntimeDrainAckCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drain-ack",
		Short: "Agree to be stopped now, during a drain",
		Args:  cli.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return aboutSelf(cmd.Context(), a, cityapi.MessageDrainAck, (*cityapi.Client).AckDrain)
		},
	}
	return cli.Describe(cmd, `Tells the controller that the agent of this session has finished its work, so that it
stops the session at once.`, "gc runtime drain-check && gc runtime drain-ack",
		cli.Statuses{cli.ExitFailure: "failure, not draining, or another instance is running", cli.ExitNotFound: "no city or controller"})
}

func newRuntimeRestartCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "request-restart",
		Short: "Ask to be stopped and started again",
		Args:  cli.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return aboutSelf(cmd.Context(), a, cityapi.MessageRestart, (*cityapi.Client).RequestRestart)
		},
	}
	return cli.Describe(cmd, `Stops the session of this agent and starts it again with the current config, for
example when its context is full. It does not count against the restart budget.
Returns when the request is stored; the stop follows soon after.`, "gc runtime request-restart",
		cli.Statuses{cli.ExitFailure: "failure, or another instance is running", cli.ExitNotFound: "no city or controller"})
}
