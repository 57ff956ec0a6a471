package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/mux"
	"gascity.dev/gc/runtime"
)

type sessionListOptions struct {
	prefix string
	all    bool
	json   bool
}

func newSessionListCmd(a *app) *cobra.Command {
	var o sessionListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions",
		Args:  exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runSessionList(cmd.Context(), a, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.prefix, "prefix", "", "only names that start with this")
	f.BoolVar(&o.all, "all", false, "ended sessions too, with how they ended, while they are kept")
	f.BoolVar(&o.json, "json", false, "as a JSON array")
	return describe(cmd, "Lists the sessions that run, by name; with --all also those that ended. No session\nis an empty list, not an error.", `
		gc session list
		gc session list --all
		gc session list --prefix gc-demo- --json | jq -r '.[].name'`, statuses{exitCannotTell: ""})
}

func runSessionList(ctx context.Context, a *app, o sessionListOptions) error {
	p, err := a.sessionProvider()
	if err != nil {
		return err
	}
	if !hasMux(p) {
		return listNames(ctx, a, p, o)
	}
	sessions, err := listMux(ctx, p, o)
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(sessions)
	}
	if len(sessions) == 0 {
		fmt.Fprintln(a.err, "no sessions")
		return nil
	}
	now := time.Now()
	t := table{width: a.width()}
	t.add("NAME", "STATE", "PID", "SIZE", "ATTACHED", "CREATED", "ACTIVE", "COMMAND")
	for _, s := range sessions {
		state, active := s.State, s.LastOutput
		if s.Exit != nil {
			state += " (" + exitText(runtimeExit(s.Exit)) + ")"
			active = s.Exit.Time
		}
		t.add(s.Name, state, strconv.Itoa(s.PID), fmt.Sprintf("%dx%d", s.Size.Cols, s.Size.Rows),
			strconv.Itoa(s.Attached), ago(s.Created, now), ago(active, now), s.Command)
	}
	return t.print(a.out)
}

// listMux is never nil, so that JSON has an array.
func listMux(ctx context.Context, p runtime.Provider, o sessionListOptions) ([]mux.SessionInfo, error) {
	client, err := muxClient(ctx, p, "session list")
	if isNoServer(err) {
		return []mux.SessionInfo{}, nil
	}
	if err != nil {
		return nil, err
	}
	sessions, err := client.List(ctx, o.prefix, o.all)
	if sessions == nil {
		sessions = []mux.SessionInfo{}
	}
	return sessions, err
}

// listNames is the list of a provider that knows no more than names.
func listNames(ctx context.Context, a *app, p runtime.Provider, o sessionListOptions) error {
	names, err := p.ListRunning(ctx, o.prefix)
	if err != nil {
		return err
	}
	type session struct {
		Name  string `json:"name"`
		State string `json:"state"`
	}
	sessions := make([]session, len(names))
	t := table{rows: [][]string{{"NAME", "STATE"}}, width: a.width()}
	for i, n := range names {
		sessions[i] = session{n, mux.StateRunning}
		t.add(n, mux.StateRunning)
	}
	switch {
	case o.json:
		return a.printJSON(sessions)
	case len(names) == 0:
		fmt.Fprintln(a.err, "no sessions")
		return nil
	}
	return t.print(a.out)
}

func runtimeExit(e *mux.Exit) *runtime.Exit {
	return &runtime.Exit{Code: e.Code, Signal: e.Signal, Reason: e.Reason, Time: e.Time}
}
