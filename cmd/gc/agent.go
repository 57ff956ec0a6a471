package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/nearest"
	"gascity.dev/gc/mux/api"
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
			{"suspend", "", func() *cobra.Command { return newAgentSuspendCmd(a) }},
			{"resume", "", func() *cobra.Command { return newAgentResumeCmd(a) }},
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

// poolInfo is how many members a pool may have; max -1 is no limit.
type poolInfo struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

func newAgentListCmd(a *app) *cobra.Command {
	var asJSON bool
	var l listing
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agents of the config with what they run",
		Args:  exactly(0),
		RunE:  func(*cobra.Command, []string) error { return runAgentList(a, l, asJSON) },
	}
	addListing(cmd, &l, agentOrders.keys())
	cmd.Flags().BoolVar(&asJSON, "json", false, "as a JSON array")
	return describe(cmd, `Lists what city.toml says, whether it runs or not. A pool is one line with how
many members it may have; gc status shows the members.`, `
		gc agent list
		gc agent list --json`, statuses{exitFailure: "failure, or city.toml has problems", exitNotFound: "no city here"})
}

// agentOrders are the keys of gc agent list --sort.
var agentOrders = orders[agentInfo]{
	"name":     func(a, b agentInfo) int { return strings.Compare(a.Name, b.Name) },
	"provider": func(a, b agentInfo) int { return strings.Compare(a.Provider, b.Provider) },
}

func runAgentList(a *app, l listing, asJSON bool) error {
	if err := l.check(&asJSON); err != nil {
		return err
	}
	city, err := a.loadCity()
	if err != nil {
		return err
	}
	specs, _, err := templates(city)
	if err != nil {
		return err
	}
	agents := []agentInfo{}
	for _, s := range specs {
		agents = append(agents, listedAgent(s))
	}
	if err := sorted(agents, l, agentOrders); err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(agents)
	}
	if len(agents) == 0 {
		fmt.Fprintf(a.err, "no agents: add [[agents]] to %s\n", display.Line(city.File))
		return nil
	}
	return a.printAgents(agents, l)
}

func (a *app) printAgents(agents []agentInfo, l listing) error {
	t := a.newTable(l)
	header := []string{"AGENT", "SESSION", "COMMAND", "DESCRIPTION"}
	if l.wide() {
		header = append(header, "PROVIDER", "LIFECYCLE", "WORK DIR", "DEPENDS ON")
	}
	t.Add(header...)
	for _, in := range agents {
		name := in.Name
		if in.Pool != nil {
			name += " (pool of " + poolSize(in.Pool) + ")"
		}
		row := []string{name, cmp.Or(in.Session, "-"), cmp.Or(in.Command, "(your shell)"), in.Description}
		if l.wide() {
			row = append(row, cmp.Or(in.Provider, "-"), cmp.Or(in.Lifecycle, "-"), in.WorkDir, cmp.Or(strings.Join(in.DependsOn, ","), "-"))
		}
		t.Add(row...)
	}
	return t.Print(a.out)
}

func listedAgent(s *agent.Spec) agentInfo {
	r := &s.Resolved
	in := agentInfo{
		Name: s.Name(), Session: s.Session, Description: r.Description, Provider: r.Provider, Command: s.Config.Command,
		WorkDir: s.Config.WorkDir, Lifecycle: s.Config.Lifecycle, Suspended: r.Suspended, DependsOn: r.DependsOn,
	}
	if isPool(s) {
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
		Short:             "Stop agents; they stay down until gc restart",
		Args:              between(1, -1),
		ValidArgsFunction: a.completeEveryAgent,
		RunE:              func(cmd *cobra.Command, args []string) error { return runAgentStop(cmd.Context(), a, args) },
	}
	return describe(cmd, "Ends the agents gracefully and returns when they are gone. They stay down until\ngc restart, or the next gc start.",
		"gc agent stop worker", statuses{exitNotFound: "", exitCannotTell: ""})
}

func runAgentStop(ctx context.Context, a *app, names []string) error {
	c, names, err := a.cityController(names...)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.StopAgents(ctx, names...)
}

// agentProvider is where the agent's session lives: the controller's choice
// when one runs, else the selection.
func (a *app) agentProvider(ctx context.Context, city *config.City, s *agent.Spec) (runtime.Provider, error) {
	c := selectedIn(city)
	client, err := cityapi.Dial(city.Dir)
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

// cityController connects to the city's controller for a call about agents. The
// names are those of a person; as far as the config can be read they are
// checked and made whole before anything is asked.
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

// qualify finds the agents, pool members and pools that a person named.
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

// findAgent finds an agent, or a member of a pool, by its qualified name or by
// a bare name that only one has.
func (a *app) findAgent(city *config.City, name string) (*agent.Spec, error) {
	specs, o, err := templates(city)
	if err != nil {
		return nil, err
	}
	var found, pools, like []*agent.Spec
	for _, s := range specs {
		r := &s.Resolved
		switch {
		case isPool(s):
			bare := strings.TrimPrefix(name, r.Dir+"/")
			switch {
			case isMember(s, name):
				return agent.Member(s, bare, o)
			case isMember(s, memberName(s, name)):
				m, err := agent.Member(s, name, o)
				if err != nil {
					return nil, err
				}
				found = append(found, m)
			case name == r.Name || name == r.Base:
				pools = append(pools, s)
			case strings.HasPrefix(name, r.Name+"-") || strings.HasPrefix(name, r.Base+"-"):
				like = append(like, s)
			}
		case r.Name == name:
			return s, nil
		case r.Base == name:
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fail(exitUsage, "such as "+found[0].Name(), "several agents are named %q: say which", name)
	case len(pools) > 0:
		such := memberName(pools[0], agent.MemberNames(pools[0], 1)[0])
		return nil, fail(exitUsage, "such as "+such, "%s is a pool: say which member", name)
	}
	if len(like) == 1 {
		pool := like[0].Resolved.Pool
		return nil, fail(exitNotFound, "gc status shows the members", "no agent %q in city %s: pool %s has at most %s",
			name, city.Name(), like[0].Name(), display.Count(pool.Max, "member"))
	}
	var all []string
	for _, s := range specs {
		all = append(all, s.Name())
	}
	return nil, fail(exitNotFound, agentsHint(all, name), "no agent %q in city %s", name, city.Name())
}

// isPool reports a template of members, which is no agent itself.
func isPool(s *agent.Spec) bool { return s.Resolved.Pool != nil && s.Resolved.Pool.Max != 0 }

// isMember reports whether a pool may have a member of the qualified name.
func isMember(s *agent.Spec, name string) bool {
	pool, bare := s.Resolved.Pool, name
	if dir := s.Resolved.Dir; dir != "" {
		var ok bool
		if bare, ok = strings.CutPrefix(name, dir+"/"); !ok {
			return false
		}
	}
	if i := slices.Index(pool.NamePool, bare); i >= 0 {
		return pool.Max < 0 || i < pool.Max
	}
	number, ok := strings.CutPrefix(bare, s.Resolved.Base+"-")
	n, err := strconv.Atoi(number)
	return ok && err == nil && strconv.Itoa(n) == number && n > len(pool.NamePool) && (pool.Max < 0 || n <= pool.Max)
}

// hintNames is how many names a hint lists.
const hintNames = 8

// agentsHint offers the name that was meant, or some that there are.
func agentsHint(names []string, name string) string {
	if near := nearest.Of(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	switch n := len(names); {
	case n == 0:
		return "city.toml has no [[agents]] yet"
	case n > hintNames:
		return "gc agent list shows the agents of this city"
	}
	return "agents of this city: " + strings.Join(names, ", ")
}

// templates makes the specs of the agents and pools of the city as they are
// started from here.
func templates(city *config.City) ([]*agent.Spec, agent.BuildOptions, error) {
	o := agent.BuildOptions{Environ: os.Environ()}
	bin, err := os.Executable()
	if err != nil {
		return nil, o, err
	}
	o.Bin = bin
	specs, err := agent.Build(city, o)
	return specs, o, err
}

// moreMembers is how far above the minimum of an unlimited pool members are
// looked for.
const moreMembers = 256

// members makes the specs of every agent of the city, and of the members of
// every pool: its minimum, and those of which live says that they are there.
func members(city *config.City, live func(session string) bool) ([]*agent.Spec, error) {
	specs, o, err := templates(city)
	if err != nil {
		return nil, err
	}
	var all []*agent.Spec
	for _, s := range specs {
		if !isPool(s) {
			all = append(all, s)
			continue
		}
		pool := s.Resolved.Pool
		most := pool.Max
		if most < 0 {
			most = pool.Min + moreMembers
		}
		for i, bare := range agent.MemberNames(s, most) {
			if i >= pool.Min && !live(agent.SessionNameFor(city.Name(), city.NameID, city.Workspace.SessionTemplate, memberName(s, bare))) {
				continue
			}
			m, err := agent.Member(s, bare, o)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// memberName is the qualified name of a member.
func memberName(pool *agent.Spec, bare string) string {
	if pool.Resolved.Dir == "" {
		return bare
	}
	return pool.Resolved.Dir + "/" + bare
}

// agentDown puts the agent and the next step in the place of an error that only
// says that there is no session of its name.
func (a *app) agentDown(ctx context.Context, err error) error {
	if a.agent == nil || !errors.Is(err, runtime.ErrSessionNotFound) && !errors.Is(err, api.ErrNotFound) {
		return err
	}
	var f *failure
	if errors.As(err, &f) {
		return err // it says it already
	}
	ag := a.statusOf(ctx, a.agent)
	if ag == nil {
		return fail(exitNotFound, "gc start", "agent %s is not running", a.agent.label)
	}
	if ag.State == cityapi.StateRunning {
		return fail(exitCannotTell, "gc doctor; GC_MUX_SOCKET and XDG_STATE_HOME must be those of gc start",
			"the controller says that agent %s runs, but its session is not found from here", ag.Name)
	}
	hint := "gc restart " + ag.Name
	switch {
	case ag.SuspendedBy != "":
		_, hint = suspendedText(*ag)
	case ag.State == cityapi.StateStarting || ag.WaitsFor != "":
		hint = "gc status --watch"
	case ag.Hint != "":
		hint = ag.Hint
	}
	return fail(exitNotFound, hint, "agent %s is not running: %s", ag.Name, stateText(*ag))
}
