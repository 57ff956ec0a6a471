package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/report"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/shell"
)

func newRigCmd(a *app) *cobra.Command {
	return a.Group("rig", "Manage the project directories that agents work in",
		`A rig is a directory with a name. An agent with  dir = "RIG"  is called RIG/NAME and
runs there. city.toml lists the rigs. gc rig suspend does not change city.toml: the
city remembers which rigs are suspended.`, `
		gc rig add web ../web
		gc rig list
		gc rig suspend web`,
		[]cli.Entry{
			{Name: "list", Make: func() *cobra.Command { return newRigListCmd(a) }},
			{Name: "add", Make: func() *cobra.Command { return newRigAddCmd(a) }},
			{Name: "remove", Make: func() *cobra.Command { return newRigRemoveCmd(a) }},
			{Name: "suspend", Make: func() *cobra.Command { return newRigSuspendCmd(a) }},
			{Name: "resume", Make: func() *cobra.Command { return newRigResumeCmd(a) }},
		})
}

// rigInfo is one rig in gc rig list --json.
type rigInfo struct {
	Name      string   `json:"name"`
	Path      string   `json:"path"` // absolute
	Exists    bool     `json:"exists"`
	Suspended bool     `json:"suspended"`
	Agents    []string `json:"agents"` // agents and pools of the config
}

func newRigListCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List rigs with their directories and agents",
		Args:  cli.Exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runRigList(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cli.Describe(cmd, "Lists the rigs of city.toml. Rigs suspended by gc rig suspend are shown as such only\nwhile the city runs.", `
		gc rig list
		gc rig list --json`, cli.Statuses{cli.ExitFailure: "failure, or city.toml has problems", cli.ExitNotFound: "no city here"})
}

func runRigList(ctx context.Context, a *app, asJSON bool) error {
	city, err := a.city.load()
	if err != nil {
		return err
	}
	rigs := rigsOf(city)
	if c, err := cityapi.Dial(city.Dir); err == nil {
		defer c.Close()
		status, err := c.Status(ctx)
		if err != nil {
			return err
		}
		for _, r := range status.Rigs {
			for i := range rigs {
				if rigs[i].Name == r.Name {
					rigs[i].Suspended = r.Suspended
				}
			}
		}
	}
	if asJSON {
		return a.PrintJSON(rigs)
	}
	if len(rigs) == 0 {
		fmt.Fprintf(a.Err, "no rigs: %s rig add NAME PATH\n", cli.Program)
		return nil
	}
	t := a.Table(cli.Listing{})
	t.Add("RIG", "STATE", "PATH", "AGENTS")
	for _, r := range rigs {
		state := "active"
		switch {
		case !r.Exists:
			state = "no directory"
		case r.Suspended:
			state = "suspended"
		}
		t.Add(r.Name, state, r.Path, strings.Join(r.Agents, ", "))
	}
	return t.Print(a.Out)
}

// rigsOf never returns nil, so that JSON has an array.
func rigsOf(city *config.City) []rigInfo {
	rigs := []rigInfo{}
	for i := range city.Rigs {
		r := &city.Rigs[i]
		in := rigInfo{Name: r.Name, Path: config.Place(city.Dir, r.Path), Suspended: r.Suspended || city.Workspace.Suspended, Agents: []string{}}
		st, err := os.Stat(in.Path)
		in.Exists = err == nil && st.IsDir()
		for j := range city.Agents {
			if city.Agents[j].Dir == r.Name {
				in.Agents = append(in.Agents, city.Agents[j].QualifiedName())
			}
		}
		rigs = append(rigs, in)
	}
	return rigs
}

func newRigAddCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add NAME [PATH]",
		Short: "Add a rig to city.toml",
		Args:  cli.Between(1, 2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) == 2 {
				path = args[1]
			}
			return runRigAdd(cmd.Context(), a, args[0], path)
		},
	}
	return cli.Describe(cmd, `Appends a [[rigs]] table for the directory (default: the current one) to city.toml and
changes nothing else in the file. The path of a directory inside or beside the city is
written relative to the city. A running city applies the change at once.`, `
		gc rig add web ../web
		cd ~/src/api && gc --city ~/city rig add api`,
		cli.Statuses{cli.ExitFailure: "failure, the rig already exists, or city.toml has problems", cli.ExitNotFound: "no city here, or no such directory"})
}

func runRigAdd(ctx context.Context, a *app, name, path string) error {
	city, err := a.city.load()
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if st, err := os.Stat(abs); err != nil || !st.IsDir() {
		return cli.Fail(cli.ExitNotFound, "mkdir -p "+shell.Word(path), "%s: not a directory", path)
	}
	if err := config.AddRig(city, name, rigPath(city.Dir, abs)); err != nil {
		return rigError(err)
	}
	return reloadCity(ctx, city.Dir)
}

// rigPath is the path of a rig for city.toml: relative if it is inside or beside
// the city.
func rigPath(city, abs string) string {
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	rel, err := filepath.Rel(city, abs)
	if err != nil || strings.HasPrefix(rel, filepath.Join("..", "..")) {
		return abs
	}
	return rel
}

func newRigRemoveCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "remove NAME",
		Short:             "Remove a rig from city.toml, but not its directory",
		Args:              cli.Exactly(1),
		ValidArgsFunction: a.city.completeRigs,
		RunE:              func(cmd *cobra.Command, args []string) error { return runRigRemove(cmd.Context(), a, args[0]) },
	}
	return cli.Describe(cmd, `Removes the [[rigs]] table from city.toml and keeps the comments around it. It refuses
if agents work in the rig, because they would run somewhere else.`, "gc rig remove web",
		cli.Statuses{cli.ExitFailure: "failure, or agents work in it", cli.ExitNotFound: "no such rig or city"})
}

func runRigRemove(ctx context.Context, a *app, name string) error {
	city, err := a.city.load()
	if err != nil {
		return err
	}
	if err := config.RemoveRig(city, name); err != nil {
		return rigError(err)
	}
	return reloadCity(ctx, city.Dir)
}

// rigError adds a hint.
func rigError(err error) error {
	switch {
	case errors.Is(err, config.ErrUnknownRig):
		return cli.Fail(cli.ExitNotFound, "gc rig list", "%v", err)
	case errors.Is(err, config.ErrRigInUse):
		return cli.Fail(cli.ExitFailure, "change their dir in city.toml first, or use gc rig suspend", "%v", err)
	}
	return err
}

// reloadCity makes the controller, if one runs, reload city.toml.
func reloadCity(ctx context.Context, dir string) error {
	c, err := cityapi.Dial(dir)
	if errors.Is(err, cityapi.ErrNoController) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Reload(ctx)
}

func newRigSuspendCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "suspend NAME...",
		Short:             "Stop the agents of rigs until gc rig resume",
		Args:              cli.Between(1, -1),
		ValidArgsFunction: a.city.completeRigs,
		RunE:              func(cmd *cobra.Command, args []string) error { return runRigSuspend(cmd.Context(), a, args) },
	}
	return cli.Describe(cmd, `Drains the agents of the rigs and keeps them down until gc rig resume, even across
gc stop and gc start. Returns once this is stored.`, "gc rig suspend web", cli.Statuses{cli.ExitNotFound: "no such rig, city or controller"})
}

func runRigSuspend(ctx context.Context, a *app, names []string) error {
	c, _, err := a.city.controller()
	if err != nil {
		return err
	}
	defer c.Close()
	return c.SuspendRigs(ctx, names...)
}

func newRigResumeCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "resume NAME...",
		Short:             "Start the agents of suspended rigs again",
		Args:              cli.Between(1, -1),
		ValidArgsFunction: a.city.completeRigs,
		RunE:              func(cmd *cobra.Command, args []string) error { return runRigResume(cmd.Context(), a, args) },
	}
	return cli.Describe(cmd, "Undoes gc rig suspend. It warns about agents that stay down for another reason.",
		"gc rig resume web", cli.Statuses{cli.ExitNotFound: "no such rig, city or controller"})
}

func runRigResume(ctx context.Context, a *app, names []string) error {
	c, _, err := a.city.controller()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.ResumeRigs(ctx, names...); err != nil {
		return err
	}
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	report.Suspended(&a.Console, status, func(ag cityapi.AgentStatus) bool {
		for _, n := range names {
			if strings.HasPrefix(ag.Name, n+"/") {
				return true
			}
		}
		return false
	})
	return nil
}

// completeRigs completes every argument with rigs that are not given yet.
func (f *cityFinder) completeRigs(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	city, err := f.load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range city.Rigs {
		names = append(names, city.Rigs[i].Name)
	}
	return cli.Without(cli.WithPrefix(names, prefix), args), cobra.ShellCompDirectiveNoFileComp
}
