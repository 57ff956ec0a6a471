package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"gascity.dev/gc/internal/controller"
)

func newStopCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "stop [DIR|AGENT]",
		Short:             "Stop the city, or one agent",
		Args:              between(0, 1),
		ValidArgsFunction: a.completeAgents,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if st, err := os.Stat(args[0]); err != nil || !st.IsDir() {
					return runAgentStop(cmd.Context(), a, args)
				}
				a.city = args[0]
			}
			return runStop(cmd.Context(), a)
		},
	}
	return describe(cmd, `Interrupts every agent, waits up to shutdown_timeout of the city, ends what is
left, dependents first, and then the controller. Returns when all of it is gone.
A name that is no folder but an agent stops that agent alone; it stays down
until gc restart, or the next gc start. A city that is not running is no error.`, `
		gc stop
		gc stop worker`, statuses{exitNotFound: "", exitCannotTell: ""})
}

// runStop needs no config that can be read: a controller that runs has its own.
func runStop(ctx context.Context, a *app) error {
	dir, err := a.cityDir()
	if err != nil {
		return err
	}
	c, err := controller.Dial(dir)
	if errors.Is(err, controller.ErrNoController) {
		return a.stopOrphans(ctx, dir)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Stop(ctx)
}

// stopOrphans ends the agents of a city whose controller is gone. A city that
// was never started has no state, and nothing is made for it.
func (a *app) stopOrphans(ctx context.Context, dir string) error {
	if _, err := os.Stat(controller.StateDir(dir)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	o, err := a.controllerOptions()
	if err != nil {
		return err
	}
	return controller.StopCity(ctx, o)
}
