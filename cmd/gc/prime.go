package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
)

func newPrimeCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "prime [AGENT]",
		Short:             "Print the prompt of an agent",
		Args:              cli.Between(0, 1),
		ValidArgsFunction: a.city.completeAgents,
		RunE: func(_ *cobra.Command, args []string) error {
			name := os.Getenv("GC_AGENT")
			if len(args) == 1 {
				name = args[0]
			}
			return runPrime(a, name)
		},
	}
	return cli.Describe(cmd, `Prints the prompt that the agent gets at its start: prompt_template and
global_fragments of city.toml, expanded. Inside a session the default is the session's
agent (GC_AGENT), so that an agent that lost its context can read it again. Prints
nothing for an agent without a prompt.`, `
		gc prime worker
		gc prime                  # inside a session`,
		cli.Statuses{cli.ExitUsage: "wrong usage, or no name outside a session", cli.ExitNotFound: "no such agent or city"})
}

func runPrime(a *app, name string) error {
	if name == "" {
		return cli.Fail(cli.ExitUsage, "gc prime AGENT", "requires the name of an agent: GC_AGENT is not set")
	}
	city, err := a.city.load()
	if err != nil {
		return err
	}
	spec, err := findAgent(city, name)
	if err != nil {
		return err
	}
	text, err := spec.PromptText()
	if err != nil {
		return err
	}
	if text == "" {
		fmt.Fprintf(a.Err, "agent %s has no prompt (prompt_template)\n", display.Line(spec.Name()))
		return nil
	}
	_, err = fmt.Fprintln(a.Out, text)
	return err
}
