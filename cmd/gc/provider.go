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

// providers names every way to host sessions that this program has, and makes
// it for a city's folder ("" for none). This is the only place that knows
// concrete providers.
var providers = map[string]func(a *app, city string) (runtime.Provider, error){
	"native":     newNative,
	"tmux":       newTmux,
	"subprocess": newSubprocess,
	"fake":       func(*app, string) (runtime.Provider, error) { return runtimefake.New(), nil },
}

const defaultProvider = "native"

// providerNames lists the providers that a person may choose, sorted; fake is for
// tests.
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

// startStep keeps what went wrong in a step of a start. It is a warning when
// the start succeeds all the same, else part of its error.
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

// tellSteps passes the steps of starts on from now on, and keeps none.
func (a *app) tellSteps(told func(runtime.Step)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tellStep = told
}

// selected is the provider of a command: GC_SESSION, else configured
// ([session] provider, may be empty), else native. Inside a session GC_SESSION
// may hold the session's own name; that is no selection.
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

// fromEnv is the origin of a choice by the environment.
const fromEnv = "GC_SESSION"

// choice is a selected provider.
type choice struct {
	name   string
	origin string // who chose it
}

// execPrefix selects a session script.
const execPrefix = "exec:"

// absoluteScript is GC_SESSION with the path of a session script made absolute,
// here and for a controller that is started from here and runs elsewhere.
func absoluteScript(env string) string {
	script, ok := strings.CutPrefix(env, execPrefix)
	if !ok || filepath.IsAbs(script) || !strings.ContainsRune(script, filepath.Separator) {
		return env
	}
	if abs, err := filepath.Abs(script); err == nil {
		env = execPrefix + abs
		_ = os.Setenv("GC_SESSION", env) // the name and the value have no NUL: they come from the environment
	}
	return env
}

// newExec makes the provider over a script. A relative path is the city's.
// One that the city names, and not the caller, is run only when a person trusts
// it.
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
		return nil, fail(exitFailure, "exec: takes the path of an executable, or a name on PATH", "%v", err)
	}
	return p, nil
}

// scriptEnviron is the environment of a session script: this process's, with
// the city that it works for, and for scripts over gc itself the program and
// what is asked of it.
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

// withSelf adds GC_BIN, this program, for scripts over gc itself.
func withSelf(env []string) []string {
	if self, err := os.Executable(); err == nil && os.Getenv("GC_BIN") == "" {
		env = append(env, "GC_BIN="+self)
	}
	return env
}

// selectedIn is the provider of a city's agents: one for all, or auto when
// agents name their own. GC_SESSION is above both.
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

// newProvider makes the chosen provider for the city's folder, "" for none.
// Everything that it needs is checked before anything is touched.
func (a *app) newProvider(c choice, city string) (runtime.Provider, error) {
	make := a.newSide
	switch c.name {
	case autoProvider:
		make = func(_ choice, city string) (runtime.Provider, error) { return a.newAuto(city) }
	case hybridProvider:
		make = a.newHybrid
	}
	p, err := make(c, city)
	if err != nil {
		return nil, err // and no interface that holds a nil pointer
	}
	return p, nil
}

// queryTime is when a person hears that a backend gives no answer.
const queryTime = 10 * time.Second

// newSide makes a provider that routes nothing, or gives the one that the command
// has made. This is where every provider gets its decoration.
func (a *app) newSide(c choice, city string) (runtime.Provider, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := side{c.name, city, a.looksOnly, c.origin == fromEnv}
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
		a.made = map[side]runtime.Provider{}
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
			what = "this gc has no session provider"
		}
		return nil, fail(exitUsage, "valid values: "+strings.Join(append(providerNames(), execPrefix+"<script>"), ", "), "%s %q (from %s)", what, c.name, c.origin)
	}
	return make(a, city)
}

// sessionProvider is the selected provider of the session commands: another
// machine's with --host, else the nearest city has a say, but none is needed.
func (a *app) sessionProvider() (runtime.Provider, error) {
	if h, err := a.remote(); err != nil {
		return nil, err
	} else if h != nil {
		return a.remoteProvider(h)
	}
	if c := selected(""); c.origin == fromEnv {
		dir, _ := a.cityDir() // a broken city is in nobody's way here
		return a.newProvider(c, dir)
	}
	city, err := a.optionalCity()
	var problems *config.Problems
	switch {
	case errors.As(err, &problems):
		// The sessions need no city: a config that cannot be read is not theirs.
		a.warn("city.toml cannot be used (%s); taking the %s provider, GC_SESSION selects another", problems.List[0], defaultProvider)
		return a.newProvider(selected(""), "")
	case err != nil:
		return nil, err
	case city == nil:
		return a.newProvider(selected(""), "")
	}
	return a.newProvider(selectedIn(city), city.Dir)
}

// muxed is a provider whose sessions live in a mux.
type muxed interface {
	Client(context.Context) (*client.Client, error)
}

func hasMux(p runtime.Provider) bool {
	_, ok := runtime.As[muxed](p)
	return ok
}

// muxClient is the mux behind a provider, for what the contract does not have.
// Providers without one make the command fail with exitUnsupported.
func muxClient(ctx context.Context, p runtime.Provider, what string) (*client.Client, error) {
	m, ok := runtime.As[muxed](p)
	if !ok {
		return nil, fmt.Errorf("%s: %w", what, runtime.ErrUnsupported)
	}
	return m.Client(ctx)
}

// inMux reports whether the session lives in a mux, or would.
func inMux(ctx context.Context, t *target) (bool, error) {
	_, ok, err := runtime.AsFor[muxed](ctx, t.provider, t.session)
	return ok, err
}

// sessionClient is muxClient for one session: without a server there is none.
func sessionClient(ctx context.Context, t *target, what string) (*client.Client, error) {
	m, ok, err := runtime.AsFor[muxed](ctx, t.provider, t.session)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", what, runtime.ErrUnsupported)
	}
	c, err := m.Client(ctx)
	if isNoServer(err) {
		return nil, fmt.Errorf("%s: %w", t.label, runtime.ErrSessionNotFound)
	}
	return c, err
}

// mustExist makes a missing session an error where the contract's operation is
// best effort and would say nothing.
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
	local, remote := cmp.Or(s.Local, defaultProvider), cmp.Or(s.Remote, "k8s")
	return router.Hybrid(a.sides(dir, map[string]string{local: "[session] local", remote: "[session] remote"}), local, remote, s.RemoteMatch)
}

// sides makes the sides of a router; origin is who named them.
func (a *app) sides(dir string, origin map[string]string) func(string) (runtime.Provider, error) {
	return func(name string) (runtime.Provider, error) {
		return a.newSide(choice{name, cmp.Or(origin[name], "a session of this city")}, dir)
	}
}
