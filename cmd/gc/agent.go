package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/words"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
)

func newAgentCmd(a *app) *cobra.Command {
	return a.Group("agent", "List, stop, suspend, resume and change agents",
		"These commands act on the agents of the city. gc status shows their state.", `
		gc agent list
		gc agent stop worker`,
		[]cli.Entry{
			{Name: "list", Make: func() *cobra.Command { return newAgentListCmd(a) }},
			{Name: "stop", Make: func() *cobra.Command { return newAgentStopCmd(a) }},
			{Name: "suspend", Make: func() *cobra.Command { return newAgentSuspendCmd(a) }},
			{Name: "resume", Make: func() *cobra.Command { return newAgentResumeCmd(a) }},
			{Name: "set", Make: func() *cobra.Command { return newAgentSetCmd(a) }},
		})
}

// agentInfo is one agent, or pool, in gc agent list --json.
type agentInfo struct {
	Name        string    `json:"name"`
	Session     string    `json:"session"`
	Description string    `json:"description,omitempty"`
	Provider    string    `json:"provider,omitempty"` // preset or [providers.NAME]
	Command     string    `json:"command"`
	WorkDir     string    `json:"workDir"`
	Lifecycle   string    `json:"lifecycle,omitempty"`
	Suspended   bool      `json:"suspended,omitempty"`
	DependsOn   []string  `json:"dependsOn,omitempty"`
	Pool        *poolInfo `json:"pool,omitempty"`
}

// poolInfo is how many members a pool may have; max -1 means no limit.
type poolInfo struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

func newAgentListCmd(a *app) *cobra.Command {
	var asJSON bool
	var l cli.Listing
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agents in city.toml and their commands",
		Args:  cli.Exactly(0),
		RunE:  func(*cobra.Command, []string) error { return runAgentList(a, l, asJSON) },
	}
	cli.AddListing(cmd, &l, agentOrders.Keys())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cli.Describe(cmd, `Lists the agents in city.toml, running or not. A pool is one line with its size; gc
status shows its members.`, `
		gc agent list
		gc agent list --json`, cli.Statuses{cli.ExitFailure: "failure, or city.toml has problems", cli.ExitNotFound: "no city here"})
}

// agentOrders are the keys of gc agent list --sort.
var agentOrders = cli.Orders[agentInfo]{
	"name":     func(a, b agentInfo) int { return strings.Compare(a.Name, b.Name) },
	"provider": func(a, b agentInfo) int { return strings.Compare(a.Provider, b.Provider) },
}

func runAgentList(a *app, l cli.Listing, asJSON bool) error {
	if err := l.Check(&asJSON); err != nil {
		return err
	}
	city, err := a.loadCity()
	if err != nil {
		return err
	}
	specs, err := templates(city)
	if err != nil {
		return err
	}
	agents := []agentInfo{}
	for _, s := range specs {
		agents = append(agents, listedAgent(s))
	}
	if err := cli.Sort(agents, l, agentOrders); err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(agents)
	}
	if len(agents) == 0 {
		fmt.Fprintf(a.Err, "no agents: add [[agents]] to %s\n", display.Line(city.File))
		return nil
	}
	return a.printAgents(agents, l)
}

func (a *app) printAgents(agents []agentInfo, l cli.Listing) error {
	t := a.Table(l)
	header := []string{"AGENT", "SESSION", "COMMAND", "DESCRIPTION"}
	if l.Wide() {
		header = append(header, "PROVIDER", "LIFECYCLE", "WORK DIR", "DEPENDS ON")
	}
	t.Add(header...)
	for _, in := range agents {
		name := in.Name
		if in.Pool != nil {
			name += " (pool of " + poolSize(in.Pool) + ")"
		}
		row := []string{name, cmp.Or(in.Session, "-"), cmp.Or(in.Command, "(your shell)"), in.Description}
		if l.Wide() {
			row = append(row, cmp.Or(in.Provider, "-"), cmp.Or(in.Lifecycle, "-"), in.WorkDir, cmp.Or(strings.Join(in.DependsOn, ","), "-"))
		}
		t.Add(row...)
	}
	return t.Print(a.Out)
}

func listedAgent(s *agent.Spec) agentInfo {
	r := &s.Resolved
	in := agentInfo{
		Name: s.Name(), Session: s.Session, Description: r.Description, Provider: r.Provider, Command: s.Config.Command,
		WorkDir: s.Config.WorkDir, Lifecycle: s.Config.Lifecycle, Suspended: r.Suspended, DependsOn: r.DependsOn,
	}
	if s.IsPool() {
		in.Session = "" // its members have one each
		in.Pool = &poolInfo{Min: r.Pool.Min, Max: r.Pool.Max}
	}
	return in
}

func poolSize(p *poolInfo) string {
	switch {
	case p.Max < 0:
		return fmt.Sprintf("%d or more", p.Min)
	case p.Min == p.Max:
		return fmt.Sprint(p.Min)
	}
	return fmt.Sprintf("%d to %d", p.Min, p.Max)
}

func newAgentStopCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "stop AGENT...",
		Short:             "Stop agents until gc restart",
		Args:              cli.Between(1, -1),
		ValidArgsFunction: a.completeEveryAgent,
		RunE:              func(cmd *cobra.Command, args []string) error { return runAgentStop(cmd.Context(), a, args) },
	}
	return cli.Describe(cmd, "Stops the agents gracefully and returns when they are gone. They stay down until\ngc restart, gc agent resume or the next gc start.",
		"gc agent stop worker", cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: ""})
}

func runAgentStop(ctx context.Context, a *app, names []string) error {
	c, names, err := a.cityController(names...)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.StopAgents(ctx, names...)
}

// agentProvider is the provider of the agent's session: the one that a running
// controller uses, else the selected one.
func (a *app) agentProvider(ctx context.Context, city *config.City, s *agent.Spec) (runtime.Provider, error) {
	c := backend.SelectedIn(city)
	client, err := cityapi.Dial(city.Dir)
	if err != nil {
		return a.providers.New(c, city.Dir) // no controller, or it does not answer
	}
	defer client.Close()
	status, err := client.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("controller of %s: %w", city.Name(), err)
	}
	if by := status.SessionProvider; by != "" && by != c.Name {
		if c.Origin == backend.FromEnv {
			a.Warn("ignoring GC_SESSION=%s: the city's controller uses %s", c.Name, by)
		}
		c = backend.Choice{Name: by, Origin: "the city's controller"}
	}
	return a.providers.New(c, city.Dir)
}

// cityController connects to the city's controller for a call about agents. If the
// config can be read, it first checks and qualifies the names.
func (a *app) cityController(names ...string) (*cityapi.Client, []string, error) {
	dir, err := a.cityDir()
	if err != nil {
		return nil, nil, err
	}
	if city, err := config.Load(dir); err == nil {
		if names, err = a.qualify(city, names); err != nil {
			return nil, nil, err
		}
	}
	c, err := cityapi.Dial(dir)
	return c, names, err
}

// qualify turns names of agents, pool members and pools into qualified names.
func (a *app) qualify(city *config.City, names []string) ([]string, error) {
	out := make([]string, len(names))
	for i, n := range names {
		if ag, ok := city.Agent(n); ok {
			out[i] = ag.QualifiedName()
			continue
		}
		s, err := a.findAgent(city, n)
		if err != nil {
			return nil, err
		}
		out[i] = s.Name()
	}
	return out, nil
}

// findAgent returns the agent, or the member of a pool, that a person named.
func (a *app) findAgent(city *config.City, name string) (*agent.Spec, error) {
	o, err := buildOptions()
	if err != nil {
		return nil, err
	}
	return agent.Find(city, name, o)
}

// buildOptions describe this process as what starts agents.
func buildOptions() (agent.BuildOptions, error) {
	bin, err := os.Executable()
	return agent.BuildOptions{Environ: os.Environ(), Bin: bin}, err
}

// templates returns the specs of the city's agents and pools.
func templates(city *config.City) ([]*agent.Spec, error) {
	o, err := buildOptions()
	if err != nil {
		return nil, err
	}
	return agent.Build(city, o)
}

// members returns the specs of the city's agents and pool members: see
// [agent.Members].
func members(city *config.City, live func(session string) bool) ([]*agent.Spec, error) {
	o, err := buildOptions()
	if err != nil {
		return nil, err
	}
	return agent.Members(city, o, live)
}

// agentDown replaces a "no such session" error of an agent's command by one that
// says why the agent is down, with a hint.
func (a *app) agentDown(ctx context.Context, err error) error {
	if a.agent == nil || !errors.Is(err, runtime.ErrSessionNotFound) && !errors.Is(err, api.ErrNotFound) {
		return err
	}
	var f *cli.Failure
	if errors.As(err, &f) {
		return err // already specific
	}
	ag := a.statusOf(ctx, a.agent)
	if ag == nil {
		c, _, err := a.cityController()
		if errors.Is(err, cityapi.ErrAnotherUser) {
			return err
		}
		if err == nil {
			_ = c.Close()
		}
		return cli.Fail(cli.ExitNotFound, "gc start", "agent %s is not running", a.agent.label)
	}
	if ag.State == cityapi.StateRunning {
		return cli.Fail(cli.ExitCannotTell, "gc doctor; GC_MUX_SOCKET and XDG_STATE_HOME must be the same as for gc start",
			"agent %s is running, says the controller, but its session is not found from here", ag.Name)
	}
	hint := "gc restart " + ag.Name
	switch {
	case ag.SuspendedBy != "":
		_, hint = words.Suspended(*ag)
	case ag.State == cityapi.StateStarting || ag.WaitsFor != "":
		hint = "gc status --watch"
	case ag.Hint != "":
		hint = ag.Hint
	}
	return cli.Fail(cli.ExitNotFound, hint, "agent %s is not running: %s", ag.Name, words.State(*ag))
}
