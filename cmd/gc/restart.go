package main

import (
	"context"

	"github.com/spf13/cobra"

	"gascity.dev/gc/internal/controller"
)

func newRestartCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restart [AGENT...]",
		Short: "Stop and start agents again, or all of them",
		ValidArgsFunction: func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return a.agentNames(prefix), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runRestart(cmd.Context(), a, args) },
	}
	return describe(cmd, `Ends the agents and starts them again, whatever state they are in; it clears
quarantine and counts against no budget. Without names it is every agent.
Returns when the starts are done.`, `
		gc restart worker
		gc restart`, statuses{exitFailure: "failure, or an agent did not start", exitNotFound: "no such agent, city or controller"})
}

func runRestart(ctx context.Context, a *app, names []string) error {
	city, err := a.loadCity()
	if err != nil {
		return err
	}
	qualified, err := a.qualify(city, names)
	if err != nil {
		return err
	}
	c, err := controller.Dial(city.Dir)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Restart(ctx, qualified...)
}
