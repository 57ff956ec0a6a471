package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller"
)

// doctorReport is gc doctor --json.
type doctorReport struct {
	OK       bool                 `json:"ok"` // no problem; there may be warnings
	Findings []controller.Finding `json:"findings"`
}

func newDoctorCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out what is wrong, and what to do about it",
		Args:  exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON: ok and findings, each with level, about, text and hint")
	return describe(cmd, `Looks at your environment, the multiplexer, its folder and sockets, the session
providers, and, when there is a city, at its config, folders, controller, database
and agents. It starts and changes nothing.`, `
		gc doctor
		gc doctor --json | jq -r '.findings[] | select(.level == "problem").text'`,
		statuses{exitOK: "no problem (there may be warnings)", exitFailure: "there are problems"})
}

func runDoctor(ctx context.Context, a *app, asJSON bool) error {
	a.looksOnly = true
	f, ofMux, ofCity := &controller.Findings{}, &controller.Findings{}, &controller.Findings{}
	checkEnvironment(f)
	var mux sync.WaitGroup // at once: a server that hangs is waited for
	mux.Go(func() { checkMux(ctx, ofMux) })
	err := a.checkCity(ctx, ofCity)
	mux.Wait()
	if err != nil {
		return err
	}
	f.List = append(f.List, ofMux.List...)
	checkProviders(f)
	f.List = append(f.List, ofCity.List...)
	r := doctorReport{OK: true, Findings: f.List}
	for _, one := range f.List {
		r.OK = r.OK && one.Level != controller.LevelFail
	}
	print := a.printFindings
	if asJSON {
		print = func(doctorReport) error { return a.printJSON(r) }
	}
	if err := print(r); err != nil || r.OK {
		return err
	}
	return quiet(exitFailure)
}

// printFindings is the report for a person: a line each, and under it what to
// do.
func (a *app) printFindings(r doctorReport) error {
	wide, problems, warnings := 0, 0, 0
	for _, f := range r.Findings {
		wide = max(wide, len([]rune(display.Line(f.About))))
	}
	var b strings.Builder
	for _, f := range r.Findings {
		about := display.Line(f.About)
		fmt.Fprintf(&b, "%-7s  %s%s  %s\n", f.Level, about, strings.Repeat(" ", wide-len([]rune(about))), display.Line(f.Text))
		if f.Hint != "" {
			fmt.Fprintf(&b, "%-7s  %-*s  hint: %s\n", "", wide, "", display.Line(named(f.Hint)))
		}
		switch f.Level {
		case controller.LevelFail:
			problems++
		case controller.LevelWarn:
			warnings++
		}
	}
	if _, err := fmt.Fprint(a.out, b.String()); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "%s, %s\n", display.Count(problems, "problem"), display.Count(warnings, "warning"))
	return nil
}

// checkCity looks at the city, where there is one.
func (a *app) checkCity(ctx context.Context, f *controller.Findings) error {
	dir, err := a.cityDir()
	none := errors.Is(err, config.ErrNoCity) && a.city == ""
	if err != nil && !none {
		return err
	}
	c := selected("")
	if city, err := config.Load(dir); err == nil && !none {
		checkInherited(f, city, os.Environ())
		c = selectedIn(city)
	}
	p, err := a.newProvider(c, dir)
	if err != nil {
		_, hint := explain(err)
		f.Fail("sessions", hint, "%v", err)
	}
	if none {
		f.OK("city", "none here: gc init DIR makes one")
		return nil
	}
	bin, err := os.Executable()
	if err != nil {
		return err
	}
	f.List = append(f.List, controller.Diagnose(ctx, dir, p, agent.BuildOptions{Environ: os.Environ(), Bin: bin})...)
	return nil
}
