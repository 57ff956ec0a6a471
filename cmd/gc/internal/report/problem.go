package report

import (
	"cmp"
	"fmt"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/outcome"
)

// Problems explains the agents that have a problem, and fails if there are any.
func Problems(c *cli.Console, s cityapi.Status) error {
	bad := 0
	for _, ag := range s.Agents {
		again := ag.State == cityapi.StateStarting && s.Controller.Since != nil &&
			ag.LastExit != nil && ag.LastExit.Reason != outcome.Stopped && ag.LastExit.Time.After(*s.Controller.Since)
		if again || ag.State == cityapi.StateCrashed || ag.State == cityapi.StateQuarantined || ag.Error != "" {
			Problem(c, ag)
			bad++
		}
		if ag.Warning != "" {
			c.Warn("agent %s: %s", ag.Name, ag.Warning)
		}
	}
	if bad > 0 {
		return cli.Quiet(cli.ExitFailure)
	}
	return nil
}

// Problem prints why an agent has a problem: its last screen, the cause and a hint.
func Problem(c *cli.Console, ag cityapi.AgentStatus) {
	if ag.LastScreen != "" {
		fmt.Fprintln(c.Err, display.Text(ag.LastScreen))
	}
	why, hint := ag.Error, ag.Hint
	switch {
	case why == "" && ag.LastExit != nil && ag.State == cityapi.StateStarting:
		why = "ended (" + ag.LastExit.Status() + ") and is being restarted"
		hint = cmp.Or(hint, "gc status shows the progress")
	case why == "" && ag.LastExit != nil:
		why = string(ag.State) + " (" + ag.LastExit.Status() + ")"
	case why == "":
		why = string(ag.State)
	}
	if hint == "" {
		hint = "gc restart " + ag.Name + " tries again"
	}
	cli.PrintError(c.Err, "agent "+ag.Name+": "+why, hint)
}
