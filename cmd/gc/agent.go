package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/cmd/gc/internal/move"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/carry"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

func newAgentCmd(a *app) *cobra.Command {
	return a.Group("agent", "List, stop, suspend, resume, change and move agents",
		"These commands act on the agents of the city. gc status shows their state.", `
		gc agent list
		gc agent stop worker`,
		[]cli.Entry{
			{Name: "list", Make: func() *cobra.Command { return newAgentListCmd(a) }},
			{Name: "stop", Make: func() *cobra.Command { return newAgentStopCmd(a) }},
			{Name: "suspend", Make: func() *cobra.Command { return newAgentSuspendCmd(a) }},
			{Name: "resume", Make: func() *cobra.Command { return newAgentResumeCmd(a) }},
			{Name: "set", Make: func() *cobra.Command { return newAgentSetCmd(a) }},
			{Name: "move", Make: func() *cobra.Command { return newAgentMoveCmd(a) }},
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
	city, err := a.city.load()
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
	return printAgents(&a.Console, agents, l)
}

func printAgents(c *cli.Console, agents []agentInfo, l cli.Listing) error {
	t := c.Table(l)
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
	return t.Print(c.Out)
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
		ValidArgsFunction: a.city.completeEveryAgent,
		RunE:              func(cmd *cobra.Command, args []string) error { return runAgentStop(cmd.Context(), a, args) },
	}
	return cli.Describe(cmd, "Stops the agents gracefully and returns when they are gone. They stay down until\ngc restart, gc agent resume or the next gc start.",
		"gc agent stop worker", cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: ""})
}

func runAgentStop(ctx context.Context, a *app, names []string) error {
	c, names, err := a.city.controller(names...)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.StopAgents(ctx, names...)
}

type agentSetOptions struct {
	mode  string
	model string
}

func newAgentSetCmd(a *app) *cobra.Command {
	var o agentSetOptions
	s := agentScope(a)
	cmd := &cobra.Command{
		Use:               "set AGENT",
		Short:             "Change the mode or model of a running agent",
		Args:              cli.Exactly(1),
		ValidArgsFunction: s.complete,
		RunE:              s.on(func(ctx context.Context, t *target) error { return runAgentSet(ctx, a, t, o) }),
	}
	f := cmd.Flags()
	f.StringVar(&o.mode, "mode", "", "what the agent may do by itself: an id or name of one of its `MODE`s")
	f.StringVar(&o.model, "model", "", "an id or name of one of its `MODEL`s")
	return cli.Describe(cmd, `For agents over ACP. It lasts as long as the conversation, also when the agent dies or
is restarted, unless mode or model in [agents.acp] changes. An unknown value is an error
that lists the valid ones; gc explain shows the present ones. In a mode in which the
agent decides by itself, its policy has nothing to answer.`, `
		gc agent set worker --mode plan
		gc agent set worker --model opus`,
		cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: "not an agent over ACP"})
}

func runAgentSet(ctx context.Context, a *app, t *target, o agentSetOptions) error {
	if o.mode == "" && o.model == "" {
		return cli.Fail(cli.ExitUsage, "add --mode MODE or --model MODEL", "nothing to set")
	}
	p, ok, err := runtime.AsFor[runtime.ModeProvider](ctx, t.provider, t.session)
	if err != nil {
		return err
	}
	if !ok {
		if running, err := t.provider.IsRunning(ctx, t.session); err == nil && !running {
			return fmt.Errorf("%s: %w", t.label, runtime.ErrSessionNotFound)
		}
		return fmt.Errorf("mode of %s: %w", t.label, runtime.ErrUnsupported)
	}
	if err := p.SetMode(ctx, t.session, o.mode, o.model); err != nil {
		return err
	}
	t.warnIfItDecides(&a.Console, o.mode)
	return nil
}

// warnIfItDecides warns about a mode in which the agent may not ask.
func (t *target) warnIfItDecides(c *cli.Console, mode string) {
	if t.spec == nil || mode == "" || t.spec.Resolved.AskingMode == "" {
		return
	}
	if yes, why := t.spec.Resolved.Asks(mode); !yes {
		c.Warn("agent %s: %s", t.label, why)
	}
}

type agentMoveOptions struct {
	session string
	workDir string
	carry   string
}

func newAgentMoveCmd(a *app) *cobra.Command {
	var o agentMoveOptions
	cmd := &cobra.Command{
		Use:               "move AGENT",
		Short:             "Move an agent to another machine, or back",
		Args:              cli.Exactly(1),
		ValidArgsFunction: a.city.completeAgents,
		RunE:              func(cmd *cobra.Command, args []string) error { return runAgentMove(cmd.Context(), a, args[0], o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.session, "session", "", "where to: ssh://[user@]HOST[:port], a `HOST` of gc host list, or native for this machine")
	f.StringVar(&o.workDir, "work-dir", "", "also set work_dir: the agent's `DIR` on that machine")
	f.StringVar(&o.carry, "carry", "", "take the work directory along: git with its history and uncommitted changes, or all files (`git|files`)")
	_ = cmd.RegisterFlagCompletionFunc("session", completeSessions)
	_ = cmd.RegisterFlagCompletionFunc("carry", cobra.FixedCompletions([]string{string(move.Git), string(move.Files)}, cobra.ShellCompDirectiveNoFileComp)) // the flags exist
	return cli.Describe(cmd, `Ends the agent, sets its session key in city.toml and starts it there. An idle agent
ends at once; another is drained (one interrupt, then at most drift_drain_timeout).
work_dir is a path on the machine where the agent runs, and is made if it does not exist.
With --carry it must have no changes of its own there; ignored files stay behind with git,
and nothing is deleted where the agent was. Its conversation is copied, and it resumes
that one, if gc knows where its program keeps conversations: else it begins a new one. If
a step fails, it starts again where it was.`, `
		gc agent move worker --session ssh://build.example --work-dir /home/me/project --carry git
		gc agent move worker --session native --work-dir project`,
		cli.Statuses{cli.ExitFailure: "failure: the agent is where it was", cli.ExitNotFound: "no such agent, city or controller", cli.ExitCannotTell: ""})
}

func runAgentMove(ctx context.Context, a *app, name string, o agentMoveOptions) error {
	what := move.Carry(o.carry)
	switch {
	case o.session == "":
		return cli.Fail(cli.ExitUsage, "gc agent move "+name+" --session ssh://HOST", "--session is required")
	case what != move.Nothing && what != move.Git && what != move.Files:
		return cli.Fail(cli.ExitUsage, "valid: git, files", "--carry %s: unknown", o.carry)
	}
	city, err := a.city.load()
	if err != nil {
		return err
	}
	spec, err := findAgent(city, name)
	if err != nil {
		return err
	}
	from, to, err := a.providers.Places(spec, o.session)
	if err != nil {
		return err
	}
	if from == to && o.workDir == "" {
		return cli.Fail(cli.ExitUsage, "gc status shows where agents are", "%s is there already: %s", spec.Name(), to)
	}
	c, _, err := a.city.controller()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := hostsBoth(ctx, c, spec.Name(), to); err != nil {
		return err
	}
	m := move.Move{
		City: city, Controller: c, Agent: spec.Name(), Carry: what,
		Keeps: carry.Conversation{Dir: spec.Resolved.ConversationDir, Files: spec.Resolved.ConversationFiles},
		From:  config.Placement{Session: from, WorkDir: workDirKey(spec)},
		To:    config.Placement{Session: to, WorkDir: cmp.Or(o.workDir, workDirKey(spec))},
		Place: func(ctx context.Context, p config.Placement) (carry.Place, error) {
			there, err := placed(city, spec.Name(), p)
			if err != nil {
				return carry.Place{}, err
			}
			place, err := a.providers.Place(ctx, p.Session, there.Config.WorkDir)
			for name, value := range there.Config.Env { // may say where the program keeps its state
				place.Env = append(place.Env, name+"="+value)
			}
			return place, err
		},
		Say: func(step string) { fmt.Fprintf(a.Err, "%s\n", display.Line(step)) },
	}
	if err := m.Run(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "%s starts on %s\n", display.Line(spec.Name()), display.Line(to))
	return err
}

// hostsBoth fails if the running city hosts every agent with one provider, another one:
// GC_SESSION says so, or its controller is older than gc agent move.
func hostsBoth(ctx context.Context, c *cityapi.Client, name, to string) error {
	st, err := c.Status(ctx)
	if err != nil || st.SessionProvider == to || st.AnyProvider {
		return err
	}
	return cli.Fail(cli.ExitFailure, fmt.Sprintf("set session = %q for %s in city.toml, then gc stop and gc start", to, name),
		"%w: no agent of the running city is elsewhere than on %s", move.ErrStays, st.SessionProvider)
}

// workDirKey is an agent's own work_dir in city.toml.
func workDirKey(s *agent.Spec) string {
	if ag, ok := s.City.Agent(s.Name()); ok {
		return ag.WorkDir
	}
	return ""
}

// placed returns an agent as it would be in another place.
func placed(city *config.City, name string, p config.Placement) (*agent.Spec, error) {
	changed := *city
	changed.Agents = slices.Clone(city.Agents)
	for i := range changed.Agents {
		if ag := &changed.Agents[i]; ag.QualifiedName() == name {
			ag.Session, ag.WorkDir = p.Session, p.WorkDir
		}
	}
	return findAgent(&changed, name)
}

// completeSessions completes where agents can be moved to.
func completeSessions(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	names, _ := host.Complete(cmd, args, prefix)
	if strings.HasPrefix(backend.Default, prefix) {
		names = append(names, backend.Default)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
