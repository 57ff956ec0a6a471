package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/internal/trust"
)

// trustEnv set to 1 trusts every city that this environment starts: for build
// machines, which have nobody to ask.
const trustEnv = "GC_TRUST"

const trustHint = "gc trust DIR shows what it runs and trusts it; in scripts gc start --trust, or " + trustEnv + "=1"

// errNotAsked is why a command that only looks does not run a session script.
var errNotAsked = errors.New("this command runs nothing of a city's own")

type trustOptions struct {
	always bool
	remove bool
	list   bool
	json   bool
}

func newTrustCmd(a *app) *cobra.Command {
	var o trustOptions
	cmd := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Let a city run its own commands",
		Args:  between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.city = args[0]
			}
			return runTrust(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.always, "always", false, "trust whatever the city runs, now and later")
	f.BoolVar(&o.remove, "remove", false, "trust it no longer; what runs goes on")
	f.BoolVar(&o.list, "list", false, "list the cities you trust")
	f.BoolVar(&o.json, "json", false, "with --list: as a JSON array")
	return describe(cmd, `A city.toml names commands that run as you. gc runs nothing of a city before you
have trusted its folder: gc start asks once on a terminal, and this command does
the same without a question, and prints what it trusts. What is trusted is what
the city runs now; when that changes, you decide again, unless you said --always.
Cities that gc init made are yours, and trusted.

A city that another user owns, or that others may write, is never run.

For scripts: gc start --trust, or GC_TRUST=1 in the environment.`, `
		gc trust examples/demo
		gc trust --always
		gc trust --list`,
		statuses{exitFailure: "failure: others can write the city …", exitNotFound: "no city here"})
}

func runTrust(ctx context.Context, a *app, o trustOptions) error {
	switch {
	case o.json && !o.list:
		return fail(exitUsage, "gc trust --list --json", "--json needs --list")
	case o.list && (o.always || o.remove) || o.always && o.remove:
		return fail(exitUsage, "", "--always, --remove and --list exclude each other")
	}
	store, err := trust.DefaultStore(os.Getenv)
	if err != nil {
		return err
	}
	if o.list {
		return a.listTrust(store, o.json)
	}
	dir, err := a.cityDir()
	if err != nil {
		return err
	}
	if o.remove {
		if err := store.Remove(realPath(dir)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return fail(exitNotFound, "gc trust --list", "%s is not trusted", dir)
	}
	city, err := a.loadCity()
	if err != nil {
		return err
	}
	v, err := trust.Inspect(city)
	if err != nil {
		return err
	}
	if err := store.Add(v, o.always); err != nil {
		return err
	}
	for _, line := range v.Runs {
		if _, err := fmt.Fprintln(a.out, display.Line(line)); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.err, "trusted: %s\n", display.Line(city.Dir))
	return reloadCity(ctx, city.Dir)
}

func (a *app) listTrust(store trust.Store, asJSON bool) error {
	list, err := store.List()
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(list)
	}
	t := display.Table{Width: a.width()}
	t.Add("CITY", "TRUSTED", "SINCE")
	for _, r := range list {
		what := "what it ran then"
		if r.Always {
			what = "always"
		}
		t.Add(r.City, what, r.Since.Local().Format("2006-01-02 15:04"))
	}
	return t.Print(a.out)
}

func realPath(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}

// trusted returns nil when the city may run its commands; record says that a
// person trusts it with this command. The survey is for a question.
func trusted(city *config.City, record bool) (trust.Store, trust.Survey, error) {
	v, err := trust.Inspect(city)
	if err != nil {
		return trust.Store{}, v, err
	}
	byEnv := os.Getenv(trustEnv) == "1"
	script, chosen := strings.CutPrefix(selected("").name, execPrefix)
	if chosen { // by the caller: later commands ask the controller for it
		v.AddFile(script)
	}
	store, err := trust.DefaultStore(os.Getenv)
	switch {
	case err == nil && store.Trusts(v):
		if ok, e := store.TrustsFile(v.City, script); chosen && !ok && e == nil {
			err = store.Add(v, false)
		}
		return store, v, err
	case err == nil && (record || byEnv):
		err = store.Add(v, false)
	}
	switch {
	case byEnv: // with or without a record of it
		return store, v, nil
	case err != nil || record:
		return store, v, err
	}
	return store, v, fail(exitFailure, trustHint, "city %s is not trusted: nothing of it was run", city.Dir)
}

// mayRun is the condition of every start and reload of a city.
func mayRun(city *config.City) error {
	_, _, err := trusted(city, false)
	return err
}

// trustToStart is mayRun for a person: on a terminal it asks.
func (a *app) trustToStart(ctx context.Context, city *config.City, record bool) error {
	store, v, err := trusted(city, record)
	var f *failure
	if err == nil || !errors.As(err, &f) || !a.interactive() {
		return err
	}
	what := "The city %s is not trusted yet. It runs:\n"
	if store.Knows(v.City) {
		what = "What the city %s runs has changed since you trusted it. It runs now:\n"
	}
	fmt.Fprintf(a.err, what, display.Line(city.Dir))
	for _, line := range v.Runs {
		fmt.Fprintf(a.err, "  %s\n", display.Line(line))
	}
	fmt.Fprint(a.err, "Run this as your user? y (yes), a (always, whatever it runs later), N (no): ")
	switch answer, e := a.readLine(ctx); {
	case e != nil && !errors.Is(e, io.EOF):
		return e
	case answer == "y" || answer == "yes":
		return store.Add(v, false)
	case answer == "a" || answer == "always":
		return store.Add(v, true)
	}
	return err
}

// readLine reads one line from the terminal, in lower case, or returns when ctx
// ends; the reader then ends with the process. io.EOF for Ctrl-D.
func (a *app) readLine(ctx context.Context) (string, error) {
	line, none := make(chan string, 1), make(chan error, 1)
	go func() {
		text, err := bufio.NewReader(a.in).ReadString('\n')
		if text == "" && err != nil {
			none <- err
			return
		}
		line <- strings.ToLower(strings.TrimSpace(text))
	}()
	select {
	case text := <-line:
		return text, nil
	case err := <-none:
		fmt.Fprintln(a.err)
		return "", err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// scriptAllowed decides about a session script that a city names. deny is for a
// command that only looks: the script is never run.
func (a *app) scriptAllowed(city, path string) (deny, err error) {
	if a.looksOnly {
		return errNotAsked, nil
	}
	store, err := trust.DefaultStore(os.Getenv)
	if err != nil {
		return nil, err
	}
	ok, err := store.TrustsFile(realPath(city), path)
	if err != nil || ok || os.Getenv(trustEnv) == "1" {
		return nil, err
	}
	return nil, fail(exitFailure, trustHint, "city %s is not trusted: its session script %s was not run", city, path)
}

// trustOwn records a city that this person has just made.
func (a *app) trustOwn(dir string) {
	store, err := trust.DefaultStore(os.Getenv)
	if err == nil {
		err = store.Add(trust.Survey{City: realPath(dir)}, true)
	}
	if err != nil {
		a.warn("gc start will ask whether you trust it: %v", err)
	}
}

// controllerTrust is mayRun as the controller calls it, with a hint that fits.
func controllerTrust(city *config.City) error {
	err := mayRun(city)
	var f *failure
	if errors.As(err, &f) {
		return &cityapi.Error{Err: errors.New("what the city runs has changed, and is not trusted yet"), Help: "gc trust " + shell.Word(city.Dir)}
	}
	return err
}
