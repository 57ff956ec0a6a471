package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/internal/trust"
)

// trustEnv set to 1 trusts every city started in this environment, for machines
// without a person to ask.
const trustEnv = "GC_TRUST"

const trustHint = "gc trust DIR shows and trusts what it runs; in scripts use gc start --trust or " + trustEnv + "=1"

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
		Short: "Trust a city to run its commands",
		Args:  cli.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.city.flag = args[0]
			}
			return runTrust(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.always, "always", false, "trust whatever the city runs, now and in the future")
	f.BoolVar(&o.remove, "remove", false, "stop trusting the city; running agents keep running")
	f.BoolVar(&o.list, "list", false, "list the cities you trust")
	f.BoolVar(&o.json, "json", false, "with --list: print a JSON array")
	return cli.Describe(cmd, `The commands in city.toml run as your user, so gc runs none of them until you trust
the city. On a terminal gc start asks once; this command trusts without asking and
prints what the city runs. Trust covers what the city runs now: when that changes,
you are asked again, unless you trusted it with --always. Cities created by gc init
are trusted.

A city that another user owns or can write to never runs.

In scripts, use gc start --trust or set GC_TRUST=1.`, `
		gc trust examples/demo
		gc trust --always
		gc trust --list`,
		cli.Statuses{cli.ExitFailure: "failure, such as: other users can write to the city", cli.ExitNotFound: "no city here"})
}

func runTrust(ctx context.Context, a *app, o trustOptions) error {
	switch {
	case o.json && !o.list:
		return cli.Fail(cli.ExitUsage, "gc trust --list --json", "--json requires --list")
	case o.list && (o.always || o.remove) || o.always && o.remove:
		return cli.Fail(cli.ExitUsage, "", "use only one of --always, --remove and --list")
	}
	store, err := trust.DefaultStore(os.Getenv)
	if err != nil {
		return err
	}
	if o.list {
		return listTrust(&a.Console, store, o.json)
	}
	dir, err := a.city.dir()
	if err != nil {
		return err
	}
	if o.remove {
		if err := store.Remove(cli.RealPath(dir)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return cli.Fail(cli.ExitNotFound, "gc trust --list", "%s is not trusted", dir)
	}
	city, err := a.city.load()
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
		if _, err := fmt.Fprintln(a.Out, display.Line(line)); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.Err, "trusted: %s\n", display.Line(city.Dir))
	return reloadCity(ctx, city.Dir)
}

func listTrust(c *cli.Console, store trust.Store, asJSON bool) error {
	list, err := store.List()
	if err != nil {
		return err
	}
	if asJSON {
		return c.PrintJSON(list)
	}
	t := display.Table{Width: c.Width()}
	t.Add("CITY", "TRUSTED", "SINCE")
	for _, r := range list {
		what := "what it ran then"
		if r.Always {
			what = "always"
		}
		t.Add(r.City, what, r.Since.Local().Format("2006-01-02 15:04"))
	}
	return t.Print(c.Out)
}

// trusted returns nil if the city may run its commands. With record the user
// trusts it by this command. The survey says what it runs.
func trusted(city *config.City, record bool) (trust.Store, trust.Survey, error) {
	v, err := trust.Inspect(city)
	if err != nil {
		return trust.Store{}, v, err
	}
	byEnv := os.Getenv(trustEnv) == "1"
	script, chosen := strings.CutPrefix(backend.Selected("").Name, backend.ExecPrefix)
	if chosen { // by the caller; later commands get it from the controller
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
	case byEnv: // even if it could not be recorded
		return store, v, nil
	case err != nil || record:
		return store, v, err
	}
	return store, v, cli.Fail(cli.ExitFailure, trustHint, "city %s is not trusted: ran nothing", city.Dir)
}

// mayRun fails unless the city is trusted. Every start and reload checks it.
func mayRun(city *config.City) error {
	_, _, err := trusted(city, false)
	return err
}

// trustToStart is mayRun for a person: on a terminal it asks.
func trustToStart(ctx context.Context, c *cli.Console, city *config.City, record bool) error {
	store, v, err := trusted(city, record)
	var f *cli.Failure
	if err == nil || !errors.As(err, &f) || !c.Interactive() {
		return err
	}
	what := "The city %s is not trusted yet. It runs:\n"
	if store.Knows(v.City) {
		what = "The commands of the city %s have changed since you trusted it. It now runs:\n"
	}
	fmt.Fprintf(c.Err, what, display.Line(city.Dir))
	for _, line := range v.Runs {
		fmt.Fprintf(c.Err, "  %s\n", display.Line(line))
	}
	fmt.Fprint(c.Err, "Run this as your user? y (yes), a (always, also after changes), N (no): ")
	switch answer, e := c.ReadLine(ctx); {
	case e != nil && !errors.Is(e, io.EOF):
		return e
	case answer == "y" || answer == "yes":
		return store.Add(v, false)
	case answer == "a" || answer == "always":
		return store.Add(v, true)
	}
	return err
}

// scriptTrusted fails unless the city's session script is trusted.
func scriptTrusted(city, script string) error {
	store, err := trust.DefaultStore(os.Getenv)
	if err != nil {
		return err
	}
	ok, err := store.TrustsFile(cli.RealPath(city), script)
	if err != nil || ok || os.Getenv(trustEnv) == "1" {
		return err
	}
	return cli.Fail(cli.ExitFailure, trustHint, "city %s is not trusted: did not run its session script %s", city, script)
}

// trustOwn trusts a city that the user has just created.
func trustOwn(c *cli.Console, dir string) {
	store, err := trust.DefaultStore(os.Getenv)
	if err == nil {
		err = store.Add(trust.Survey{City: cli.RealPath(dir)}, true)
	}
	if err != nil {
		c.Warn("gc start will ask whether you trust the city: %v", err)
	}
}

// controllerTrust is mayRun with an error for the controller.
func controllerTrust(city *config.City) error {
	err := mayRun(city)
	var f *cli.Failure
	if errors.As(err, &f) {
		return &cityapi.Error{Err: errors.New("the commands of the city have changed and are not trusted yet"), Help: "gc trust " + shell.Word(city.Dir)}
	}
	return err
}
