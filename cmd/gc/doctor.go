package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/doctor"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/outside"
)

// doctorReport is gc doctor --json.
type doctorReport struct {
	OK       bool              `json:"ok"` // no problems; there may be warnings
	Findings []outside.Finding `json:"findings"`
}

func newDoctorCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Diagnose problems and suggest fixes",
		Args:  cli.Exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: ok and findings, each with level, about, text and hint")
	return cli.Describe(cmd, `Checks your environment, the multiplexer with its directory and sockets, the session
providers, and, in a city, its config, directories, controller, database and agents.
It starts and changes nothing.`, `
		gc doctor
		gc doctor --json | jq -r '.findings[] | select(.level == "problem").text'`,
		cli.Statuses{cli.ExitOK: "no problems (there may be warnings)", cli.ExitFailure: "problems found"})
}

func runDoctor(ctx context.Context, a *app, asJSON bool) error {
	a.providers.LooksOnly = true
	f, ofMux, ofCity := &outside.Findings{}, &outside.Findings{}, &outside.Findings{}
	doctor.Environment(f)
	var mux sync.WaitGroup // concurrently: a hanging server takes a while
	mux.Go(func() { doctor.Mux(ctx, ofMux, version) })
	err := checkCity(ctx, a, ofCity)
	mux.Wait()
	if err != nil {
		return err
	}
	f.List = append(f.List, ofMux.List...)
	doctor.Providers(f)
	f.List = append(f.List, ofCity.List...)
	r := doctorReport{OK: true, Findings: f.List}
	for _, one := range f.List {
		r.OK = r.OK && one.Level != outside.LevelFail
	}
	if asJSON {
		err = a.PrintJSON(r)
	} else {
		err = r.print(&a.Console)
	}
	if err != nil || r.OK {
		return err
	}
	return cli.Quiet(cli.ExitFailure)
}

// print prints one line per finding, wrapped on a terminal, with its hint
// below.
func (r *doctorReport) print(c *cli.Console) error {
	wide, problems, warnings := 0, 0, 0
	for _, f := range r.Findings {
		wide = max(wide, len([]rune(display.Line(f.About))))
	}
	var b strings.Builder
	for _, f := range r.Findings {
		about := display.Line(f.About)
		margin := "\n" + strings.Repeat(" ", wide+len("problem")+4)
		text := strings.Join(display.Wrap(display.Line(f.Text), c.Width()-len(margin)+1), margin)
		fmt.Fprintf(&b, "%-7s  %s%s  %s\n", f.Level, about, strings.Repeat(" ", wide-len([]rune(about))), text)
		if f.Hint != "" {
			fmt.Fprintf(&b, "%-7s  %-*s  hint: %s\n", "", wide, "", display.Line(cli.Named(f.Hint)))
		}
		switch f.Level {
		case outside.LevelFail:
			problems++
		case outside.LevelWarn:
			warnings++
		}
	}
	if _, err := fmt.Fprint(c.Out, b.String()); err != nil {
		return err
	}
	fmt.Fprintf(c.Err, "%s, %s\n", display.Count(problems, "problem"), display.Count(warnings, "warning"))
	return nil
}

// checkCity checks the city, if there is one.
func checkCity(ctx context.Context, a *app, f *outside.Findings) error {
	dir, err := a.city.dir()
	none := a.city.none(err)
	if err != nil && !none {
		return err
	}
	c := backend.Selected("")
	if city, err := config.Load(dir); err == nil && !none {
		doctor.Inherited(f, city, os.Environ())
		c = backend.SelectedIn(city)
	}
	p, err := a.providers.New(c, dir)
	if err != nil {
		_, hint := cli.Explain(err)
		f.Fail("sessions", hint, "%v", err)
	}
	if none {
		f.OK("city", "none here; gc init DIR creates one")
		return nil
	}
	build, err := buildOptions()
	if err != nil {
		return err
	}
	build.Provider = c.Override()
	f.List = append(f.List, outside.Diagnose(ctx, dir, p, build)...)
	return nil
}
