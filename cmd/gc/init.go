package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/shell"
)

func newInitCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Create a city",
		Args:  between(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return runInit(a, dir)
		},
	}
	return describe(cmd, `Writes a commented city.toml, ready to start, into the directory, which is created if
it does not exist (default: the current one). It never changes an existing city.toml.`, `
		gc init my-city
		cd my-city && gc start`, statuses{exitFailure: "failure, or the city already exists"})
}

func runInit(a *app, dir string) error {
	file, err := config.Init(dir)
	if errors.Is(err, config.ErrCityExists) {
		return fail(exitFailure, "gc start "+shell.Word(dir), "%s: %v", file, config.ErrCityExists)
	}
	if err != nil {
		return err
	}
	a.trustOwn(filepath.Dir(file))
	if _, err := fmt.Fprintln(a.out, display.Line(file)); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "start it: %s start %s\n", program, display.Line(shell.Word(filepath.Dir(file))))
	return nil
}
