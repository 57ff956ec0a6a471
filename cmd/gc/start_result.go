package main

import (
	"fmt"
	"strconv"
	"time"

	"gascity.dev/gc/cmd/gc/internal/display"
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
		return display.NewMergedJSON(a.out).Object(resultLine{time.Now().UTC(), "result", r.status})
	}
	t := display.Table{Width: a.width(), Colour: a.colours(a.out)}
	t.Add("AGENT", "RESULT", "TOOK", "RESTARTS", "LAST LINE")
	for _, ag := range r.status.Agents {
		text, c := resultText(ag)
		t.Add(ag.Name, text, took(ag, r.at), strconv.Itoa(ag.Restarts), firstOf(blockedOn(ag), r.last[ag.Session]))
		t.Paint(1, c)
	}
	return t.Print(a.out)
}

// resultText is what became of an agent, and its colour.
func resultText(ag cityapi.AgentStatus) (string, display.Colour) {
	switch {
	case ag.State == cityapi.StateExited:
		return stateText(ag), display.Green
	case ag.State == cityapi.StateCrashed || ag.State == cityapi.StateQuarantined || ag.State == cityapi.StateUnknown:
		return stateText(ag), display.Red
	case ag.Error != "":
		return "failed: " + ag.Error, display.Red
	case ag.State == cityapi.StateRunning && ag.Activity == runtime.ActivityBlocked:
		return activityText(ag), display.Red
	case ag.State == cityapi.StateRunning && ag.OneShot:
		return "not done", display.Red
	case ag.State == cityapi.StateRunning:
		return "stopped at the end", display.Plain
	case ag.State == cityapi.StateStarting:
		return "not ready", display.Red
	case ag.WaitsFor != "":
		return "not started (waits for " + ag.WaitsFor + ")", display.Yellow
	case ag.State == cityapi.StateStopped:
		return "not started", display.Yellow
	}
	return stateText(ag), display.Yellow
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
