package main

import (
	"fmt"
	"strconv"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// runResult is what a run for a build machine ended with.
type runResult struct {
	status cityapi.Status
	last   map[string]string // the last line of each session
	at     time.Time
}

// resultLine is the last line of gc start --foreground --until … --json.
type resultLine struct {
	Time   time.Time      `json:"time"`
	Kind   string         `json:"kind"` // "result"
	Status cityapi.Status `json:"status"`
}

// printResult is the table at the end of a run: what became of every agent
// before the city was stopped.
func (a *app) printResult(r runResult, asJSON bool) error {
	if asJSON {
		return newMergedJSON(a.out).object(resultLine{time.Now().UTC(), "result", r.status})
	}
	t := table{width: a.width(), colour: a.colours(a.out)}
	t.add("AGENT", "RESULT", "TOOK", "RESTARTS", "LAST LINE")
	for _, ag := range r.status.Agents {
		text, c := resultText(ag)
		t.add(ag.Name, text, took(ag, r.at), strconv.Itoa(ag.Restarts), firstOf(blockedOn(ag), r.last[ag.Session]))
		t.paint(1, c)
	}
	return t.print(a.out)
}

// resultText is what became of an agent, and its colour.
func resultText(ag cityapi.AgentStatus) (string, colour) {
	switch {
	case ag.State == cityapi.StateExited:
		return stateText(ag), green
	case ag.State == cityapi.StateCrashed || ag.State == cityapi.StateQuarantined || ag.State == cityapi.StateUnknown:
		return stateText(ag), red
	case ag.Error != "":
		return "failed: " + ag.Error, red
	case ag.State == cityapi.StateRunning && ag.Activity == runtime.ActivityBlocked:
		return activityText(ag), red
	case ag.State == cityapi.StateRunning && ag.OneShot:
		return "not done", red
	case ag.State == cityapi.StateRunning:
		return "stopped at the end", plain
	case ag.State == cityapi.StateStarting:
		return "not ready", red
	case ag.WaitsFor != "":
		return "not started (waits for " + ag.WaitsFor + ")", yellow
	case ag.State == cityapi.StateStopped:
		return "not started", yellow
	}
	return stateText(ag), yellow
}

// took is how long the agent's newest incarnation ran, "-" when it never did.
func took(ag cityapi.AgentStatus, end time.Time) string {
	if ag.Started == nil || ag.State == cityapi.StateStopped || ag.State == cityapi.StateSuspended {
		return "-"
	}
	if exit := ag.LastExit; exit != nil && !exit.Time.Before(*ag.Started) {
		end = exit.Time
	}
	d := max(end.Sub(*ag.Started), 0)
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
