package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
)

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

// runMCP becomes gc-mcp, a program of its own so that other calls do not pay for the
// protocol's start.
func runMCP(control bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	path, err := findMCP(filepath.Dir(self))
	if err != nil {
		return err
	}
	argv := []string{path, "--gc", self}
	if control {
		argv = append(argv, "--control")
	}
	return syscall.Exec(path, argv, os.Environ())
}

// findMCP looks for gc-mcp in the folder of gc, then on PATH; it may have been
// renamed with gc.
func findMCP(dir string) (string, error) {
	names := slices.Compact([]string{program + "-mcp", product + "-mcp"})
	for _, name := range names {
		if path := filepath.Join(dir, name); exists(path) {
			return path, nil
		}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fail(exitNotFound, "put "+names[0]+" into the same folder (make build makes both)", "%s was not found in %s or on PATH", names[0], dir)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
