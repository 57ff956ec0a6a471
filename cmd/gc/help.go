package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit statuses of every command. They are part of the interface: scripts
// branch on them.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitCannotTell  = 4
	exitUnsupported = 5
	exitTimeout     = 124
	exitSignal      = 128 // + its number, when a signal ended the command
)

// statusText says what a status means; a command may be more exact.
var statusText = map[int]string{
	exitOK:          "done",
	exitFailure:     "failure",
	exitUsage:       "wrong usage",
	exitNotFound:    "not found: no such session, agent or city",
	exitCannotTell:  "cannot tell: the backend gave no answer",
	exitUnsupported: "not supported by this provider",
	exitTimeout:     "timeout",
}

// statuses is what a command may exit with, beyond 0, 1 and 2, which every
// command has; a non-empty text replaces the general one.
type statuses map[int]string

// describe gives cmd its long help (what it does, then the exit statuses) and
// its examples, and puts the program's own name into every text.
func describe(cmd *cobra.Command, long, example string, s statuses) *cobra.Command {
	codes := []int{exitOK, exitFailure, exitUsage}
	for code := range s {
		if code > exitUsage {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	lines := []string{strings.TrimSpace(long), "", "Exit status:"}
	for _, code := range codes {
		lines = append(lines, fmt.Sprintf("  %-4d %s", code, cmp.Or(s[code], statusText[code])))
	}
	cmd.Long = named(strings.Join(lines, "\n"))
	cmd.Example = named(indent(example))
	cmd.Short = named(cmd.Short)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = named(f.Usage) })
	return cmd
}

// indent puts two spaces before every line.
func indent(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, l := range lines {
		lines[i] = "  " + strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n")
}
