// Package words holds the words and colours for states, activities, exits and
// events, shared by all commands. Its functions are pure and print nothing;
// their texts are for people, never for scripts.
package words

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/cmd/gc/internal/display"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
)

// Uncertain reports whether the agent's state is only the last known one: the
// backend gave no answer, or the session belongs to another city.
func Uncertain(ag cityapi.AgentStatus) bool {
	up := ag.State == cityapi.StateRunning || ag.State == cityapi.StateDraining || ag.State == cityapi.StateUnknown
	return up && ag.Error != ""
}

// NotStarted is why the last start of an agent that does not run failed, or "".
func NotStarted(ag cityapi.AgentStatus) string {
	if Uncertain(ag) { // it may run
		return ""
	}
	return ag.Error
}

// Question is the question of a blocked agent with its options, "" for others.
func Question(ag cityapi.AgentStatus) string {
	info := ag.ActivityInfo
	if ag.Activity != runtime.ActivityBlocked || info == nil {
		return ""
	}
	q := info.Pending
	if q == nil {
		return cmp.Or(info.Evidence, "waits for an answer")
	}
	text := "asks: " + q.Prompt
	if len(q.Options) > 0 {
		text += " (" + strings.Join(q.Options, " | ") + ")"
	}
	return text
}

// Activity is the activity of an agent, and what runs in its background; "-" without
// evidence.
func Activity(ag cityapi.AgentStatus) string {
	text := turn(ag)
	if ag.ActivityInfo != nil && len(ag.ActivityInfo.Background) > 0 {
		text += fmt.Sprintf(", %d in background", len(ag.ActivityInfo.Background))
	}
	return text
}

func turn(ag cityapi.AgentStatus) string {
	switch {
	case ag.Activity == "" || ag.Activity == runtime.ActivityUnknown || ag.Activity == string(ag.State):
		return "-"
	case ag.ActivityInfo != nil && ag.ActivityInfo.Limit != nil:
		limit := Limit(*ag.ActivityInfo.Limit, time.Now())
		if ag.Activity == runtime.ActivityBlocked {
			return limit
		}
		return ag.Activity + ", " + limit
	case ag.ActivityInfo != nil && ag.ActivityInfo.Kind != "":
		return ag.Activity + " (" + ag.ActivityInfo.Kind + ")"
	}
	return ag.Activity
}

// Limit is "limited until 15:04", with the day if it is not within 24 hours; "limited" if the
// end is unknown.
func Limit(l runtime.Limit, now time.Time) string {
	switch left := l.Until.Sub(now); {
	case l.Until.IsZero():
		return "limited"
	case left < 24*time.Hour:
		return "limited until " + l.Until.Local().Format("15:04")
	}
	return "limited until " + l.Until.Local().Format("Jan 2 15:04")
}

// State is the state of an agent with the reason for it.
func State(ag cityapi.AgentStatus) string {
	text := string(ag.State)
	switch {
	case ag.State == cityapi.StateSuspended && ag.SuspendedBy != "" && ag.SuspendedBy != cityapi.ByAgent:
		return text + " (" + ag.SuspendedBy + ")"
	case ag.WaitsFor != "":
		return text + " (waits for " + ag.WaitsFor + ")"
	case Uncertain(ag) && ag.State != cityapi.StateUnknown:
		return text + " (last seen)"
	case ag.LastExit == nil:
		return text
	case ag.State == cityapi.StateCrashed || ag.State == cityapi.StateQuarantined || ag.State == cityapi.StateExited:
		return text + " (" + ag.LastExit.Status() + ")"
	}
	return text
}

// Urgency orders agents by how soon a person should look at them.
func Urgency(ag cityapi.AgentStatus) int {
	switch {
	case ag.State == cityapi.StateCrashed || ag.State == cityapi.StateQuarantined:
		return 0
	case ag.Activity == runtime.ActivityBlocked || ag.Activity == runtime.ActivityError:
		return 1
	case ag.State == cityapi.StateUnknown:
		return 2
	case ag.Activity == runtime.ActivityDone:
		return 3
	case ag.State == cityapi.StateRunning:
		return 4
	}
	return 5
}

// Since is when the agent entered its state, or became blocked.
func Since(ag cityapi.AgentStatus) time.Time {
	if at := ActivitySince(ag); ag.Activity == runtime.ActivityBlocked && !at.IsZero() {
		return at
	}
	if ag.Since == nil {
		return time.Time{}
	}
	return *ag.Since
}

// ActivitySince is when the agent's activity began; zero if unknown.
func ActivitySince(ag cityapi.AgentStatus) time.Time {
	if ag.ActivityInfo == nil {
		return time.Time{}
	}
	return ag.ActivityInfo.Since
}

// Up is how long the agent has been running; "-" if it is down.
func Up(ag cityapi.AgentStatus, now time.Time) string {
	if ag.State != cityapi.StateRunning && ag.State != cityapi.StateDraining {
		return "-"
	}
	return Ago(ag.Started, now)
}

func Ago(at *time.Time, now time.Time) string {
	if at == nil {
		return "-"
	}
	return display.Ago(*at, now)
}

func StateColour(ag cityapi.AgentStatus) display.Colour {
	switch ag.State {
	case cityapi.StateRunning:
		return display.Green
	case cityapi.StateCrashed, cityapi.StateQuarantined, cityapi.StateUnknown:
		return display.Red
	case cityapi.StateStarting, cityapi.StateDraining:
		return display.Yellow
	}
	return display.Dim
}

func ActivityColour(ag cityapi.AgentStatus) display.Colour {
	switch ag.Activity {
	case runtime.ActivityBlocked, runtime.ActivityError, runtime.ActivityStuck:
		return display.Red
	case runtime.ActivityDone:
		return display.Green
	case runtime.ActivityWorking:
		return display.Yellow
	}
	return display.Plain
}

// Suspended says what suspends the agent ("by rig web"), and how to end that.
func Suspended(ag cityapi.AgentStatus) (why, hint string) {
	by, name, _ := strings.Cut(ag.SuspendedBy, " ")
	switch by {
	case cityapi.ByCity:
		return "by gc suspend", "gc resume"
	case cityapi.ByRig:
		return "by rig " + name, "gc rig resume " + name
	case cityapi.ByPool:
		return "by pool " + name, "gc agent resume " + name
	case cityapi.ByConfig:
		return "by city.toml", "remove suspended = true from the agent, its rig or [workspace]"
	}
	return "by name", "gc agent resume " + ag.Name
}

// Result is the outcome of an agent's run, and its colour.
func Result(ag cityapi.AgentStatus) (string, display.Colour) {
	switch {
	case ag.State == cityapi.StateExited:
		return State(ag), display.Green
	case ag.State == cityapi.StateCrashed || ag.State == cityapi.StateQuarantined || ag.State == cityapi.StateUnknown:
		return State(ag), display.Red
	case ag.Error != "":
		return "failed: " + ag.Error, display.Red
	case ag.State == cityapi.StateRunning && ag.Activity == runtime.ActivityBlocked:
		return Activity(ag), display.Red
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
	return State(ag), display.Yellow
}

// Took is how long the agent's newest incarnation ran; "-" if none did.
func Took(ag cityapi.AgentStatus, end time.Time) string {
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

// Event is "worker crashed (why), exit status 3, detail".
func Event(e cityapi.Event) string {
	text := e.Kind
	if who := cmp.Or(e.Agent, e.Session); who != "" {
		text = who + " " + text
	}
	if e.Why != "" {
		text += " (" + e.Why + ")"
	}
	if e.Exit != nil {
		text += ", " + e.Exit.Status()
	}
	if e.Detail != "" {
		text += ", " + e.Detail
	}
	if e.Host != "" {
		text += ", on " + e.Host
	}
	if e.By != "" {
		text += ", by " + e.By
	}
	return text
}

func EventColour(e cityapi.Event) display.Colour {
	switch e.Kind {
	case cityapi.EventCrashed, cityapi.EventQuarantined, cityapi.EventStartFailed, cityapi.EventZombie, cityapi.EventConfigRejected:
		return display.Red
	case cityapi.EventWarning, cityapi.EventForeign, cityapi.EventAccepted:
		return display.Yellow
	}
	return display.Dim
}

// Session is the state of a session, how it ended, and the colour for it.
func Session(s api.SessionInfo) (string, display.Colour) {
	switch {
	case s.Exit == nil:
		return s.State, display.Green
	case s.Exit.Code != 0 || s.Exit.Signal != "":
		return s.State + " (" + s.Exit.Status() + ")", display.Red
	}
	return s.State + " (" + s.Exit.Status() + ")", display.Dim
}
