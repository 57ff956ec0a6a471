package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/configcmd"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/outside"
)

func newConfigCmd(a *app) *cobra.Command {
	return a.Group("config", "Check city.toml, show the resolved config, or print its schema",
		"A running city applies a valid change of city.toml at once.", `
		gc config check
		gc config show worker
		gc config schema > city.schema.json`,
		[]cli.Entry{
			{Name: "check", Make: func() *cobra.Command { return newConfigCheckCmd(a) }},
			{Name: "show", Make: func() *cobra.Command { return newConfigShowCmd(a) }},
			{Name: "schema", Make: func() *cobra.Command { return configcmd.NewSchema(&a.Console) }},
		})
}

// configReport is gc config check --json.
type configReport struct {
	File     string          `json:"file"`
	OK       bool            `json:"ok"`
	Agents   int             `json:"agents"`
	Problems []configProblem `json:"problems"`
	Warnings []string        `json:"warnings"`
}

// configProblem is one problem. Line and column count from 1; 0 means the whole
// file.
type configProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func newConfigCheckCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Report every problem in city.toml with its position",
		Args:  cli.Exactly(0),
		RunE:  func(*cobra.Command, []string) error { return runConfigCheck(a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: file, ok, agents, problems, warnings")
	return cli.Describe(cmd, `Reads city.toml as gc start does and reports every problem with file, line, column and
a hint. It also reports what would keep agents from starting on this machine: an
unsupported session provider, rigs and work dirs that do not exist, programs that are
not on PATH. It warns about keys without effect. It starts and changes nothing.`, `
		gc config check
		gc config check --json`, cli.Statuses{cli.ExitOK: "no problems", cli.ExitFailure: "problems found", cli.ExitNotFound: "no city here"})
}

func runConfigCheck(a *app, asJSON bool) error {
	dir, err := a.city.dir()
	if err != nil {
		return err
	}
	r := configReport{Problems: []configProblem{}, Warnings: []string{}}
	city, err := config.Load(dir, checkDetachKeys)
	if err == nil {
		r.File, r.Agents, r.Warnings = city.File, len(city.Agents), append(r.Warnings, agent.TemplateWarnings(city)...)
		for _, p := range city.Unused() {
			r.Warnings = append(r.Warnings, p.String()+hintBehind(p.Hint))
		}
		var specs []*agent.Spec
		if specs, err = agent.Build(city, agent.BuildOptions{Environ: os.Environ(), Provider: backend.SelectedIn(city).Override()}); err == nil {
			err = startProblems(a.providers, city, specs)
		}
	}
	if !asJSON {
		for _, w := range r.Warnings {
			a.Warn("%s", w)
		}
	}
	var problems *config.Problems
	if err != nil && (!asJSON || !errors.As(err, &problems)) {
		return err
	}
	if problems != nil {
		for _, p := range problems.List {
			r.File = p.File
			r.Problems = append(r.Problems, configProblem{File: p.File, Line: p.Line, Column: p.Column, Message: p.Msg, Hint: p.Hint})
		}
	}
	r.OK = len(r.Problems) == 0
	if asJSON {
		if err := a.PrintJSON(r); err != nil || r.OK {
			return err
		}
		return cli.Quiet(cli.ExitFailure)
	}
	warnings := ""
	if n := len(r.Warnings); n > 0 {
		warnings = display.Count(n, "warning") + ", "
	}
	_, err = fmt.Fprintf(a.Out, "%s: no problems, %s%s\n", display.Line(r.File), warnings, display.Count(r.Agents, "agent"))
	return err
}

// hintBehind is a hint to append to a warning.
func hintBehind(hint string) string {
	if hint == "" {
		return ""
	}
	return " (" + hint + ")"
}

type configShowOptions struct {
	json   bool
	reveal bool
}

func newConfigShowCmd(a *app) *cobra.Command {
	var o configShowOptions
	cmd := &cobra.Command{
		Use:               "show [AGENT...]",
		Short:             "Show the resolved config and the origin of each value",
		ValidArgsFunction: a.city.completeEveryTemplate,
		RunE:              func(_ *cobra.Command, args []string) error { return runConfigShow(a, args, o) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print JSON: file, city, agents, each value with key, value and origin")
	f.BoolVar(&o.reveal, "reveal", false, "also show secrets in env")
	return cli.Describe(cmd, `Shows the config of each agent, merged from presets, providers, [workspace] and its own
keys, and the file and line of every value. Values in env that look like secrets are
masked. Templates in commands are not expanded.`, `
		gc config show
		gc config show worker
		gc config show --json`, cli.Statuses{cli.ExitFailure: "failure, or city.toml has problems", cli.ExitNotFound: "no such agent or city"})
}

func runConfigShow(a *app, names []string, o configShowOptions) error {
	city, err := a.city.load()
	if err != nil {
		return err
	}
	for i, n := range names {
		ag, ok := city.Agent(n)
		if !ok {
			return agent.Unknown(city, templateNames(city), n)
		}
		names[i] = ag.QualifiedName()
	}
	shown, err := config.Show(city, os.Environ(), names...)
	if err != nil {
		return err
	}
	if !o.reveal {
		shown.Mask()
	}
	if o.json {
		return a.PrintJSON(shown)
	}
	return shown.WriteText(a.Out)
}

// templateNames are the qualified names of the agents and pools in city.toml.
func templateNames(city *config.City) []string {
	var names []string
	for i := range city.Agents {
		names = append(names, city.Agents[i].QualifiedName())
	}
	return names
}

// startProblems reports what would keep the city from starting: an unsupported
// session provider, missing rigs, work dirs and programs. The error is a
// *config.Problems.
func startProblems(providers *backend.Set, city *config.City, specs []*agent.Spec) error {
	var list []config.Problem
	add := func(at config.Pos, hint, format string, args ...any) {
		list = append(list, config.Problem{File: city.File, Line: at.Line, Column: at.Column, Msg: fmt.Sprintf(format, args...), Hint: hint})
	}
	providers.LooksOnly = true
	if _, err := providers.New(backend.SelectedIn(city), city.Dir); err != nil {
		_, hint := cli.Explain(err)
		add(providerPlace(city), hint, "%v", err)
	}
	for i := range city.Rigs {
		r := &city.Rigs[i]
		if path := config.Place(city.Dir, r.Path); !isDir(path) {
			add(r.Place("path"), "create the directory or change the path", "rig %q: %s: not a directory", r.Name, path)
		}
	}
	for _, s := range specs {
		ag, ok := city.Agent(s.Resolved.Template)
		if !ok {
			continue
		}
		for _, p := range outside.StartProblems(s) {
			at := ag.Place(p.Key)
			if p.Key == "start_command" && !ag.Has(p.Key) {
				at = ag.Place("provider")
			}
			add(at, p.Help, "agent %q: %s", s.Name(), p.Msg)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b config.Problem) int { return a.Line - b.Line })
	return &config.Problems{List: list}
}

// providerPlace is the position of the city's session provider.
func providerPlace(city *config.City) config.Pos {
	if city.Session.Has("provider") {
		return city.Session.Place("provider")
	}
	for i := range city.Agents {
		if city.Agents[i].Session != "" {
			return city.Agents[i].Place("session")
		}
	}
	return config.Pos{}
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
