package main

import (
	"context"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/report"
	cityapi "gascity.dev/gc/internal/controller/api"
)

func newSuspendCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "suspend",
		Short: "Stop every agent until gc resume; the controller stays",
		Args:  cli.Exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runSuspend(cmd.Context(), a, nil) },
	}
	return cli.Describe(cmd, `Drains every agent (one interrupt, then at most drift_drain_timeout) and starts none
until gc resume, even across gc stop and gc start. Returns once this is stored;
gc status shows the drains. gc agent suspend and gc rig suspend stop fewer agents.`, `
		gc suspend
		gc resume`, cli.Statuses{cli.ExitNotFound: "no city, or no controller"})
}

func newResumeCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Start the agents of a suspended city again",
		Args:  cli.Exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runResume(cmd.Context(), a, nil) },
	}
	return cli.Describe(cmd, `Undoes gc suspend. Agents and rigs that were suspended by name or in city.toml stay
suspended; a warning names them.`, "gc resume", cli.Statuses{cli.ExitNotFound: "no city, or no controller"})
}

func newAgentSuspendCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "suspend AGENT...",
		Short:             "Stop agents until gc agent resume",
		Args:              cli.Between(1, -1),
		ValidArgsFunction: a.city.completeEveryAgent,
		RunE:              func(cmd *cobra.Command, args []string) error { return runSuspend(cmd.Context(), a, args) },
	}
	return cli.Describe(cmd, `Drains the agents (one interrupt, then at most drift_drain_timeout) and keeps them
down until gc agent resume, even across gc stop and gc start. The name of a pool means
all its members, including those that its check asks for later. Returns once this is
stored.`, `
		gc agent suspend worker
		gc agent suspend worker tester`, cli.Statuses{cli.ExitNotFound: "no such agent, city or controller"})
}

func newAgentResumeCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "resume AGENT...",
		Short:             "Start suspended, stopped or drained agents again",
		Args:              cli.Between(1, -1),
		ValidArgsFunction: a.city.completeEveryAgent,
		RunE:              func(cmd *cobra.Command, args []string) error { return runResume(cmd.Context(), a, args) },
	}
	return cli.Describe(cmd, `Undoes gc agent suspend, gc agent stop and gc runtime drain. A warning names agents
that stay down because their rig, the city or city.toml suspends them.`,
		"gc agent resume worker", cli.Statuses{cli.ExitNotFound: "no such agent, city or controller"})
}

// runSuspend suspends agents; without names, the city.
func runSuspend(ctx context.Context, a *app, names []string) error {
	c, names, err := a.city.controller(names...)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Suspend(ctx, names...)
}

// runResume undoes runSuspend and warns about agents that stay suspended.
func runResume(ctx context.Context, a *app, names []string) error {
	c, names, err := a.city.controller(names...)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Resume(ctx, names...); err != nil {
		return err
	}
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	report.Suspended(&a.Console, status, func(ag cityapi.AgentStatus) bool {
		return len(names) == 0 || isAmong(ag, names)
	})
	return nil
}

// isAmong reports whether names contains the agent or its pool.
func isAmong(ag cityapi.AgentStatus, names []string) bool {
	for _, n := range names {
		if n == ag.Name || n == ag.Pool {
			return true
		}
	}
	return false
}
