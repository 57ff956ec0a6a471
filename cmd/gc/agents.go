package main

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/nearest"
)

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
