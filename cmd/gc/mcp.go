package main

import (
	"os"
	"syscall"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/self"
	"github.com/spf13/cobra"
)

func newMCPCmd() *cobra.Command {
	var control bool
	cmd := &cobra.Command{
		Use:               "mcp",
		Short:             "Serve the Model Context Protocol to an agent",
		Args:              cli.Exactly(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return runMCP(control) },
	}
	cmd.Flags().BoolVar(&control, "control", false, "also allow changes to other sessions and commands")
	return cli.Describe(cmd, `Serves the protocol on standard input and output with the tools exec, process,
session_list, session_peek, session_send, session_wait, session_respond, mail_send,
mail_list, mail_read and mail_ack. In a session (GC_SESSION_NAME), an agent's background
commands survive it and report to it when they end. Other sessions and commands are
read-only without --control. The server is the program gc-mcp beside gc.`, `
		claude mcp add gc -- gc mcp
		npx @modelcontextprotocol/inspector --cli gc mcp --method tools/list`,
		cli.Statuses{cli.ExitNotFound: "gc-mcp is not installed"})
}

// runMCP executes gc-mcp, a separate program so that the protocol does not slow
// down the start of other commands.
func runMCP(control bool) error {
	program, err := self.Program()
	if err != nil {
		return err
	}
	path, err := self.Beside("-mcp")
	if err != nil {
		return cli.Fail(cli.ExitNotFound, "put gc-mcp into the same directory (make build builds both)", "%v", err)
	}
	argv := []string{path, "--gc", program}
	if control {
		argv = append(argv, "--control")
	}
	return syscall.Exec(path, argv, os.Environ())
}
