package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gascity.dev/gc/cmd/gc/internal/display"
)

// colorMode is the value of --color.
type colorMode string

const (
	colorAuto   colorMode = "auto" // on a terminal, without NO_COLOR
	colorAlways colorMode = "always"
	colorNever  colorMode = "never"
)

// Set implements pflag.Value.
func (m *colorMode) Set(s string) error {
	switch v := colorMode(s); v {
	case colorAuto, colorAlways, colorNever:
		*m = v
		return nil
	}
	return fmt.Errorf("must be auto, always or never")
}

func (m *colorMode) String() string { return string(*m) }

// Type implements pflag.Value.
func (m *colorMode) Type() string { return "WHEN" }

// colours reports whether text written to w may be coloured. NO_COLOR:
// https://no-color.org.
func (c *console) colours(w io.Writer) bool {
	switch c.color {
	case colorAlways:
		return true
	case colorNever:
		return false
	}
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// listing holds -o and --sort of a command that prints a list.
type listing struct {
	output string // table, wide or json
	sort   string // a key; -key reverses the order
}

const (
	outputTable = "table"
	outputWide  = "wide"
	outputJSON  = "json"
)

// orders are the sort keys of a list.
type orders[T any] map[string]func(a, b T) int

// keys lists the sort keys for a person.
func (o orders[T]) keys() string { return strings.Join(slices.Sorted(maps.Keys(o)), ", ") }

// addListing adds -o and --sort to cmd.
func addListing(cmd *cobra.Command, l *listing, keys string) {
	f := cmd.Flags()
	f.StringVarP(&l.output, "output", "o", outputTable, "print this `FORMAT`: table, wide (more columns, nothing cut) or json")
	f.StringVar(&l.sort, "sort", "", "sort by `KEY` ("+keys+"); -KEY reverses the order")
	values := cobra.FixedCompletions([]string{outputTable, outputWide, outputJSON}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("output", values) // the flag exists
}

// check rejects an unknown output format, and treats -o json as --json.
func (l *listing) check(asJSON *bool) error {
	switch l.output {
	case "", outputTable, outputWide:
		return nil
	case outputJSON:
		*asJSON = true
		return nil
	}
	return fail(exitUsage, "valid values: table, wide, json", "unknown output format %q", l.output)
}

func (l *listing) wide() bool { return l.output == outputWide }

// sorted sorts the list by --sort, if it was given.
func sorted[T any](list []T, l listing, by orders[T]) error {
	if l.sort == "" {
		return nil
	}
	key, reverse := strings.CutPrefix(l.sort, "-")
	order, ok := by[key]
	if !ok {
		return fail(exitUsage, "valid keys: "+by.keys(), "unknown sort key %q", l.sort)
	}
	slices.SortStableFunc(list, func(a, b T) int {
		if reverse {
			a, b = b, a
		}
		return order(a, b)
	})
	return nil
}

// newTable returns a table for standard output.
func (c *console) newTable(l listing) display.Table {
	t := display.Table{Width: c.width(), Colour: c.colours(c.out)}
	if l.wide() {
		t.Width = 0
	}
	return t
}
