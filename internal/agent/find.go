package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/nearest"
)

// LookupError explains why a name does not identify one agent of a city.
type LookupError struct {
	Msg       string
	Help      string // the next step
	Ambiguous bool   // several agents match; otherwise none does
}

func (e *LookupError) Error() string { return e.Msg }

// Hint returns the next step.
func (e *LookupError) Hint() string { return e.Help }

// hintNames is the maximum number of names in a hint.
const hintNames = 8

// Unknown is the error for a name that the city does not have; names are the
// ones it has.
func Unknown(c *config.City, names []string, name string) *LookupError {
	help := "agents of this city: " + strings.Join(names, ", ")
	switch near := nearest.Of(name, names); {
	case near != "":
		help = "did you mean " + near + "?"
	case len(names) == 0:
		help = "city.toml has no [[agents]]"
	case len(names) > hintNames:
		help = "gc agent list lists the agents of this city"
	}
	return &LookupError{Msg: fmt.Sprintf("no agent %q in city %s", name, c.Name()), Help: help}
}

// Find returns the agent or pool member with the qualified name, or with a bare
// name that is unique. The error is a *LookupError unless the specs cannot be
// built.
func Find(c *config.City, name string, o BuildOptions) (*Spec, error) {
	specs, err := Build(c, o)
	if err != nil {
		return nil, err
	}
	var found, pools, similar []*Spec
	for _, s := range specs {
		r := &s.Resolved
		switch {
		case !s.IsPool() && r.Name == name:
			return s, nil
		case !s.IsPool() && r.Base == name:
			found = append(found, s)
		case !s.IsPool():
		case s.HasMember(name):
			return Member(s, strings.TrimPrefix(name, r.Dir+"/"), o)
		case s.HasMember(s.MemberName(name)):
			m, err := Member(s, name, o)
			if err != nil {
				return nil, err
			}
			found = append(found, m)
		case name == r.Name || name == r.Base:
			pools = append(pools, s)
		case strings.HasPrefix(name, r.Name+"-") || strings.HasPrefix(name, r.Base+"-"):
			similar = append(similar, s)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return nil, notOne(c, name, specs, found, pools, similar)
}

// notOne is the error of Find: several agents have the name, or it is the name
// of a pool, or similar to the names of pool members, or unknown.
func notOne(c *config.City, name string, specs, found, pools, similar []*Spec) error {
	switch {
	case len(found) > 1:
		return &LookupError{Msg: fmt.Sprintf("several agents are named %q", name), Help: "use the full name, such as " + found[0].Name(), Ambiguous: true}
	case len(pools) > 0:
		member := pools[0].MemberName(MemberNames(pools[0], 1)[0])
		return &LookupError{Msg: name + " is a pool, not an agent", Help: "name a member, such as " + member, Ambiguous: true}
	case len(similar) == 1:
		pool, members := similar[0], "members"
		if pool.Resolved.Pool.Max == 1 {
			members = "member"
		}
		return &LookupError{
			Msg:  fmt.Sprintf("no agent %q in city %s: pool %s has at most %d %s", name, c.Name(), pool.Name(), pool.Resolved.Pool.Max, members),
			Help: "gc status shows the members",
		}
	}
	var all []string
	for _, s := range specs {
		all = append(all, s.Name())
	}
	return Unknown(c, all, name)
}

// IsPool reports whether the spec is a template of members rather than an
// agent.
func (s *Spec) IsPool() bool { return s.Resolved.Pool != nil && s.Resolved.Pool.Max != 0 }

// HasMember reports whether a qualified name is one of the pool's members,
// within its max.
func (s *Spec) HasMember(name string) bool {
	n, ok := s.memberNumber(name)
	return ok && (s.Resolved.Pool.Max < 0 || n <= s.Resolved.Pool.Max)
}

// memberNumber returns the number of the pool member with the qualified name,
// from 1: see MemberNames.
func (s *Spec) memberNumber(name string) (n int, ok bool) {
	bare := name
	if dir := s.Resolved.Dir; dir != "" {
		if bare, ok = strings.CutPrefix(name, dir+"/"); !ok {
			return 0, false
		}
	}
	list := s.Resolved.Pool.NamePool
	if i := slices.Index(list, bare); i >= 0 {
		return i + 1, true
	}
	number, ok := strings.CutPrefix(bare, s.Resolved.Base+"-")
	n, err := strconv.Atoi(number)
	return n, ok && err == nil && strconv.Itoa(n) == number && n > len(list)
}

// MemberName returns the qualified name of a pool member.
func (s *Spec) MemberName(bare string) string {
	if s.Resolved.Dir == "" {
		return bare
	}
	return s.Resolved.Dir + "/" + bare
}

// moreMembers is how many members above the minimum Members checks in an
// unlimited pool.
const moreMembers = 256

// Members returns the specs of every agent of the city, and of the members of
// every pool: the minimum, and those whose session is live.
func Members(c *config.City, o BuildOptions, live func(session string) bool) ([]*Spec, error) {
	specs, err := Build(c, o)
	if err != nil {
		return nil, err
	}
	var all []*Spec
	for _, s := range specs {
		if !s.IsPool() {
			all = append(all, s)
			continue
		}
		pool := s.Resolved.Pool
		most := pool.Max
		if most < 0 {
			most = pool.Min + moreMembers
		}
		for i, bare := range MemberNames(s, most) {
			if i >= pool.Min && !live(sessionName(c, s.MemberName(bare))) {
				continue
			}
			m, err := Member(s, bare, o)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}
