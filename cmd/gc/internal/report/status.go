// Package report prints the status of a city, its warnings and its results. It
// only prints what it is given: it asks no controller and no provider.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/words"
	cityapi "gascity.dev/gc/internal/controller/api"
)

// City prints facts about the whole city.
func City(c *cli.Console, s cityapi.Status) {
	if s.Controller.PID != 0 {
		fmt.Fprintf(c.Err, "city %s: controller pid %d, up %s\n", display.Line(s.City), s.Controller.PID, words.Ago(s.Controller.Since, time.Now()))
	} else {
		fmt.Fprintf(c.Err, "city %s: no controller (%s start)\n", display.Line(s.City), cli.Program)
	}
	if s.Suspended {
		fmt.Fprintf(c.Err, "the city is suspended; %s resume starts it again\n", cli.Program)
	}
	if s.ConfigError != "" {
		c.Warn("using the old config: %s", s.ConfigError)
	}
	if s.StoreError != "" {
		c.Warn("cannot save the city's records: %s", s.StoreError)
	}
	for _, p := range s.Pools {
		if p.Error != "" {
			c.Warn("pool %s: check failed: %s; keeping the minimum of %d", p.Name, p.Error, p.Min)
		}
	}
}

// Agents prints a table of the agents. The map last has the last line of each
// session.
func Agents(c *cli.Console, s cityapi.Status, last map[string]string, l cli.Listing) error {
	now := time.Now()
	t := c.Table(l)
	header := []string{"AGENT", "STATE", "SINCE", "STATUS", "RESTARTS", "LAST LINE"}
	if l.Wide() {
		header = []string{"AGENT", "STATE", "SINCE", "STATUS", "STATUS SINCE", "UP", "OUTPUT", "RESTARTS", "SESSION", "PROVIDER", "PERMISSIONS", "LAST LINE"}
	}
	elsewhere := slices.ContainsFunc(s.Agents, func(ag cityapi.AgentStatus) bool { return ag.Host != "" })
	if elsewhere {
		header = slices.Insert(header, len(header)-1, "HOST")
	}
	t.Add(header...)
	for _, ag := range s.Agents {
		line, restarts := cmp.Or(words.Question(ag), last[ag.Session], words.NotStarted(ag)), strconv.Itoa(ag.Restarts)
		row := []string{ag.Name, words.State(ag), display.Ago(words.Since(ag), now), words.Activity(ag), restarts, line}
		if l.Wide() {
			row = []string{ag.Name, words.State(ag), words.Ago(ag.Since, now), words.Activity(ag), display.Ago(words.ActivitySince(ag), now), words.Up(ag, now), words.Ago(ag.LastActivity, now),
				restarts, cmp.Or(ag.Session, "-"), cmp.Or(ag.Provider, "-"), cmp.Or(ag.Permissions, "-"), line}
		}
		if elsewhere {
			row = slices.Insert(row, len(row)-1, cmp.Or(ag.Host, "-"))
		}
		t.Add(row...)
		t.Paint(1, words.StateColour(ag))
		t.Paint(3, words.ActivityColour(ag))
	}
	return t.Print(c.Out)
}

// Results prints the result of every agent at a time.
func Results(c *cli.Console, s cityapi.Status, last map[string]string, at time.Time) error {
	t := display.Table{Width: c.Width(), Colour: c.Colours(c.Out)}
	t.Add("AGENT", "RESULT", "TOOK", "RESTARTS", "LAST LINE")
	for _, ag := range s.Agents {
		text, colour := words.Result(ag)
		t.Add(ag.Name, text, words.Took(ag, at), strconv.Itoa(ag.Restarts), cmp.Or(words.Question(ag), last[ag.Session]))
		t.Paint(1, colour)
	}
	return t.Print(c.Out)
}

// Uncertain says why the states of agents are uncertain, one line per reason, and what
// delays starts.
func Uncertain(c *cli.Console, s cityapi.Status) {
	var reasons []string
	about, hints := map[string][]string{}, map[string]string{}
	for _, ag := range s.Agents {
		if ag.State == cityapi.StateStarting && ag.Warning != "" {
			c.Warn("%s: %s", ag.Name, ag.Warning)
		}
		if !words.Uncertain(ag) {
			continue
		}
		if about[ag.Error] == nil {
			reasons = append(reasons, ag.Error)
		}
		about[ag.Error], hints[ag.Error] = append(about[ag.Error], ag.Name), ag.Hint
	}
	for _, why := range reasons {
		c.Warn("%s: %s", strings.Join(about[why], ", "), why)
		if hint := hints[why]; hint != "" {
			fmt.Fprintf(c.Err, "hint: %s\n", display.Line(cli.Named(hint)))
		}
	}
}

// Moved warns if the city was moved to dir while its controller was running.
func Moved(c *cli.Console, dir string, s cityapi.Status) {
	if s.CityPath != cli.RealPath(dir) {
		c.Warn("the city was moved here from %s while it was running: run %s stop, then %s start", s.CityPath, cli.Program, cli.Program)
	}
}

// Suspended warns about suspended agents, with a hint for each.
func Suspended(c *cli.Console, s cityapi.Status, about func(cityapi.AgentStatus) bool) {
	for _, ag := range s.Agents {
		if ag.SuspendedBy == "" || !about(ag) {
			continue
		}
		why, hint := words.Suspended(ag)
		c.Warn("%s is still suspended %s", ag.Name, why)
		fmt.Fprintf(c.Err, "hint: %s\n", display.Line(cli.Named(hint)))
	}
}

// Unchecked names the agents that run everything without asking, on one line.
func Unchecked(c *cli.Console, s cityapi.Status) {
	var names []string
	for _, ag := range s.Agents {
		if ag.Unchecked && ag.State != cityapi.StateSuspended {
			names = append(names, display.Line(ag.Name))
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(c.Err, "%s: these agents run everything without asking: %s\n", cli.Program, strings.Join(names, ", "))
	}
}
