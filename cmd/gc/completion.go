package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
)

func newCompletionCmd(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	cmd := &cobra.Command{
		Use:       "completion " + strings.Join(shells, "|"),
		Short:     "Print the completion script for a shell",
		Args:      cli.Exactly(1),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.Out)
			case "fish":
				return root.GenFishCompletion(a.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Out)
			}
			return cli.Fail(cli.ExitUsage, "valid values: "+strings.Join(shells, ", "), "unknown shell %q", args[0])
		},
	}
	return cli.Describe(cmd, "Prints a script that completes commands, flags, and the names of running sessions\nand of the city's agents.", `
		source <(gc completion bash)
		gc completion zsh > "${fpath[1]}/_gc"
		gc completion fish | source`, cli.Statuses{})
}

// completeSessions completes the first argument with the names of running
// sessions. It never starts a server.
func (a *app) completeSessions(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	a.providers.LooksOnly = true
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.CompleteLimit)
	defer cancel()
	p, err := a.sessionProvider(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names, err := p.ListRunning(ctx, prefix)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeAgents completes the first argument with the names of agents.
func (f *cityFinder) completeAgents(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.agentNames(cmd.Context(), prefix), cobra.ShellCompDirectiveNoFileComp
}

// completeEveryAgent completes every argument with agents and pools that are not
// given yet.
func (f *cityFinder) completeEveryAgent(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	names := f.agentNames(cmd.Context(), prefix)
	if city, err := f.load(); err == nil {
		for _, n := range cli.WithPrefix(templateNames(city), prefix) {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return cli.Without(names, args), cobra.ShellCompDirectiveNoFileComp
}

// completeEveryTemplate is completeEveryAgent with the names in city.toml: pools
// instead of their members.
func (f *cityFinder) completeEveryTemplate(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	city, err := f.load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return cli.Without(cli.WithPrefix(templateNames(city), prefix), args), cobra.ShellCompDirectiveNoFileComp
}

// agentNames are the agents of the running controller, or else those of the
// config.
func (f *cityFinder) agentNames(ctx context.Context, prefix string) []string {
	dir, err := f.dir()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cli.CompleteLimit)
	defer cancel()
	var names []string
	if c, err := cityapi.Dial(dir); err == nil {
		defer c.Close()
		if st, err := c.Status(ctx); err == nil {
			for _, ag := range st.Agents {
				names = append(names, ag.Name)
			}
			return cli.WithPrefix(names, prefix)
		}
	}
	city, err := config.Load(dir)
	if err != nil {
		return nil
	}
	specs, err := members(city, func(string) bool { return false })
	if err != nil {
		return nil
	}
	for _, s := range specs {
		names = append(names, s.Name())
	}
	return cli.WithPrefix(names, prefix)
}

// completeThen completes the first argument as the scope does and the others with
// words.
func (s scope) completeThen(words func() []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return s.complete(cmd, args, prefix)
		}
		return words(), cobra.ShellCompDirectiveNoFileComp
	}
}
