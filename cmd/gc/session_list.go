package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
)

type sessionListOptions struct {
	listing
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
	addListing(cmd, &o.listing, sessionOrders.keys())
	return describe(cmd, "Lists the sessions that run, by name; with --all also those that ended. No session\nis an empty list, not an error. CREATED and ACTIVE (the last output, or the end) are\nhow long ago that was; -o wide adds INPUT, the last one.", `
		gc session list
		gc session list --all
		gc session list -o wide --sort active
		gc session list --prefix gc-demo- --json | jq -r '.[].name'`, statuses{exitCannotTell: ""})
}

// sessionOrders are the keys of gc session list --sort; times have the newest
// first.
var sessionOrders = orders[api.SessionInfo]{
	"name":    func(a, b api.SessionInfo) int { return strings.Compare(a.Name, b.Name) },
	"state":   func(a, b api.SessionInfo) int { return strings.Compare(b.State, a.State) }, // those that run first
	"created": func(a, b api.SessionInfo) int { return b.Created.Compare(a.Created) },
	"active":  func(a, b api.SessionInfo) int { return activeAt(b).Compare(activeAt(a)) },
}

// activeAt is when the session printed something last, or ended.
func activeAt(s api.SessionInfo) time.Time {
	if s.Exit != nil {
		return s.Exit.Time
	}
	return s.LastOutput
}

func runSessionList(ctx context.Context, a *app, o sessionListOptions) error {
	if err := o.check(&o.json); err != nil {
		return err
	}
	p, err := a.sessionProvider()
	if err != nil {
		return err
	}
	if !hasMux(p) {
		return listNames(ctx, a, p, o)
	}
	sessions, err := listMux(ctx, p, o)
	if err == nil {
		err = sorted(sessions, o.listing, sessionOrders)
	}
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
	return a.printSessions(sessions, o.listing)
}

func (a *app) printSessions(sessions []api.SessionInfo, l listing) error {
	now := time.Now()
	t := a.newTable(l)
	header := []string{"NAME", "STATE", "PID", "SIZE", "ATTACHED", "CREATED", "ACTIVE", "COMMAND"}
	if l.wide() {
		header = append(header, "INPUT", "WORK DIR", "TITLE", "ID")
	}
	t.Add(header...)
	for _, s := range sessions {
		state, c := sessionState(s)
		row := []string{
			s.Name, state, pidText(s), fmt.Sprintf("%dx%d", s.Size.Cols, s.Size.Rows),
			strconv.Itoa(s.Attached), display.Ago(s.Created, now), display.Ago(activeAt(s), now), s.Command,
		}
		if l.wide() {
			row = append(row, display.Ago(s.LastInput, now), s.WorkDir, cmp.Or(s.Title, "-"), s.ID)
		}
		t.Add(row...)
		t.Paint(1, c)
	}
	return t.Print(a.out)
}

// pidText is the process of a session that runs.
func pidText(s api.SessionInfo) string {
	if s.Exit != nil || s.PID == 0 {
		return "-"
	}
	return strconv.Itoa(s.PID)
}

// listMux is never nil, so that JSON has an array.
func listMux(ctx context.Context, p runtime.Provider, o sessionListOptions) ([]api.SessionInfo, error) {
	client, err := muxClient(ctx, p, "session list")
	if isNoServer(err) {
		return []api.SessionInfo{}, nil
	}
	if err != nil {
		return nil, err
	}
	sessions, err := client.List(ctx, o.prefix, o.all)
	if sessions == nil {
		sessions = []api.SessionInfo{}
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
	t := a.newTable(o.listing)
	t.Add("NAME", "STATE")
	for i, n := range names {
		sessions[i] = session{n, api.StateRunning}
		t.Add(n, api.StateRunning)
	}
	switch {
	case o.json:
		return a.printJSON(sessions)
	case len(names) == 0:
		fmt.Fprintln(a.err, "no sessions")
		return nil
	}
	return t.Print(a.out)
}
