package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"gascity.dev/gc/internal/agent"
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

func runStop(ctx context.Context, a *app) error {
	city, err := a.loadCity()
	if err != nil {
		return err
	}
	c, err := controller.Dial(city.Dir)
	if errors.Is(err, controller.ErrNoController) {
		return a.stopOrphans(ctx)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Stop(ctx)
}

// stopOrphans ends the agents of a city whose controller is gone.
func (a *app) stopOrphans(ctx context.Context) error {
	o, err := a.controllerOptions()
	if err != nil {
		return err
	}
	specs, err := agent.Build(o.City, o.Build)
	if err != nil {
		return err
	}
	stopped := 0
	for _, s := range specs {
		owner, err := o.Provider.GetMeta(ctx, s.Session, agent.MetaCityPath)
		if err != nil {
			return err
		}
		if owner != o.City.Dir {
			continue
		}
		running, err := o.Provider.IsRunning(ctx, s.Session)
		if err != nil {
			return err
		}
		if err := o.Provider.Stop(ctx, s.Session); err != nil {
			return err
		}
		if running {
			stopped++
		}
	}
	fmt.Fprintf(a.err, "no controller was running; %d sessions stopped\n", stopped)
	return nil
}
