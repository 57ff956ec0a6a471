package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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

// statusText says what each status means; a command may say it more exactly.
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

// describe gives cmd its long help: what it does, then the exit statuses.
func describe(cmd *cobra.Command, long, example string, s statuses) *cobra.Command {
	all := statuses{exitOK: "", exitFailure: "", exitUsage: ""}
	for code, text := range s {
		all[code] = text
	}
	codes := make([]int, 0, len(all))
	for code := range all {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	var b strings.Builder
	b.WriteString(strings.TrimSpace(long))
	b.WriteString("\n\nExit status:\n")
	for _, code := range codes {
		text := all[code]
		if text == "" {
			text = statusText[code]
		}
		fmt.Fprintf(&b, "  %-3d  %s\n", code, text)
	}
	cmd.Long = strings.TrimRight(b.String(), "\n")
	cmd.Example = indent(example)
	return cmd
}

// indent puts two blanks before every line.
func indent(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, l := range lines {
		lines[i] = "  " + strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n")
}
