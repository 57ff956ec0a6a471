package main

import (
	"context"

	"github.com/spf13/cobra"

	cityapi "gascity.dev/gc/internal/controller/api"
)

func newRestartCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "restart [AGENT...]",
		Short:             "Stop and start agents again, or all of them",
		ValidArgsFunction: a.completeEveryAgent,
		RunE:              func(cmd *cobra.Command, args []string) error { return runRestart(cmd.Context(), a, args) },
	}
	return describe(cmd, `Ends the agents and starts them again, whatever state they are in; it clears
quarantine and counts against no budget. Without names it is every agent.
Returns when the starts are done.`, `
		gc restart worker
		gc restart`, statuses{exitFailure: "failure, or an agent did not start", exitNotFound: "no such agent, city or controller"})
}

func runRestart(ctx context.Context, a *app, names []string) error {
	c, names, err := a.cityController(names...)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Restart(ctx, names...); err != nil {
		return err
	}
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	a.warnSuspended(status, func(ag cityapi.AgentStatus) bool { return isAmong(ag, names) })
	return nil
}
