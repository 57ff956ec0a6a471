package main

import (
	"fmt"
	"os"
	"slices"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller"
)

// startProblems finds what a start of a city would find: a session provider that
// cannot be had, rigs and work dirs that are not there, missing programs. The
// error is a *config.Problems.
func (a *app) startProblems(city *config.City, specs []*agent.Spec) error {
	var list []config.Problem
	add := func(at config.Pos, hint, format string, args ...any) {
		list = append(list, config.Problem{File: city.File, Line: at.Line, Column: at.Column, Msg: fmt.Sprintf(format, args...), Hint: hint})
	}
	a.looksOnly = true
	if _, err := a.newProvider(selectedIn(city), city.Dir); err != nil {
		_, hint := explain(err)
		add(providerPlace(city), hint, "%v", err)
	}
	for i := range city.Rigs {
		r := &city.Rigs[i]
		if path := config.Place(city.Dir, r.Path); !isDir(path) {
			add(r.Place("path"), "make the folder or change the path", "rig %q: %s is no folder", r.Name, path)
		}
	}
	for _, s := range specs {
		ag, ok := city.Agent(s.Resolved.Template)
		if !ok {
			continue
		}
		for _, p := range controller.StartProblems(s) {
			at := ag.Place(p.Key)
			if p.Key == "start_command" && !ag.Has(p.Key) {
				at = ag.Place("provider")
			}
			add(at, p.Help, "agent %q: %s", s.Name(), p.Msg)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b config.Problem) int { return a.Line - b.Line })
	return &config.Problems{List: list}
}

// providerPlace is where the city names its session provider.
func providerPlace(city *config.City) config.Pos {
	if city.Session.Has("provider") {
		return city.Session.Place("provider")
	}
	for i := range city.Agents {
		if city.Agents[i].Session != "" {
			return city.Agents[i].Place("session")
		}
	}
	return config.Pos{}
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
