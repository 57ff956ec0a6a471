package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/report"
	"gascity.dev/gc/cmd/gc/internal/words"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// background starts a controller in the background and waits until it has tried to
// start every agent. For a running city it only prints the status.
func (s *starting) background(ctx context.Context) error {
	before, _ := config.ReadIdentity(s.city.Dir)
	defer s.sayOwnNames(before)
	if status, err := runningStatus(ctx, s.city.Dir); err == nil {
		return s.alreadyRunning(ctx, status)
	}
	status, err := s.launch(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(s.app.Err, "the city continues to start: gc status shows it, gc stop stops it")
		return err
	case errors.Is(err, cityapi.ErrControllerRunning): // another gc start was faster
		status, none := awaitRunning(ctx, s.city.Dir)
		if none != nil {
			return err
		}
		return s.alreadyRunning(ctx, status)
	case err != nil:
		return err
	}
	return s.started(ctx, status)
}

// launch launches the controller, and shows what it waits for.
func (s *starting) launch(ctx context.Context) (cityapi.Status, error) {
	type result struct {
		status cityapi.Status
		err    error
	}
	done := make(chan result, 1)
	go func() {
		status, err := launchController(ctx, s.opts)
		done <- result{status, err}
	}()
	p := display.NewProgress(s.app.Err)
	defer p.Clear()
	tick := time.NewTicker(display.ProgressTick)
	defer tick.Stop()
	began := time.Now()
	for {
		select {
		case r := <-done:
			return r.status, r.err
		case <-tick.C:
			if p.Visible() {
				p.Show(startProgress(ctx, s.city.Dir, time.Since(began)))
			}
		}
	}
}

// sayOwnNames reports that another city has this one's name, if that was just
// discovered.
func (s *starting) sayOwnNames(before config.Identity) {
	if now, ok := config.ReadIdentity(s.city.Dir); ok && now.InNames && !before.InNames {
		fmt.Fprintf(s.app.Err, "%s: another city is also named %s: the session names of this one end in -%s\n", cli.Program, display.Line(s.city.Name()), now.ID)
	}
}

// alreadyRunning prints the status of a city that was running before.
func (s *starting) alreadyRunning(ctx context.Context, status cityapi.Status) error {
	fmt.Fprintf(s.app.Err, "city %s is already running\n", display.Line(status.City))
	report.Moved(&s.app.Console, s.city.Dir, status)
	return s.app.printStatus(ctx, status, cli.Listing{})
}

// runningStatus returns the status of the city's controller; ErrNoController if
// none is running.
func runningStatus(ctx context.Context, dir string) (cityapi.Status, error) {
	c, err := cityapi.Dial(dir)
	if err != nil {
		return cityapi.Status{}, err
	}
	defer c.Close()
	return c.Status(ctx)
}

// listenLimit is how long a controller may take from taking the city's lock to
// listening.
const listenLimit = 5 * time.Second

// awaitRunning is runningStatus for a controller that has just taken the lock.
func awaitRunning(ctx context.Context, dir string) (cityapi.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, listenLimit)
	defer cancel()
	tick := time.NewTicker(display.ProgressTick / 10)
	defer tick.Stop()
	for {
		s, err := runningStatus(ctx, dir)
		if err == nil {
			return s, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return s, err
		}
	}
}

// startProgress says which agents a start waits for, and why; "" if unknown.
func startProgress(ctx context.Context, dir string, since time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, display.ProgressTick)
	defer cancel()
	s, err := runningStatus(ctx, dir)
	if err != nil {
		return ""
	}
	var waits []string
	for _, ag := range s.Agents {
		if text := startWait(ag); text != "" {
			waits = append(waits, text)
		}
	}
	if len(waits) == 0 {
		return ""
	}
	return fmt.Sprintf("waiting for %s (%d s)", strings.Join(waits, ", "), int(since.Seconds()))
}

// startWait says what the agent's start waits for; "" if it is not waiting.
func startWait(ag cityapi.AgentStatus) string {
	switch {
	case ag.State == cityapi.StateStarting && ag.Activity == runtime.ActivityBlocked && ag.ActivityInfo != nil && ag.ActivityInfo.Pending != nil:
		question, _, _ := strings.Cut(ag.ActivityInfo.Pending.Prompt, "\n")
		return fmt.Sprintf("%s (blocked: %s)", ag.Name, question)
	case ag.State == cityapi.StateStarting:
		return ag.Name + " (starting)"
	case ag.WaitsFor != "":
		return fmt.Sprintf("%s (needs %s)", ag.Name, ag.WaitsFor)
	}
	return ""
}

// startAgent starts one agent of a running city.
func startAgent(ctx context.Context, a *app, name string, flags bool) error {
	if flags {
		return cli.Fail(cli.ExitUsage, "", "the flags of gc start apply to the whole city only")
	}
	c, names, err := a.city.controller(name)
	if err != nil {
		return err
	}
	defer c.Close()
	s, err := c.Status(ctx)
	if err != nil {
		return err
	}
	for _, ag := range s.Agents {
		if ag.Name != names[0] {
			continue
		}
		if ag.State == cityapi.StateRunning || ag.State == cityapi.StateStarting {
			fmt.Fprintf(a.Err, "%s is already %s\n", ag.Name, ag.State)
			return nil
		}
		if ag.SuspendedBy != "" {
			_, hint := words.Suspended(ag)
			return cli.Fail(cli.ExitFailure, hint, "agent %s is suspended", ag.Name)
		}
	}
	return c.Restart(ctx, names...)
}
