package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/shell"
)

func newInitCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Create a city",
		Args:  cli.Between(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return runInit(a, dir)
		},
	}
	return cli.Describe(cmd, `Writes a commented city.toml, ready to start, into the directory, which is created if
it does not exist (default: the current one). It never changes an existing city.toml.`, `
		gc init my-city
		cd my-city && gc start`, cli.Statuses{cli.ExitFailure: "failure, or the city already exists"})
}

func runInit(a *app, dir string) error {
	file, err := config.Init(dir)
	if errors.Is(err, config.ErrCityExists) {
		return cli.Fail(cli.ExitFailure, "gc start "+shell.Word(dir), "%s: %v", file, config.ErrCityExists)
	}
	if err != nil {
		return err
	}
	trustOwn(&a.Console, filepath.Dir(file))
	if _, err := fmt.Fprintln(a.Out, display.Line(file)); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "start it: %s start %s\n", cli.Program, display.Line(shell.Word(filepath.Dir(file))))
	return nil
}
