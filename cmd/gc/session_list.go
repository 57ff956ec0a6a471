package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/cmd/gc/internal/words"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
)

type sessionListOptions struct {
	cli.Listing
	prefix string
	all    bool
	json   bool
}

func newSessionListCmd(a *app) *cobra.Command {
	var o sessionListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions",
		Args:  cli.Exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runSessionList(cmd.Context(), a, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.prefix, "prefix", "", "list only names that start with this `TEXT`")
	f.BoolVar(&o.all, "all", false, "also list ended sessions, while they are kept")
	f.BoolVar(&o.json, "json", false, "print a JSON array")
	cli.AddListing(cmd, &o.Listing, sessionOrders.Keys())
	return cli.Describe(cmd, "Lists the running sessions by name; with --all also ended ones. CREATED and ACTIVE\n(the last output, or the end) are ages; -o wide adds INPUT, the age of the last input.", `
		gc session list
		gc session list --all
		gc session list -o wide --sort active
		gc session list --prefix gc-demo- --json | jq -r '.[].name'`, cli.Statuses{cli.ExitCannotTell: ""})
}

// sessionOrders are the keys of gc session list --sort; times sort newest first.
var sessionOrders = cli.Orders[api.SessionInfo]{
	"name":    func(a, b api.SessionInfo) int { return strings.Compare(a.Name, b.Name) },
	"state":   func(a, b api.SessionInfo) int { return strings.Compare(b.State, a.State) }, // running first
	"created": func(a, b api.SessionInfo) int { return b.Created.Compare(a.Created) },
	"active":  func(a, b api.SessionInfo) int { return activeAt(b).Compare(activeAt(a)) },
}

// activeAt is when the session last printed something, or ended.
func activeAt(s api.SessionInfo) time.Time {
	if s.Exit != nil {
		return s.Exit.Time
	}
	return s.LastOutput
}

func runSessionList(ctx context.Context, a *app, o sessionListOptions) error {
	if err := o.Check(&o.json); err != nil {
		return err
	}
	p, err := a.sessionProvider(ctx)
	if err != nil {
		return err
	}
	if !hasMux(p) {
		return listNames(ctx, a, p, o)
	}
	sessions, err := listMux(ctx, p, o)
	if err == nil {
		err = cli.Sort(sessions, o.Listing, sessionOrders)
	}
	if err != nil {
		return err
	}
	if o.json {
		return a.PrintJSON(sessions)
	}
	if len(sessions) == 0 {
		fmt.Fprintln(a.Err, "no sessions")
		return nil
	}
	return printSessions(&a.Console, sessions, o.Listing)
}

func printSessions(c *cli.Console, sessions []api.SessionInfo, l cli.Listing) error {
	now := time.Now()
	t := c.Table(l)
	header := []string{"NAME", "STATE", "PID", "SIZE", "ATTACHED", "CREATED", "ACTIVE", "COMMAND"}
	if l.Wide() {
		header = append(header, "INPUT", "WORK DIR", "TITLE", "ID")
	}
	t.Add(header...)
	for _, s := range sessions {
		state, c := words.Session(s)
		row := []string{
			s.Name, state, pidText(s), fmt.Sprintf("%dx%d", s.Size.Cols, s.Size.Rows),
			strconv.Itoa(s.Attached), display.Ago(s.Created, now), display.Ago(activeAt(s), now), s.Command,
		}
		if l.Wide() {
			row = append(row, display.Ago(s.LastInput, now), s.WorkDir, cmp.Or(s.Title, "-"), s.ID)
		}
		t.Add(row...)
		t.Paint(1, c)
	}
	return t.Print(c.Out)
}

// pidText is the process ID of a running session.
func pidText(s api.SessionInfo) string {
	if s.Exit != nil || s.PID == 0 {
		return "-"
	}
	return strconv.Itoa(s.PID)
}

// listMux never returns nil, so that JSON has an array.
func listMux(ctx context.Context, p runtime.Provider, o sessionListOptions) ([]api.SessionInfo, error) {
	client, err := muxClient(ctx, p, "session list")
	if host.IsNoServer(err) {
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

// listNames lists the sessions of a provider that only knows their names.
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
	t := a.Table(o.Listing)
	t.Add("NAME", "STATE")
	for i, n := range names {
		sessions[i] = session{n, api.StateRunning}
		t.Add(n, api.StateRunning)
	}
	switch {
	case o.json:
		return a.PrintJSON(sessions)
	case len(names) == 0:
		fmt.Fprintln(a.Err, "no sessions")
		return nil
	}
	return t.Print(a.Out)
}

// inspection is the output of gc session inspect --json.
type inspection struct {
	api.SessionInfo
	Meta      map[string]string `json:"meta"`
	Processes []api.ProcessInfo `json:"processes"`
}

func newSessionInspectCmd(a *app, s scope) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "inspect NAME",
		Short:             "Show all details of a session",
		Args:              cli.Exactly(1),
		ValidArgsFunction: s.complete,
		RunE:              s.on(func(ctx context.Context, t *target) error { return runSessionInspect(ctx, a, t, asJSON) }),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cli.Describe(cmd, "Shows a session's identity, program, times, exit, metadata and process tree.",
		"gc session inspect build --json", cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: ""})
}

func runSessionInspect(ctx context.Context, a *app, t *target, asJSON bool) error {
	client, err := sessionClient(ctx, t, "session inspect")
	if err != nil {
		return err
	}
	info, err := client.Get(ctx, t.session)
	if err != nil {
		return err
	}
	in := inspection{SessionInfo: info, Meta: map[string]string{}, Processes: []api.ProcessInfo{}}
	if meta, err := client.Meta(ctx, info.ID); err != nil {
		return err
	} else if meta != nil {
		in.Meta = meta
	}
	if info.State == api.StateRunning {
		tree, err := client.Processes(ctx, info.ID)
		if err != nil {
			return err
		}
		in.Processes = append(in.Processes, tree...)
	}
	if asJSON {
		return a.PrintJSON(in)
	}
	return in.print(a)
}

// print writes one fact per line.
func (in *inspection) print(a *app) error {
	t := display.Table{Width: a.Width()}
	fact := func(name, value string) {
		if value != "" {
			t.Add(name, value)
		}
	}
	fact("name", in.Name)
	fact("id", in.ID)
	fact("state", in.State)
	if in.Exit != nil {
		fact("exit", in.Exit.Status()+", "+in.Exit.Reason+", "+moment(in.Exit.Time))
	}
	if in.PID != 0 {
		fact("pid", fmt.Sprint(in.PID))
	}
	fact("command", in.Command)
	fact("work dir", in.WorkDir)
	fact("size", fmt.Sprintf("%dx%d", in.Size.Cols, in.Size.Rows))
	fact("title", in.Title)
	fact("created", moment(in.Created))
	fact("last input", moment(in.LastInput))
	fact("last output", moment(in.LastOutput))
	fact("output", fmt.Sprintf("%d bytes", in.Output))
	fact("attached", fmt.Sprint(in.Attached))
	fact("dropped", droppedText(in.Dropped))
	for _, l := range in.Limits {
		value := l.Value + ", held by " + l.By
		if l.Detail != "" {
			value += " (" + l.Detail + ")"
		}
		fact("limit "+l.Limit, value)
	}
	for _, k := range sortedKeys(in.Meta) {
		fact("meta "+k, in.Meta[k])
	}
	for _, p := range in.Processes {
		line := p.Command
		if len(p.Argv) > 0 {
			line = strings.Join(p.Argv, " ")
		}
		fact(fmt.Sprintf("process %d", p.PID), fmt.Sprintf("%s parent %d: %s", p.State, p.PPID, line))
	}
	return t.Print(a.Out)
}

// droppedText lists output that was dropped; "" for none.
func droppedText(d *api.Dropped) string {
	if d == nil {
		return ""
	}
	var parts []string
	for _, p := range []struct {
		n    uint64
		what string
	}{
		{d.Links, "links"}, {d.Styles, "styles"}, {d.Clusters, "combined characters"}, {d.Strings, "long control strings"},
		{d.Events, "events"}, {d.Replies, "replies"}, {d.HistoryBytes, "bytes of history"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// moment is a local time with milliseconds; "" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05.000")
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
