package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// mcpProgram stands beside gc: the protocol's start is no cost of every call.
const mcpProgram = "gc-mcp"

func newMCPCmd() *cobra.Command {
	var control bool
	cmd := &cobra.Command{
		Use:               "mcp",
		Short:             "Serve an agent that speaks the Model Context Protocol",
		Args:              exactly(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return runMCP(control) },
	}
	cmd.Flags().BoolVar(&control, "control", false, "others' sessions may be changed too")
	return describe(cmd, `Speaks the protocol on standard input and output, with the tools exec, process,
session_list, session_peek, session_send, session_wait and session_respond: any
agent gets background commands that survive it and wake it at their end. Inside a
session (GC_SESSION_NAME) that session is woken. Sessions and commands of others
are read-only without --control. It is the program gc-mcp beside gc.`, `
		claude mcp add gc -- gc mcp
		npx @modelcontextprotocol/inspector --cli gc mcp --method tools/list`,
		statuses{exitNotFound: "gc-mcp is not installed"})
}

// runMCP becomes gc-mcp.
func runMCP(control bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	path := filepath.Join(filepath.Dir(self), mcpProgram)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if path, err = exec.LookPath(mcpProgram); err != nil {
			return fail(exitNotFound, "put "+mcpProgram+" into the same folder (make build makes both)", "%s was not found beside %s or on PATH", mcpProgram, self)
		}
	}
	argv := []string{mcpProgram, "--gc", self}
	if control {
		argv = append(argv, "--control")
	}
	return syscall.Exec(path, argv, os.Environ())
}
