package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"gascity.dev/gc/mux"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
	"gascity.dev/gc/runtime/tmux"
)

// providers names every way to host sessions that this program has, and makes
// it for a city's folder ("" for none). This is the only place that knows
// concrete providers.
var providers = map[string]func(a *app, city string) (runtime.Provider, error){
	"native": newNative,
	"tmux":   newTmux,
	"fake":   func(*app, string) (runtime.Provider, error) { return runtime.NewFake(), nil },
}

const defaultProvider = "native"

func providerNames() []string {
	names := make([]string, 0, len(providers))
	for n := range providers {
		names = append(names, n)
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

// startStep keeps what went wrong in a step of a start. It is a warning when
// the start succeeds all the same, else part of its error.
func (a *app) startStep(s runtime.Step) {
	if s.Err != nil {
		a.mu.Lock()
		a.warnings = append(a.warnings, fmt.Sprintf("%s: %s: %v", s.Session, s.Name, s.Err))
		a.mu.Unlock()
	}
}

// selected is the provider of a command: GC_SESSION, else configured
// ([session] provider, may be empty), else native. Inside a session GC_SESSION
// may hold the session's own name; that is no selection.
func selected(configured string) choice {
	env := os.Getenv("GC_SESSION")
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

// newProvider makes the chosen provider for the city's folder, "" for none.
func (a *app) newProvider(c choice, city string) (runtime.Provider, error) {
	make, ok := providers[c.name]
	if !ok {
		return nil, fail(exitUsage, "valid values: "+strings.Join(providerNames(), ", "),
			"unknown session provider %q (from %s)", c.name, c.origin)
	}
	return make(a, city)
}

// sessionProvider is the selected provider of the session commands: the
// nearest city has a say, but none is needed.
func (a *app) sessionProvider() (runtime.Provider, error) {
	if c := selected(""); c.origin == fromEnv {
		dir, _ := a.cityDir() // a broken city is in nobody's way here
		return a.newProvider(c, dir)
	}
	city, err := a.optionalCity()
	if err != nil {
		return nil, err
	}
	if city == nil {
		return a.newProvider(selected(""), "")
	}
	return a.newProvider(selected(city.Session.Provider), city.Dir)
}

// muxed is a provider whose sessions live in a mux.
type muxed interface {
	Client(context.Context) (*mux.Client, error)
}

func hasMux(p runtime.Provider) bool {
	_, ok := runtime.As[muxed](p)
	return ok
}

// muxClient is the mux behind a provider, for what the contract does not have.
// Providers without one make the command fail with exitUnsupported.
func muxClient(ctx context.Context, p runtime.Provider, what string) (*mux.Client, error) {
	m, ok := runtime.As[muxed](p)
	if !ok {
		return nil, fmt.Errorf("%s: %w", what, runtime.ErrUnsupported)
	}
	return m.Client(ctx)
}

// sessionClient is muxClient for one session: without a server there is none.
func sessionClient(ctx context.Context, t *target, what string) (*mux.Client, error) {
	c, err := muxClient(ctx, t.provider, what)
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
