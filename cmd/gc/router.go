package main

import (
	"io/fs"
	"os"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/router"
	"gascity.dev/gc/runtime/subprocess"
	"gascity.dev/gc/runtime/tmux"
)

// The providers that route to others.
const (
	autoProvider   = "auto"
	hybridProvider = "hybrid"
)

func isRouter(name string) bool { return name == autoProvider || name == hybridProvider }

// newAuto hosts each agent where its session key says, else where [session]
// provider does, else with native. A config that cannot be read names nobody:
// sessions are then looked for wherever they may be.
func (a *app) newAuto(dir string) (runtime.Provider, error) {
	home, others := defaultProvider, leftProviders(dir)
	origin := map[string]string{}
	if city, err := config.Load(dir); dir != "" && err == nil {
		if p := city.Session.Provider; p != "" && !isRouter(p) {
			home, origin[p] = p, "[session] provider"
		}
		for i := range city.Agents {
			if own := city.Agents[i].Session; own != "" {
				others = append(others, own)
				origin[own] = "session of agent " + city.Agents[i].QualifiedName()
			}
		}
	}
	return router.Auto(a.sides(dir, origin), home, others...)
}

// leftProviders are those that may hold sessions of the city, although no agent
// names them any more.
func leftProviders(dir string) []string {
	left := []string{defaultProvider}
	if socket, err := tmux.DefaultSocket(os.Getenv, dir); err == nil {
		if info, err := os.Stat(socket); err == nil && info.Mode()&fs.ModeSocket != 0 && tmux.Installed() {
			left = append(left, "tmux")
		}
	}
	if kept, err := subprocess.DefaultDir(os.Getenv, dir); err == nil {
		if _, err := os.Stat(kept); err == nil {
			left = append(left, "subprocess")
		}
	}
	return left
}

// newHybrid hosts the sessions that remote_match names remotely.
func (a *app) newHybrid(c choice, dir string) (runtime.Provider, error) {
	if dir == "" {
		return nil, fail(exitUsage, "--city DIR names one", "session provider hybrid (from %s) needs a city, which says what is remote", c.origin)
	}
	city, err := config.Load(dir)
	if err != nil {
		return nil, err
	}
	s := city.Session
	if len(s.RemoteMatch) == 0 {
		return nil, fail(exitUsage, `add remote_match = ["NAME*"] to [session]`, "session provider hybrid (from %s), but no session is remote", c.origin)
	}
	local, remote := firstOf(s.Local, defaultProvider), firstOf(s.Remote, "k8s")
	return router.Hybrid(a.sides(dir, map[string]string{local: "[session] local", remote: "[session] remote"}), local, remote, s.RemoteMatch)
}

// sides makes the sides of a router; origin is who named them.
func (a *app) sides(dir string, origin map[string]string) func(string) (runtime.Provider, error) {
	return func(name string) (runtime.Provider, error) {
		return a.newSide(choice{name, firstOf(origin[name], "a session of this city")}, dir)
	}
}
