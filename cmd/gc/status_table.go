package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/words"
	cityapi "gascity.dev/gc/internal/controller/api"
)

// statusOrders are the keys of gc status --sort.
var statusOrders = cli.Orders[cityapi.AgentStatus]{
	"name":     func(a, b cityapi.AgentStatus) int { return strings.Compare(a.Name, b.Name) },
	"state":    func(a, b cityapi.AgentStatus) int { return cmp.Compare(words.Urgency(a), words.Urgency(b)) },
	"restarts": func(a, b cityapi.AgentStatus) int { return cmp.Compare(b.Restarts, a.Restarts) },
	"since":    func(a, b cityapi.AgentStatus) int { return words.Since(b).Compare(words.Since(a)) },
}

// printStatus prints the status as a table.
func (a *app) printStatus(ctx context.Context, s cityapi.Status, l cli.Listing) error {
	a.sayCity(s)
	last := a.lastLines(ctx, s)
	now := time.Now()
	t := a.Table(l)
	header := []string{"AGENT", "STATE", "SINCE", "STATUS", "RESTARTS", "LAST LINE"}
	if l.Wide() {
		header = []string{"AGENT", "STATE", "SINCE", "STATUS", "STATUS SINCE", "UP", "OUTPUT", "RESTARTS", "SESSION", "PROVIDER", "PERMISSIONS", "LAST LINE"}
	}
	t.Add(header...)
	for _, ag := range s.Agents {
		line, restarts := cmp.Or(words.Question(ag), last[ag.Session]), strconv.Itoa(ag.Restarts)
		if l.Wide() {
			t.Add(ag.Name, words.State(ag), words.Ago(ag.Since, now), words.Activity(ag), display.Ago(words.ActivitySince(ag), now), words.Up(ag, now), words.Ago(ag.LastActivity, now),
				restarts, cmp.Or(ag.Session, "-"), cmp.Or(ag.Provider, "-"), cmp.Or(ag.Permissions, "-"), line)
		} else {
			t.Add(ag.Name, words.State(ag), display.Ago(words.Since(ag), now), words.Activity(ag), restarts, line)
		}
		t.Paint(1, words.StateColour(ag))
		t.Paint(3, words.ActivityColour(ag))
	}
	return t.Print(a.Out)
}

// sayCity prints facts about the whole city.
func (a *app) sayCity(s cityapi.Status) {
	if s.Controller.PID != 0 {
		fmt.Fprintf(a.Err, "city %s: controller pid %d, up %s\n", display.Line(s.City), s.Controller.PID, words.Ago(s.Controller.Since, time.Now()))
	} else {
		fmt.Fprintf(a.Err, "city %s: no controller (%s start)\n", display.Line(s.City), cli.Program)
	}
	if s.Suspended {
		fmt.Fprintf(a.Err, "the city is suspended; %s resume starts it again\n", cli.Program)
	}
	if s.ConfigError != "" {
		a.Warn("using the old config: %s", s.ConfigError)
	}
	if s.StoreError != "" {
		a.Warn("cannot save the city's records: %s", s.StoreError)
	}
	for _, p := range s.Pools {
		if p.Error != "" {
			a.Warn("pool %s: check failed: %s; keeping the minimum of %d", p.Name, p.Error, p.Min)
		}
	}
}
