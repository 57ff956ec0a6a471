package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completeLimit bounds how long a Tab may take.
const completeLimit = time.Second

func newCompletionCmd(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	cmd := &cobra.Command{
		Use:       "completion " + strings.Join(shells, "|"),
		Short:     "Print the completion script of a shell",
		Args:      exactly(1),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.out)
			}
			return fail(exitUsage, "valid values: "+strings.Join(shells, ", "), "unknown shell %q", args[0])
		},
	}
	return describe(cmd, "Prints a script that completes commands, flags, and the names of live sessions and\nof the city's agents.", `
		source <(gc completion bash)
		gc completion zsh > "${fpath[1]}/_gc"
		gc completion fish | source`, statuses{})
}

// completeSessions completes the first argument with the names of running
// sessions. A server is never started for it.
func (a *app) completeSessions(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	p, err := a.sessionProvider()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeLimit)
	defer cancel()
	names, err := p.ListRunning(ctx, prefix)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeAgents completes the first argument with the names of the city's
// agents.
func (a *app) completeAgents(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.agentNames(prefix), cobra.ShellCompDirectiveNoFileComp
}

// agentNames are the names of the city's agents with the prefix, as far as the
// config can be read.
func (a *app) agentNames(prefix string) []string {
	city, err := a.loadCity()
	if err != nil {
		return nil
	}
	specs, err := members(city)
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range specs {
		if strings.HasPrefix(s.Name(), prefix) {
			names = append(names, s.Name())
		}
	}
	return names
}

// completeThen completes the first argument as the scope does and the others
// with words.
func (s scope) completeThen(words func() []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return s.complete(cmd, args, prefix)
		}
		return words(), cobra.ShellCompDirectiveNoFileComp
	}
}
