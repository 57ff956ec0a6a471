package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

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
	exitSignal      = 128 // plus the number of the signal that ended the command
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

// statuses are the exit statuses of a command besides 0, 1 and 2, which every
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

// isCommandWord reports whether gc has a command of a name, for named.
var isCommandWord func(word string) bool

// product is the program's name unless the user renamed it.
const product = "gc"

// program is the name that the binary was called by. Only main sets it.
var program = product

// setProgram takes the name from the first word of the command line. It ignores a
// name that a person would not type, such as that of a login shell (-gc).
func setProgram(arg0 string, isCommand func(word string) bool) {
	name := filepath.Base(arg0)
	if name != product && usableName().MatchString(name) {
		program, isCommandWord = name, isCommand
	}
}

// The patterns are compiled only if the program was renamed.
var (
	usableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`) })

	// callOfGC matches a call of gc in a text: its name, a space, and a word that
	// may be one of its commands.
	callOfGC = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(^|[\\s\"'`(|;&])gc ([a-z][a-z-]*)") })
)

// named replaces gc by the program's name in every call of gc in one of our
// texts. A gc that is not followed by a command means the product and stays.
func named(text string) string {
	if program == product || !strings.Contains(text, product) {
		return text
	}
	return callOfGC().ReplaceAllStringFunc(text, func(call string) string {
		head, word, _ := strings.Cut(call, product+" ")
		if !isCommandWord(word) {
			return call
		}
		return head + program + " " + word
	})
}
