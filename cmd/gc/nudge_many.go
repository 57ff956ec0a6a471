package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/follow"
	cityapi "gascity.dev/gc/internal/controller/api"
)

// nudged are the agents that a message is for. group is true unless they were
// given as the name of one agent.
func (a *app) nudged(ctx context.Context, o agentNudgeOptions) (names []string, group bool, err error) {
	if o.single && !a.isGroup(o.to[0]) {
		return o.to, false, nil
	}
	status, err := cityStatus(ctx, a)
	if err != nil {
		return nil, false, err
	}
	if o.all {
		caller := os.Getenv("GC_SESSION_NAME")
		names = running(status, func(ag cityapi.AgentStatus) bool { return ag.Session != caller })
		if len(names) == 0 {
			return nil, false, cli.Fail(cli.ExitNotFound, "gc status shows the agents", "no other agent is running")
		}
		return names, true, nil
	}
	for _, name := range o.to {
		found, err := a.expand(status, strings.TrimSpace(name))
		if err != nil {
			return nil, false, err
		}
		for _, n := range found {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names, true, nil
}

// isGroup reports whether a name means a pool or a rig of the city, not an agent.
func (a *app) isGroup(name string) bool {
	city, err := a.loadCity()
	if err != nil {
		return false
	}
	if ag, ok := city.Agent(name); ok {
		return ag.Pool != nil && ag.Pool.Max != 0
	}
	for i := range city.Rigs {
		if city.Rigs[i].Name == name {
			return true
		}
	}
	return false
}

// expand returns the agents that a name means: the agent, or the running agents
// of a pool or rig.
func (a *app) expand(s cityapi.Status, name string) ([]string, error) {
	for _, ag := range s.Agents {
		if ag.Name == name {
			return []string{name}, nil
		}
	}
	var found []string
	isRig := slices.ContainsFunc(s.Rigs, func(r cityapi.RigStatus) bool { return r.Name == name })
	switch {
	case isRig || a.isGroup(name):
		found = running(s, func(ag cityapi.AgentStatus) bool {
			return isRig && strings.HasPrefix(ag.Name, name+"/") || ag.Pool != "" && (ag.Pool == name || strings.HasSuffix(ag.Pool, "/"+name))
		})
		if len(found) == 0 {
			return nil, cli.Fail(cli.ExitNotFound, "gc status shows the agents", "no agent of %s is running", name)
		}
		return found, nil
	}
	city, err := a.loadCity()
	if err != nil {
		return nil, err
	}
	spec, err := a.findAgent(city, name)
	if err != nil {
		return nil, err
	}
	return []string{spec.Name()}, nil
}

// running are the names of the running agents for which meant is true.
func running(s cityapi.Status, meant func(cityapi.AgentStatus) bool) []string {
	var names []string
	for _, ag := range s.Agents {
		if ag.State == cityapi.StateRunning && meant(ag) {
			names = append(names, ag.Name)
		}
	}
	return names
}

// manyReceipt is the result of a message to one of several agents, as JSON: a
// receipt, a queued message or an error.
type manyReceipt struct {
	Agent   string          `json:"agent"`
	Receipt json.RawMessage `json:"receipt,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// nudgeMany delivers a message to several agents at the same time.
func (a *app) nudgeMany(ctx context.Context, s scope, names []string, o agentNudgeOptions) error {
	if err := a.messageText(&target{label: strings.Join(names, ",")}, &o.nudgeOptions); err != nil {
		return err
	}
	type one struct {
		app      *app
		out, err bytes.Buffer
		failed   error
	}
	all := make([]one, len(names))
	var work sync.WaitGroup
	for i, name := range names {
		d := &all[i]
		t, err := s.target(ctx, name)
		d.app, d.failed = &app{Console: cli.NewConsole(cli.Streams{In: a.In, Out: &d.out, Err: &d.err}, nil), city: a.city, agent: t}, err
		if err == nil {
			work.Go(func() { d.failed = d.app.agentDown(ctx, d.app.deliverTo(ctx, t, o)) })
		}
	}
	work.Wait()
	a.agent = nil
	receipts := make([]manyReceipt, len(names))
	statuses := make([]int, len(names))
	for i, name := range names {
		d := &all[i]
		statuses[i] = cli.Report(&d.err, nil, d.failed)
		receipts[i] = manyReceipt{Agent: name}
		var said cli.Quiet
		if text := bytes.TrimSpace(d.out.Bytes()); o.json && json.Valid(text) {
			receipts[i].Receipt = json.RawMessage(text)
		} else if d.failed != nil && !errors.As(d.failed, &said) {
			receipts[i].Error = display.Line(d.failed.Error())
		}
		if !o.json {
			for _, line := range follow.Lines(strings.TrimSpace(d.out.String())) {
				fmt.Fprintf(a.Out, "%s: %s\n", display.Line(name), line)
			}
		}
		for _, line := range follow.Lines(strings.TrimRight(d.err.String(), "\n")) {
			fmt.Fprintf(a.Err, "%s: %s\n", display.Line(name), line)
		}
	}
	var err error
	if o.json {
		err = a.PrintJSON(receipts)
	}
	if worst := slices.Max(statuses); worst != cli.ExitOK {
		if slices.Contains(statuses, cli.ExitFailure) {
			worst = cli.ExitFailure
		}
		return errors.Join(err, cli.Quiet(worst))
	}
	return err
}
