package reportcmd

import (
	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/agent"
)

// NewFile returns gc hook-file.
func NewFile() *cobra.Command {
	cmd := &cobra.Command{
		Use:    agent.HookFileCommand + " AGENT FILE [OWN…]",
		Short:  "Write the file that an agent of this machine loads its hooks from",
		Args:   cobra.MinimumNArgs(2),
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			return agent.WriteHookFile(args[0], args[1], args[2:])
		},
	}
	cmd.Flags().SetInterspersed(false) // OWN has flags of its own
	return cli.Describe(cmd, `Internal: run on another machine before an agent starts there. It writes FILE: hooks
that call gc report, merged with what qwen or codex has of its own on that machine, or
with OWN: qwen's settings file, or the program that codex notifies.`, `
		gc hook-file qwen .gc/hooks/agent.json`, cli.Statuses{})
}
