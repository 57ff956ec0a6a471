package main

import (
	"slices"
	"strconv"
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

// statusText says what a status means; a command may say it more exactly.
func statusText(code int) string {
	switch code {
	case exitOK:
		return "done"
	case exitFailure:
		return "failure"
	case exitUsage:
		return "wrong usage"
	case exitNotFound:
		return "not found: no such session, agent or city"
	case exitCannotTell:
		return "cannot tell: the backend gave no answer"
	case exitUnsupported:
		return "not supported by this provider"
	case exitTimeout:
		return "timeout"
	}
	return ""
}

// statuses is what a command may exit with, beyond 0, 1 and 2, which every
// command has; a non-empty text replaces the general one.
type statuses map[int]string

// describe gives cmd its long help: what it does, then the exit statuses. It is
// part of every start, and makes little.
func describe(cmd *cobra.Command, long, example string, s statuses) *cobra.Command {
	codes := append(make([]int, 0, 16), exitOK, exitFailure, exitUsage)
	for code := range s {
		if code > exitUsage {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	long = strings.TrimSpace(long)
	var b strings.Builder
	b.Grow(len(long) + len(codes)*64)
	b.WriteString(long)
	b.WriteString("\n\nExit status:")
	const column = "     " // that a code stands in
	for _, code := range codes {
		text := s[code]
		if text == "" {
			text = statusText(code)
		}
		digits := strconv.Itoa(code)
		b.WriteString("\n  ")
		b.WriteString(digits)
		b.WriteString(column[len(digits):])
		b.WriteString(text)
	}
	cmd.Long = named(b.String())
	cmd.Example = named(indent(example))
	cmd.Short = named(cmd.Short)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = named(f.Usage) })
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
