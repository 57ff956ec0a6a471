package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	cityapi "gascity.dev/gc/internal/controller/api"
)

func newPrimeCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "prime [AGENT]",
		Short:             "Print the prompt of an agent",
		Args:              cli.Between(0, 1),
		ValidArgsFunction: a.city.completeAgents,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := os.Getenv("GC_AGENT")
			if len(args) == 1 {
				name = args[0]
			}
			if err := runPrime(a, name); err != nil {
				return err
			}
			return primeMail(cmd.Context(), a)
		},
	}
	return cli.Describe(cmd, `Prints the prompt that the agent gets at its start: prompt_template and
global_fragments of city.toml, expanded. Inside a session the default is the session's
agent (GC_AGENT), so that an agent that lost its context can read it again, and a line
about its unread mail (gc mail). Prints nothing for an agent without a prompt.`, `
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

// primeMail says how many unread letters the agent of this session has.
func primeMail(ctx context.Context, a *app) error {
	if os.Getenv("GC_INSTANCE_TOKEN") == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cli.CompleteLimit)
	defer cancel()
	c, q, err := mailCity{a}.Post(cityapi.MailQuery{Unread: true})
	if err != nil {
		return nil // without a controller there is no mail to read
	}
	defer c.Close()
	list, err := c.Mail(ctx, q)
	if err != nil || len(list) == 0 || q.Token == "" {
		return nil // the prompt is what was asked for
	}
	_, err = fmt.Fprintf(a.Out, "You have %s: gc mail read shows them.\n", display.Count(len(list), "unread letter"))
	return err
}
