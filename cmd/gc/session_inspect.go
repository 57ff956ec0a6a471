package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/words"
	"gascity.dev/gc/mux/api"
)

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
		fact("exit", words.Exit(in.Exit)+", "+in.Exit.Reason+", "+moment(in.Exit.Time))
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
