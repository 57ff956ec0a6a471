package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/report"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/controller"
	cityapi "gascity.dev/gc/internal/controller/api"
)

type stopOptions struct {
	timeout time.Duration
	now     bool
}

func newStopCmd(a *app) *cobra.Command {
	var o stopOptions
	cmd := &cobra.Command{
		Use:               "stop [DIR|AGENT]",
		Short:             "Stop the city or one agent",
		Args:              cli.Between(0, 1),
		ValidArgsFunction: a.city.completeAgents,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if len(args) == 1 {
				if st, err := os.Stat(args[0]); err != nil || !st.IsDir() {
					return stopAgent(cmd.Context(), a, args, o)
				}
				a.city.flag = args[0]
			}
			return runStop(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.timeout, "timeout", 0, "kill the agents after this long (default: shutdown_timeout of the city)")
	f.BoolVar(&o.now, "now", false, "kill at once")
	return cli.Describe(cmd, `Interrupts agents that are working, then sends SIGHUP to all agents, dependents
first, as a closing terminal does, and kills agents that are still running after
shutdown_timeout, which is one deadline for all of them. Then it stops the
controller. A second Ctrl-C kills at once.

If the argument is an agent and not a directory, it stops only that agent, until
gc restart or the next gc start. Stopping a city that is not running succeeds.`, `
		gc stop
		gc stop worker
		gc stop --timeout 30s
		gc stop --now`, cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: ""})
}

func (o *stopOptions) check() error {
	switch {
	case o.timeout < 0:
		return cli.Fail(cli.ExitUsage, "", "--timeout %v is negative", o.timeout)
	case o.now && o.timeout != 0:
		return cli.Fail(cli.ExitUsage, "", "cannot use --now with --timeout")
	}
	return nil
}

func (o *stopOptions) request() cityapi.StopRequest {
	return cityapi.StopRequest{Timeout: clock.Millis(o.timeout), Now: o.now}
}

func stopAgent(ctx context.Context, a *app, names []string, o stopOptions) error {
	if o != (stopOptions{}) {
		return cli.Fail(cli.ExitUsage, "", "--timeout and --now apply to the whole city only")
	}
	return runAgentStop(ctx, a, names)
}

// runStop does not read city.toml while a controller runs, so a broken one is
// fine.
func runStop(ctx context.Context, a *app, o stopOptions) error {
	dir, err := a.city.dir()
	if err != nil {
		return err
	}
	c, err := cityapi.Dial(dir)
	if errors.Is(err, cityapi.ErrNoController) {
		return stopOrphans(ctx, a, dir)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if err := stopCity(ctx, a.Err, c, o); !errors.Is(err, cityapi.ErrNoController) {
		return err
	}
	return stopOrphans(ctx, a, dir) // it ended meanwhile, perhaps killed
}

// stopCity asks the controller to stop and shows what it waits for. The first
// Ctrl-C prints a hint, the second kills the agents, the third exits.
func stopCity(ctx context.Context, stderr io.Writer, c *cityapi.Client, o stopOptions) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)
	done := make(chan error, 2)
	stop := func(r cityapi.StopRequest) { done <- c.Stop(ctx, r) }
	go stop(o.request())
	p := display.NewProgress(stderr)
	defer p.Clear()
	tick := time.NewTicker(display.ProgressTick)
	defer tick.Stop()
	began, interrupts := time.Now(), 0
	for {
		select {
		case err := <-done:
			return err
		case <-signals:
			p.Clear()
			switch interrupts++; interrupts {
			case 1:
				fmt.Fprintln(stderr, "still stopping; Ctrl-C again kills the remaining agents")
			case 2:
				fmt.Fprintln(stderr, "killing the remaining agents")
				go stop(cityapi.StopRequest{Now: true})
			default:
				return cli.Quiet(128 + int(syscall.SIGINT))
			}
		case <-tick.C:
			if p.Visible() {
				p.Show(stopProgress(ctx, c, time.Since(began)))
			}
		}
	}
}

// stopProgress says which agents a stop waits for; "" if unknown.
func stopProgress(ctx context.Context, c *cityapi.Client, since time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, display.ProgressTick)
	defer cancel()
	s, err := c.Status(ctx)
	if err != nil {
		return ""
	}
	var names []string
	for _, ag := range s.Agents {
		if ag.Stopping {
			names = append(names, ag.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("waiting for %s (%d s)", strings.Join(names, ", "), int(since.Seconds()))
}

// stopOrphans stops the agents of a city whose controller died. It does nothing
// for a city that was never started.
func stopOrphans(ctx context.Context, a *app, dir string) error {
	if _, err := os.Stat(cityapi.StateDir(dir)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	o, err := a.controllerOptions()
	if err != nil {
		return err
	}
	return controller.StopCity(ctx, o)
}

func newRestartCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "restart [AGENT...]",
		Short:             "Restart agents, or all of them",
		ValidArgsFunction: a.city.completeEveryAgent,
		RunE:              func(cmd *cobra.Command, args []string) error { return runRestart(cmd.Context(), a, args) },
	}
	return cli.Describe(cmd, `Stops the agents and starts them again, whatever state they are in; without names,
all agents. It ends a quarantine and does not count against the restart budget.
Returns when the starts are done.`, `
		gc restart worker
		gc restart`, cli.Statuses{cli.ExitFailure: "failure, or an agent did not start", cli.ExitNotFound: "no such agent, city or controller"})
}

func runRestart(ctx context.Context, a *app, names []string) error {
	c, names, err := a.city.controller(names...)
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
	report.Suspended(&a.Console, status, func(ag cityapi.AgentStatus) bool { return isAmong(ag, names) })
	return nil
}
