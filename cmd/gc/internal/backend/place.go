package backend

import (
	"cmp"
	"context"
	"os"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/carry"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/far"
	"gascity.dev/gc/internal/spawn"
)

// Place returns a work directory on the machine where a provider hosts sessions, and makes
// it there.
func (s *Set) Place(ctx context.Context, provider, dir string) (carry.Place, error) {
	if !config.IsHost(provider) {
		return carry.Place{Run: spawn.Run, Env: os.Environ(), Dir: dir}, os.MkdirAll(dir, 0o777)
	}
	s.mu.Lock()
	l, err := s.link(provider, "")
	s.mu.Unlock()
	if err != nil {
		return carry.Place{}, err
	}
	c := far.NewClient(l.String(), l)
	path, err := c.Dir(ctx, dir, true)
	if err != nil {
		status, hint := cli.StatusOf(err)
		return carry.Place{}, cli.Fail(status, cmp.Or(hint, "set the agent's work_dir to a directory that it can have there"), "%w", err)
	}
	return carry.Place{Run: c.Run, Dir: path}, nil
}

// Places returns the providers between which an agent would move: the present one, and the
// one that a person named, which may be a registered host. It fails for an agent whose
// place is not its own to choose.
func (s *Set) Places(spec *agent.Spec, named string) (from, to string, err error) {
	switch city := spec.City; {
	case os.Getenv("GC_SESSION") != "":
		return "", "", cli.Fail(cli.ExitUsage, "unset GC_SESSION", "GC_SESSION hosts every agent of this city")
	case spec.IsPool() || spec.Resolved.Template != spec.Resolved.Name:
		return "", "", cli.Fail(cli.ExitUsage, "set session of the pool in city.toml", "%s is a pool, or a member of one", spec.Name())
	case city.Session.Provider == config.HostHybrid || spec.Resolved.Session == config.HostHybrid:
		return "", "", cli.Fail(cli.ExitUsage, "change remote_match of [session] in city.toml", "session provider hybrid hosts agents by their names")
	}
	if from = cmp.Or(spec.Resolved.Session, spec.City.Session.Provider, Default); from == config.HostAuto {
		from = Default
	}
	if to = named; !config.ValidSessionProvider(to) {
		h, err := host.Resolve(named)
		if err != nil {
			return "", "", cli.Fail(cli.ExitUsage, "ssh://[user@]HOST[:port], a name of gc host list, or native", "%v", err)
		}
		to = h.String()
	}
	if config.IsPods(from) || config.IsPods(to) {
		return "", "", cli.Fail(cli.ExitUnsupported, "change session of the agent in city.toml, then gc restart "+spec.Name(), "the work of %s cannot be moved into a pod, or out of one", spec.Name())
	}
	switch { // an agent over ACP stays one
	case !config.IsACP(from) || config.IsACP(to):
	case config.IsHost(to):
		to = config.HostACP + "+" + to
	case to == Default:
		to = config.HostACP
	}
	return from, to, nil
}
