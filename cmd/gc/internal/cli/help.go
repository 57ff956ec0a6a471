package cli

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
	ExitOK          = 0
	ExitFailure     = 1
	ExitUsage       = 2
	ExitNotFound    = 3
	ExitCannotTell  = 4
	ExitUnsupported = 5
	ExitTimeout     = 124
	ExitSignal      = 128 // plus the number of the signal that ended the command
)

// statusText says what a status means; a command may be more exact.
var statusText = map[int]string{
	ExitOK:          "done",
	ExitFailure:     "failure",
	ExitUsage:       "wrong usage",
	ExitNotFound:    "not found: no such session, agent or city",
	ExitCannotTell:  "cannot tell: the backend gave no answer",
	ExitUnsupported: "not supported by this provider",
	ExitTimeout:     "timeout",
}

// Statuses are the exit statuses of a command besides 0, 1 and 2, which every
// command has; a non-empty text replaces the general one.
type Statuses map[int]string

// Describe gives cmd its long help (what it does, then the exit statuses) and
// its examples, and puts the program's own name into every text.
func Describe(cmd *cobra.Command, long, example string, s Statuses) *cobra.Command {
	codes := []int{ExitOK, ExitFailure, ExitUsage}
	for code := range s {
		if code > ExitUsage {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	lines := []string{strings.TrimSpace(long), "", "Exit status:"}
	for _, code := range codes {
		lines = append(lines, fmt.Sprintf("  %-4d %s", code, cmp.Or(s[code], statusText[code])))
	}
	cmd.Long = Named(strings.Join(lines, "\n"))
	cmd.Example = Named(indent(example))
	cmd.Short = Named(cmd.Short)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = Named(f.Usage) })
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

// Product is the program's name unless the user renamed it.
const Product = "gc"

// Program is the name that the binary was called by. Only main sets it.
var Program = Product

// SetProgram takes the name from the first word of the command line. It ignores a
// name that a person would not type, such as that of a login shell (-gc).
func SetProgram(arg0 string, isCommand func(word string) bool) {
	name := filepath.Base(arg0)
	if name != Product && usableName().MatchString(name) {
		Program, isCommandWord = name, isCommand
	}
}

// The patterns are compiled only if the program was renamed.
var (
	usableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`) })

	// callOfGC matches a call of gc in a text: its name, a space, and a word that
	// may be one of its commands.
	callOfGC = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(^|[\\s\"'`(|;&])gc ([a-z][a-z-]*)") })
)

// Named replaces gc by the program's name in every call of gc in one of our
// texts. A gc that is not followed by a command means the product and stays.
func Named(text string) string {
	if Program == Product || !strings.Contains(text, Product) {
		return text
	}
	return callOfGC().ReplaceAllStringFunc(text, func(call string) string {
		head, word, _ := strings.Cut(call, Product+" ")
		if !isCommandWord(word) {
			return call
		}
		return head + Program + " " + word
	})
}
