// Package backend chooses and makes the session providers of gc: by GC_SESSION, by
// city.toml, or another machine's ([Set]).
//
// Only this package names concrete providers, and every provider that it returns has
// deadlines. It never runs a city's script without asking Trusted. Only cmd/gc calls it.
package backend

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
	"sync"
	"time"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/sessionop"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/internal/self"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/acp"
	"gascity.dev/gc/runtime/exec"
	"gascity.dev/gc/runtime/native"
	"gascity.dev/gc/runtime/router"
	"gascity.dev/gc/runtime/runtimefake"
	"gascity.dev/gc/runtime/subprocess"
	"gascity.dev/gc/runtime/tmux"
	"gascity.dev/gc/runtime/wrap"
)

// Set makes the providers of a command, each once, and closes them. The zero value is
// for commands without a city.
type Set struct {
	Version   string // of this program, for a server that a provider starts
	LooksOnly bool   // the command must not run the city's session script

	// Trusted fails unless the user trusts the city to run its session script.
	Trusted func(city, script string) error

	// Through opens the stream to another machine through the one that holds it already,
	// such as the controller of the city; nil, nil: none does. May be nil.
	Through func(ctx context.Context, city, host string) (io.ReadWriteCloser, error)

	// NoExec keeps this process what it is, also if a provider needs gc-k8s.
	NoExec bool

	Make map[string]Maker // replaces the providers of this program, for tests

	mux native.Connection // to this machine's server

	mu       sync.Mutex
	warnings []string           // from the steps of a start, unless there is a
	tellStep func(runtime.Step) // function for steps
	opened   []io.Closer        // providers that hold connections
	made     map[key]runtime.Provider
	links    map[string]*link.Link // to other machines, by name
}

// Maker makes a provider for a city's directory; "" means without a city.
type Maker = func(s *Set, city string) (runtime.Provider, error)

// key identifies a provider in a Set.
type key struct {
	name, city string
	looksOnly  bool
	fromEnv    bool // named by the caller, so a script needs no trust
	routed     bool
}

// Like returns a Set with the same settings and no providers.
func (s *Set) Like() *Set {
	return &Set{Version: s.Version, LooksOnly: s.LooksOnly, Trusted: s.Trusted, Through: s.Through, NoExec: s.NoExec, Make: s.Make}
}

// Close closes the connections of the providers.
func (s *Set) Close() {
	for _, c := range s.opened {
		_ = c.Close() // the command has already reported its result
	}
	for _, l := range s.links {
		_ = l.Close()
	}
}

// Warnings returns what failed in starts that succeeded.
func (s *Set) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.warnings
}

// providers are the session providers of this program.
var providers = map[string]Maker{
	"native":     newNative,
	"tmux":       newTmux,
	"acp":        newACP,
	pods:         newK8s,
	acpPods:      newK8sACP,
	"subprocess": newSubprocess,
	"fake":       func(*Set, string) (runtime.Provider, error) { return runtimefake.New(), nil },
}

// errNotAsked is why a read-only command does not run a session script.
var errNotAsked = errors.New("this command does not run the city's scripts")

// Default is the provider that is used unless another one is chosen.
const Default = "native"

// providerNames are the providers that a user can choose, sorted; fake is for
// tests only.
func providerNames() []string {
	names := []string{config.HostAuto, config.HostHybrid}
	for n := range providers {
		if n != "fake" {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

func newNative(s *Set, _ string) (runtime.Provider, error) {
	return s.native(native.AllSessions)
}

// routed are the backends of a router that differ from the provider of the name: two
// over one multiplexer must not see the same session.
var routed = map[string]Maker{
	Default: func(s *Set, _ string) (runtime.Provider, error) { return s.native(native.WithoutControl) },
	"acp":   func(s *Set, city string) (runtime.Provider, error) { return s.acp(city, native.WithControl) },
}

func (s *Set) native(which native.Sessions) (runtime.Provider, error) {
	return native.New(native.Options{Version: s.Version, Report: s.startStep, Sessions: which, Connection: &s.mux})
}

// newACP returns the provider for agents that speak ACP, over the multiplexer.
func newACP(s *Set, city string) (runtime.Provider, error) {
	return s.acp(city, native.AllSessions)
}

func (s *Set) acp(city string, which native.Sessions) (runtime.Provider, error) {
	dir, err := acp.DefaultDir(os.Getenv, cityPath(city))
	if err != nil {
		return nil, err
	}
	base, err := s.native(which)
	if err != nil {
		return nil, err
	}
	return acp.New(acp.Options{Base: base, Dir: dir, Version: s.Version, Report: s.startStep})
}

// cityPath is the city's absolute directory, "" without one.
func cityPath(city string) string {
	if city == "" {
		return ""
	}
	return cli.RealPath(city)
}

func newTmux(s *Set, city string) (runtime.Provider, error) {
	socket, err := tmux.DefaultSocket(os.Getenv, city)
	if err != nil {
		return nil, err
	}
	return tmux.New(tmux.Options{Socket: socket, Report: s.startStep})
}

func newSubprocess(s *Set, city string) (runtime.Provider, error) {
	dir, err := subprocess.DefaultDir(os.Getenv, city)
	if err != nil {
		return nil, err
	}
	return subprocess.New(subprocess.Options{Dir: dir, Report: s.startStep})
}

// startStep records the failure of a step of a start. It becomes a warning if the
// start succeeds, and part of its error otherwise.
func (s *Set) startStep(step runtime.Step) {
	s.mu.Lock()
	tell := s.tellStep
	if tell == nil && step.Err != nil {
		s.warnings = append(s.warnings, fmt.Sprintf("%s: %s: %v", step.Session, step.Name, step.Err))
	}
	s.mu.Unlock()
	if tell != nil {
		tell(step)
	}
}

// TellSteps passes later steps of starts to report instead of recording them.
func (s *Set) TellSteps(report func(runtime.Step)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tellStep = report
}

// Selected is the provider of a command: GC_SESSION, else configured ([session]
// provider; may be empty), else native. Inside a session GC_SESSION may be the
// session's own name, which selects nothing.
func Selected(configured string) Choice {
	env := absoluteScript(os.Getenv("GC_SESSION"))
	switch {
	case env != "" && env != os.Getenv("GC_SESSION_NAME"):
		return Choice{Name: env, Origin: FromEnv}
	case configured != "":
		return Choice{Name: configured, Origin: "[session] provider"}
	}
	return Choice{Name: Default, Origin: "default"}
}

// FromEnv is the origin of a provider chosen by the environment.
const FromEnv = "GC_SESSION"

// Choice is a selected provider.
type Choice struct {
	Name   string
	Origin string // what chose it
	routed bool   // it is a router's backend
}

// Override is the provider that the environment names instead of the config's, ""
// without one.
func (c Choice) Override() string {
	if c.Origin != FromEnv {
		return ""
	}
	return c.Name
}

// ExecPrefix selects a session script.
const ExecPrefix = "exec:"

// absoluteScript makes the path of a session script in GC_SESSION absolute, also
// in the environment: a controller started from here runs in another directory.
func absoluteScript(env string) string {
	script, ok := strings.CutPrefix(env, ExecPrefix)
	if !ok || filepath.IsAbs(script) || !strings.ContainsRune(script, filepath.Separator) {
		return env
	}
	if abs, err := filepath.Abs(script); err == nil {
		env = ExecPrefix + abs
		_ = os.Setenv("GC_SESSION", env) // cannot fail: the value came from the environment
	}
	return env
}

// newExec returns the provider over a script. A relative path starts at the city.
// A script that the city names, not the caller, must be trusted.
func newExec(s *Set, c Choice, script, city string) (runtime.Provider, error) {
	path := strings.ContainsRune(script, filepath.Separator)
	if city != "" && !filepath.IsAbs(script) && path {
		script = filepath.Join(cli.RealPath(city), script)
	}
	var deny error
	if c.Origin != FromEnv {
		if s.LooksOnly {
			deny = errNotAsked
		} else if err := s.Trusted(city, script); err != nil {
			return nil, err
		}
	}
	p, err := exec.New(exec.Options{Script: script, Environ: scriptEnviron(city), Deny: deny, Report: s.startStep})
	if err != nil {
		return nil, cli.Fail(cli.ExitFailure, "exec: requires the path of an executable, or a name on PATH", "%v", err)
	}
	return p, nil
}

// scriptEnviron is the environment of a session script: this process's, the city,
// and GC_BIN and the wanted capabilities for scripts over gc itself.
func scriptEnviron(city string) []string {
	env := WithSelf(os.Environ())
	if os.Getenv(sessionop.CapabilitiesVar) == "" {
		env = append(env, sessionop.CapabilitiesVar+"=proc.exec,proc.provision")
	}
	if city != "" {
		city = cli.RealPath(city)
		env = append(env, "GC_CITY_PATH="+city, "GC_CITY="+city)
	}
	return env
}

// WithSelf adds GC_BIN, the path of gc, for scripts over gc itself.
func WithSelf(env []string) []string {
	if program, err := self.Program(); err == nil && os.Getenv("GC_BIN") == "" {
		env = append(env, "GC_BIN="+program)
	}
	return env
}

// SelectedIn is the provider of a city's agents: GC_SESSION, else auto if agents
// name different ones, else that of the city.
func SelectedIn(city *config.City) Choice {
	c := Selected(city.Session.Provider)
	if c.Origin == FromEnv || config.IsRouter(c.Name) {
		return c
	}
	for i := range city.Agents {
		if own := city.Agents[i].Session; own != "" && own != c.Name {
			return Choice{Name: config.HostAuto, Origin: "session of agent " + city.Agents[i].QualifiedName()}
		}
	}
	return c
}

// New returns the chosen provider for the city's directory, "" for none.
// It checks the provider's requirements first.
func (s *Set) New(c Choice, city string) (runtime.Provider, error) {
	make := s.newOne
	switch c.Name {
	case config.HostAuto:
		make = func(_ Choice, city string) (runtime.Provider, error) { return s.newAuto(city) }
	case config.HostHybrid:
		make = s.newHybrid
	}
	p, err := make(c, city)
	if err != nil {
		return nil, err // not an interface that holds a nil pointer
	}
	return p, nil
}

// NewController returns the provider of a city's controller. It can host agents elsewhere
// later, unless GC_SESSION hosts them all; until then it searches only what the city uses.
func (s *Set) NewController(c Choice, city *config.City) (runtime.Provider, error) {
	if c.Origin == FromEnv || config.IsRouter(c.Name) {
		return s.New(c, city.Dir)
	}
	var others []string
	if c.Name == Default && keepsACP(city.Dir) { // in the same multiplexer
		others = append(others, "acp")
	}
	r, err := router.Auto(s.backends(city.Dir, map[string]string{c.Name: c.Origin}), c.Name, others...)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// queryTime is the deadline of a query to a backend.
const queryTime = 10 * time.Second

// newOne returns a provider that does not route, the same one for each call with
// the same arguments. Every provider gets its decoration here.
func (s *Set) newOne(c Choice, city string) (runtime.Provider, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{c.Name, city, s.LooksOnly, c.Origin == FromEnv, c.routed}
	if p := s.made[k]; p != nil {
		return p, nil
	}
	p, err := s.construct(c, city)
	if err != nil {
		return nil, err
	}
	if c, ok := p.(io.Closer); ok {
		s.opened = append(s.opened, c)
	}
	var d wrap.Deadlines
	if !strings.HasPrefix(c.Name, ExecPrefix) { // scripts have their own, longer deadline
		d.Query = queryTime
	}
	if s.made == nil {
		s.made = map[key]runtime.Provider{}
	}
	s.made[k] = wrap.Decorate(p, d)
	return s.made[k], nil
}

func (s *Set) construct(c Choice, city string) (runtime.Provider, error) {
	if script, ok := strings.CutPrefix(c.Name, ExecPrefix); ok {
		return newExec(s, c, script, city)
	}
	if config.IsHost(c.Name) && s.Make == nil {
		return s.newFar(c, city)
	}
	makers := s.Make
	if makers == nil {
		makers = providers
	}
	make, ok := makers[c.Name]
	if m, special := routed[c.Name]; special && c.routed && s.Make == nil {
		make = m
	}
	if !ok {
		what := "unknown session provider"
		if config.ValidSessionProvider(c.Name) {
			what = "this gc does not have session provider"
		}
		return nil, cli.Fail(cli.ExitUsage, "valid values: "+strings.Join(append(providerNames(), ExecPrefix+"<script>", "ssh://<host>", "acp+ssh://<host>"), ", "), "%s %q (from %s)", what, c.Name, c.Origin)
	}
	return make(s, city)
}

// newAuto hosts each agent with the provider in its session key, else in [session]
// provider, else native. If the config cannot be read, sessions are looked for in
// every provider that may have them.
func (s *Set) newAuto(dir string) (runtime.Provider, error) {
	home, others := Default, leftProviders(dir)
	origin := map[string]string{}
	if city, err := config.Load(dir); dir != "" && err == nil {
		if p := city.Session.Provider; p != "" && !config.IsRouter(p) {
			home, origin[p] = p, "[session] provider"
		}
		for i := range city.Agents {
			if own := city.Agents[i].Session; own != "" {
				others = append(others, own)
				origin[own] = "session of agent " + city.Agents[i].QualifiedName()
			}
		}
	}
	return router.Auto(s.backends(dir, origin), home, others...)
}

// leftProviders may still have sessions of the city although no agent names them.
func leftProviders(dir string) []string {
	left := []string{Default}
	if socket, err := tmux.DefaultSocket(os.Getenv, dir); err == nil {
		if info, err := os.Stat(socket); err == nil && info.Mode()&fs.ModeSocket != 0 && tmux.Installed() {
			left = append(left, "tmux")
		}
	}
	if keepsACP(dir) {
		left = append(left, "acp")
	}
	if kept, err := subprocess.DefaultDir(os.Getenv, dir); err == nil {
		if _, err := os.Stat(kept); err == nil {
			left = append(left, "subprocess")
		}
	}
	return left
}

// keepsACP reports whether a city has, or had, agents over ACP.
func keepsACP(dir string) bool {
	kept, err := acp.DefaultDir(os.Getenv, cityPath(dir))
	if err != nil || dir == "" {
		return false
	}
	_, err = os.Stat(kept)
	return err == nil
}

// newHybrid hosts the sessions that match remote_match remotely.
func (s *Set) newHybrid(c Choice, dir string) (runtime.Provider, error) {
	if dir == "" {
		return nil, cli.Fail(cli.ExitUsage, "--city DIR selects one", "session provider hybrid (from %s) requires a city", c.Origin)
	}
	city, err := config.Load(dir)
	if err != nil {
		return nil, err
	}
	session := city.Session
	if len(session.RemoteMatch) == 0 {
		return nil, cli.Fail(cli.ExitUsage, `add remote_match = ["NAME*"] to [session]`, "session provider hybrid (from %s) requires remote_match", c.Origin)
	}
	local, remote := cmp.Or(session.Local, Default), cmp.Or(session.Remote, pods)
	return router.Hybrid(s.backends(dir, map[string]string{local: "[session] local", remote: "[session] remote"}), local, remote, session.RemoteMatch)
}

// backends makes the backends of a router; origin says what chose them.
func (s *Set) backends(dir string, origin map[string]string) func(string) (runtime.Provider, error) {
	return func(name string) (runtime.Provider, error) {
		return s.newOne(Choice{name, cmp.Or(origin[name], "a session of this city"), true}, dir)
	}
}

// ACPDir is the directory with the transcript of a city's agent over ACP.
func ACPDir(city, session string) (string, error) {
	dir, err := acp.DefaultDir(os.Getenv, cityPath(city))
	return acp.SessionDir(dir, session), err
}
