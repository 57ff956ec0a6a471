package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/cmd/gc/internal/sessionop"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/exec"
	"gascity.dev/gc/runtime/native"
	"gascity.dev/gc/runtime/router"
	"gascity.dev/gc/runtime/runtimefake"
	"gascity.dev/gc/runtime/subprocess"
	"gascity.dev/gc/runtime/tmux"
	"gascity.dev/gc/runtime/wrap"
)

// providers are the session providers of this program, each made for a city's
// directory ("" for none). Only this file names concrete providers.
var providers = map[string]func(a *app, city string) (runtime.Provider, error){
	"native":     newNative,
	"tmux":       newTmux,
	"subprocess": newSubprocess,
	"fake":       func(*app, string) (runtime.Provider, error) { return runtimefake.New(), nil },
}

const defaultProvider = "native"

// providerNames are the providers that a user can choose, sorted; fake is for
// tests only.
func providerNames() []string {
	names := []string{autoProvider, hybridProvider}
	for n := range providers {
		if n != "fake" {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

func newNative(a *app, _ string) (runtime.Provider, error) {
	return native.New(native.Options{Version: version, Report: a.startStep})
}

func newTmux(a *app, city string) (runtime.Provider, error) {
	socket, err := tmux.DefaultSocket(os.Getenv, city)
	if err != nil {
		return nil, err
	}
	return tmux.New(tmux.Options{Socket: socket, Report: a.startStep})
}

func newSubprocess(a *app, city string) (runtime.Provider, error) {
	dir, err := subprocess.DefaultDir(os.Getenv, city)
	if err != nil {
		return nil, err
	}
	return subprocess.New(subprocess.Options{Dir: dir, Report: a.startStep})
}

// startStep records the failure of a step of a start. It becomes a warning if the
// start succeeds, and part of its error otherwise.
func (a *app) startStep(s runtime.Step) {
	a.mu.Lock()
	tell := a.tellStep
	if tell == nil && s.Err != nil {
		a.warnings = append(a.warnings, fmt.Sprintf("%s: %s: %v", s.Session, s.Name, s.Err))
	}
	a.mu.Unlock()
	if tell != nil {
		tell(s)
	}
}

// tellSteps passes later steps of starts to report instead of recording them.
func (a *app) tellSteps(report func(runtime.Step)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tellStep = report
}

// selected is the provider of a command: GC_SESSION, else configured ([session]
// provider; may be empty), else native. Inside a session GC_SESSION may be the
// session's own name, which selects nothing.
func selected(configured string) choice {
	env := absoluteScript(os.Getenv("GC_SESSION"))
	switch {
	case env != "" && env != os.Getenv("GC_SESSION_NAME"):
		return choice{env, fromEnv}
	case configured != "":
		return choice{configured, "[session] provider"}
	}
	return choice{defaultProvider, "default"}
}

// fromEnv is the origin of a provider chosen by the environment.
const fromEnv = "GC_SESSION"

// choice is a selected provider.
type choice struct {
	name   string
	origin string // what chose it
}

// execPrefix selects a session script.
const execPrefix = "exec:"

// absoluteScript makes the path of a session script in GC_SESSION absolute, also
// in the environment: a controller started from here runs in another directory.
func absoluteScript(env string) string {
	script, ok := strings.CutPrefix(env, execPrefix)
	if !ok || filepath.IsAbs(script) || !strings.ContainsRune(script, filepath.Separator) {
		return env
	}
	if abs, err := filepath.Abs(script); err == nil {
		env = execPrefix + abs
		_ = os.Setenv("GC_SESSION", env) // cannot fail: the value came from the environment
	}
	return env
}

// newExec returns the provider over a script. A relative path starts at the city.
// A script that the city names, not the caller, must be trusted.
func newExec(a *app, c choice, script, city string) (runtime.Provider, error) {
	path := strings.ContainsRune(script, filepath.Separator)
	if city != "" && !filepath.IsAbs(script) && path {
		script = filepath.Join(realPath(city), script)
	}
	var deny error
	if c.origin != fromEnv {
		var err error
		if deny, err = a.scriptAllowed(city, script); err != nil {
			return nil, err
		}
	}
	p, err := exec.New(exec.Options{Script: script, Environ: scriptEnviron(city), Deny: deny, Report: a.startStep})
	if err != nil {
		return nil, cli.Fail(cli.ExitFailure, "exec: requires the path of an executable, or a name on PATH", "%v", err)
	}
	return p, nil
}

// scriptEnviron is the environment of a session script: this process's, the city,
// and GC_BIN and the wanted capabilities for scripts over gc itself.
func scriptEnviron(city string) []string {
	env := withSelf(os.Environ())
	if os.Getenv(sessionop.CapabilitiesVar) == "" {
		env = append(env, sessionop.CapabilitiesVar+"=proc.exec,proc.provision")
	}
	if city != "" {
		city = realPath(city)
		env = append(env, "GC_CITY_PATH="+city, "GC_CITY="+city)
	}
	return env
}

// withSelf adds GC_BIN, the path of this program, for scripts over gc itself.
func withSelf(env []string) []string {
	if self, err := os.Executable(); err == nil && os.Getenv("GC_BIN") == "" {
		env = append(env, "GC_BIN="+self)
	}
	return env
}

// selectedIn is the provider of a city's agents: GC_SESSION, else auto if agents
// name different ones, else that of the city.
func selectedIn(city *config.City) choice {
	c := selected(city.Session.Provider)
	if c.origin == fromEnv || isRouter(c.name) {
		return c
	}
	for i := range city.Agents {
		if own := city.Agents[i].Session; own != "" && own != c.name {
			return choice{autoProvider, "session of agent " + city.Agents[i].QualifiedName()}
		}
	}
	return c
}

// newProvider returns the chosen provider for the city's directory, "" for none.
// It checks the provider's requirements first.
func (a *app) newProvider(c choice, city string) (runtime.Provider, error) {
	make := a.newBackend
	switch c.name {
	case autoProvider:
		make = func(_ choice, city string) (runtime.Provider, error) { return a.newAuto(city) }
	case hybridProvider:
		make = a.newHybrid
	}
	p, err := make(c, city)
	if err != nil {
		return nil, err // not an interface that holds a nil pointer
	}
	return p, nil
}

// queryTime is the deadline of a query to a backend.
const queryTime = 10 * time.Second

// newBackend returns a provider that does not route, the same one for each call with
// the same arguments. Every provider gets its decoration here.
func (a *app) newBackend(c choice, city string) (runtime.Provider, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := backend{c.name, city, a.looksOnly, c.origin == fromEnv}
	if p := a.made[key]; p != nil {
		return p, nil
	}
	p, err := a.construct(c, city)
	if err != nil {
		return nil, err
	}
	if c, ok := p.(io.Closer); ok {
		a.opened = append(a.opened, c)
	}
	var d wrap.Deadlines
	if !strings.HasPrefix(c.name, execPrefix) { // scripts have their own, longer deadline
		d.Query = queryTime
	}
	if a.made == nil {
		a.made = map[backend]runtime.Provider{}
	}
	a.made[key] = wrap.Decorate(p, d)
	return a.made[key], nil
}

func (a *app) construct(c choice, city string) (runtime.Provider, error) {
	if script, ok := strings.CutPrefix(c.name, execPrefix); ok {
		return newExec(a, c, script, city)
	}
	make, ok := providers[c.name]
	if !ok {
		what := "unknown session provider"
		if config.ValidSessionProvider(c.name) {
			what = "this gc does not have session provider"
		}
		return nil, cli.Fail(cli.ExitUsage, "valid values: "+strings.Join(append(providerNames(), execPrefix+"<script>"), ", "), "%s %q (from %s)", what, c.name, c.origin)
	}
	return make(a, city)
}

// sessionProvider is the provider of the session commands: another machine's with
// --host, else as GC_SESSION or the nearest city says, if there is one.
func (a *app) sessionProvider() (runtime.Provider, error) {
	if h, err := a.mux.Remote(); err != nil {
		return nil, err
	} else if h != nil {
		return a.remoteProvider(h)
	}
	if c := selected(""); c.origin == fromEnv {
		dir, _ := a.cityDir() // "" is fine
		return a.newProvider(c, dir)
	}
	city, err := a.optionalCity()
	var problems *config.Problems
	switch {
	case errors.As(err, &problems):
		// Session commands do not need a city, so a broken config is no error.
		a.Warn("cannot use city.toml (%s); using the %s provider (GC_SESSION selects another)", problems.List[0], defaultProvider)
		return a.newProvider(selected(""), "")
	case err != nil:
		return nil, err
	case city == nil:
		return a.newProvider(selected(""), "")
	}
	return a.newProvider(selectedIn(city), city.Dir)
}

// remoteProvider returns the provider of another machine's sessions.
func (a *app) remoteProvider(h *client.Host) (runtime.Provider, error) {
	return native.New(native.Options{Version: version, Report: a.startStep, Host: h})
}

// muxed is a provider whose sessions live in a mux.
type muxed interface {
	Client(context.Context) (*client.Client, error)
}

func hasMux(p runtime.Provider) bool {
	_, ok := runtime.As[muxed](p)
	return ok
}

// muxClient is a client of the mux behind a provider, for features outside the
// contract. It fails with runtime.ErrUnsupported for other providers.
func muxClient(ctx context.Context, p runtime.Provider, what string) (*client.Client, error) {
	m, ok := runtime.As[muxed](p)
	if !ok {
		return nil, fmt.Errorf("%s: %w", what, runtime.ErrUnsupported)
	}
	return m.Client(ctx)
}

// inMux reports whether the session lives, or would live, in a mux.
func inMux(ctx context.Context, t *target) (bool, error) {
	_, ok, err := runtime.AsFor[muxed](ctx, t.provider, t.session)
	return ok, err
}

// sessionClient is muxClient for one session; without a server the session does
// not exist.
func sessionClient(ctx context.Context, t *target, what string) (*client.Client, error) {
	m, ok, err := runtime.AsFor[muxed](ctx, t.provider, t.session)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", what, runtime.ErrUnsupported)
	}
	c, err := m.Client(ctx)
	if host.IsNoServer(err) {
		return nil, fmt.Errorf("%s: %w", t.label, runtime.ErrSessionNotFound)
	}
	return c, err
}

// mustExist fails if the session does not exist, for operations that are best
// effort and would ignore that.
func mustExist(ctx context.Context, t *target) error {
	running, err := t.provider.IsRunning(ctx, t.session)
	if err != nil {
		return err
	}
	if !running {
		return fmt.Errorf("%s: %w", t.label, runtime.ErrSessionNotFound)
	}
	return nil
}

// The providers that route to others.
const (
	autoProvider   = "auto"
	hybridProvider = "hybrid"
)

func isRouter(name string) bool { return name == autoProvider || name == hybridProvider }

// newAuto hosts each agent with the provider in its session key, else in [session]
// provider, else native. If the config cannot be read, sessions are looked for in
// every provider that may have them.
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
	return router.Auto(a.backends(dir, origin), home, others...)
}

// leftProviders may still have sessions of the city although no agent names them.
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

// newHybrid hosts the sessions that match remote_match remotely.
func (a *app) newHybrid(c choice, dir string) (runtime.Provider, error) {
	if dir == "" {
		return nil, cli.Fail(cli.ExitUsage, "--city DIR selects one", "session provider hybrid (from %s) requires a city", c.origin)
	}
	city, err := config.Load(dir)
	if err != nil {
		return nil, err
	}
	s := city.Session
	if len(s.RemoteMatch) == 0 {
		return nil, cli.Fail(cli.ExitUsage, `add remote_match = ["NAME*"] to [session]`, "session provider hybrid (from %s) requires remote_match", c.origin)
	}
	local, remote := cmp.Or(s.Local, defaultProvider), cmp.Or(s.Remote, "k8s")
	return router.Hybrid(a.backends(dir, map[string]string{local: "[session] local", remote: "[session] remote"}), local, remote, s.RemoteMatch)
}

// backends makes the backends of a router; origin says what chose them.
func (a *app) backends(dir string, origin map[string]string) func(string) (runtime.Provider, error) {
	return func(name string) (runtime.Provider, error) {
		return a.newBackend(choice{name, cmp.Or(origin[name], "a session of this city")}, dir)
	}
}
