package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller"
	"gascity.dev/gc/runtime"
)

func newAgentCmd(a *app) *cobra.Command {
	return a.newGroup("agent", "The agents of the city",
		"gc status shows how the agents are; these are about which there are.", `
		gc agent list
		gc agent stop worker`,
		[]entry{
			{"list", "", func() *cobra.Command { return newAgentListCmd(a) }},
			{"stop", "", func() *cobra.Command { return newAgentStopCmd(a) }},
		})
}

// agentInfo is one agent in gc agent list --json.
type agentInfo struct {
	Name        string `json:"name"`
	Session     string `json:"session"`
	Description string `json:"description,omitempty"`
	Command     string `json:"command"`
	WorkDir     string `json:"workDir"`
	Lifecycle   string `json:"lifecycle,omitempty"`
	Suspended   bool   `json:"suspended,omitempty"`
}

func newAgentListCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agents of the config with what they run",
		Args:  exactly(0),
		RunE:  func(*cobra.Command, []string) error { return runAgentList(a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as a JSON array")
	return describe(cmd, "Lists what city.toml says, whether it runs or not.", "gc agent list --json", statuses{exitNotFound: ""})
}

func runAgentList(a *app, asJSON bool) error {
	city, err := a.loadCity()
	if err != nil {
		return err
	}
	specs, err := members(city)
	if err != nil {
		return err
	}
	agents := []agentInfo{}
	t := table{width: a.width()}
	t.add("AGENT", "SESSION", "COMMAND", "DESCRIPTION")
	for _, s := range specs {
		in := agentInfo{
			Name: s.Name(), Session: s.Session, Description: s.Resolved.Description, Command: s.Config.Command,
			WorkDir: s.Config.WorkDir, Lifecycle: s.Config.Lifecycle, Suspended: s.Resolved.Suspended,
		}
		agents = append(agents, in)
		t.add(in.Name, in.Session, firstOf(in.Command, "(your shell)"), in.Description)
	}
	if asJSON {
		return a.printJSON(agents)
	}
	return t.print(a.out)
}

func newAgentStopCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop AGENT...",
		Short: "Stop agents; they stay down until gc restart",
		Args:  between(1, -1),
		ValidArgsFunction: func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return a.agentNames(prefix), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runAgentStop(cmd.Context(), a, args) },
	}
	return describe(cmd, "Ends the agents gracefully and returns when they are gone. They stay down until\ngc restart, or the next gc start.",
		"gc agent stop worker", statuses{exitNotFound: "", exitCannotTell: ""})
}

func runAgentStop(ctx context.Context, a *app, names []string) error {
	city, err := a.loadCity()
	if err != nil {
		return err
	}
	qualified, err := a.qualify(city, names)
	if err != nil {
		return err
	}
	c, err := controller.Dial(city.Dir)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.StopAgents(ctx, qualified...)
}

// qualify finds the agents that a person named.
func (a *app) qualify(city *config.City, names []string) ([]string, error) {
	out := make([]string, len(names))
	for i, n := range names {
		s, err := a.findAgent(city, n)
		if err != nil {
			return nil, err
		}
		out[i] = s.Name()
	}
	return out, nil
}

// findAgent finds an agent, or a member of a pool, by its qualified name or by
// a bare name that only one has.
func (a *app) findAgent(city *config.City, name string) (*agent.Spec, error) {
	specs, err := members(city)
	if err != nil {
		return nil, err
	}
	var found []*agent.Spec
	var names []string
	for _, s := range specs {
		switch {
		case s.Name() == name:
			return s, nil
		case s.Resolved.Base == name:
			found = append(found, s)
		}
		names = append(names, s.Name())
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fail(exitNotFound, "agents of this city: "+strings.Join(names, ", "), "no agent %q in city %s", name, city.Name())
	}
	return nil, fail(exitUsage, "such as "+found[0].Name(), "several agents are named %q: say which", name)
}

// members makes the specs of every agent of the city as they are started from
// here, a pool's members (as many as it may have) in the place of the pool.
func members(city *config.City) ([]*agent.Spec, error) {
	bin, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o := agent.BuildOptions{Environ: os.Environ(), Bin: bin}
	specs, err := agent.Build(city, o)
	if err != nil {
		return nil, err
	}
	var all []*agent.Spec
	for _, s := range specs {
		pool := s.Resolved.Pool
		if pool == nil || pool.Max == 0 {
			all = append(all, s)
			continue
		}
		for _, bare := range agent.MemberNames(s, max(pool.Max, pool.Min)) {
			m, err := agent.Member(s, bare, o)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// agentProvider is where the agent's session lives: the controller's choice
// when one runs, else the selection.
func (a *app) agentProvider(ctx context.Context, city *config.City, s *agent.Spec) (runtime.Provider, error) {
	c := selected(firstOf(s.Resolved.Session, city.Session.Provider))
	client, err := controller.Dial(city.Dir)
	if err != nil {
		return a.newProvider(c, city.Dir) // no controller, or one that gives no answer
	}
	defer client.Close()
	status, err := client.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("controller of %s: %w", city.Name(), err)
	}
	if by := status.SessionProvider; by != "" && by != c.name {
		if c.origin == fromEnv {
			a.warn("GC_SESSION=%s is not used: the city's controller runs its agents by %s", c.name, by)
		}
		c = choice{by, "the city's controller"}
	}
	return a.newProvider(c, city.Dir)
}
