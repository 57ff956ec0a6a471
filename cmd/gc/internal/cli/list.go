package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
)

// Listing holds -o and --sort of a command that prints a list.
type Listing struct {
	output string // table, wide or json
	sort   string // a key; -key reverses the order
}

const (
	outputTable = "table"
	outputWide  = "wide"
	outputJSON  = "json"
)

// Orders are the sort keys of a list.
type Orders[T any] map[string]func(a, b T) int

// Keys lists the sort keys for a person.
func (o Orders[T]) Keys() string { return strings.Join(slices.Sorted(maps.Keys(o)), ", ") }

// AddListing adds -o and --sort to cmd.
func AddListing(cmd *cobra.Command, l *Listing, keys string) {
	f := cmd.Flags()
	f.StringVarP(&l.output, "output", "o", outputTable, "print this `FORMAT`: table, wide (more columns, nothing cut) or json")
	f.StringVar(&l.sort, "sort", "", "sort by `KEY` ("+keys+"); -KEY reverses the order")
	CompleteFlag(cmd, "sort", strings.Split(keys, ", ")...)
	values := cobra.FixedCompletions([]string{outputTable, outputWide, outputJSON}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("output", values) // the flag exists
}

// Check rejects an unknown output format, and treats -o json as --json.
func (l *Listing) Check(asJSON *bool) error {
	switch l.output {
	case "", outputTable, outputWide:
		return nil
	case outputJSON:
		*asJSON = true
		return nil
	}
	return Fail(ExitUsage, "valid values: table, wide, json", "unknown output format %q", l.output)
}

func (l *Listing) Wide() bool { return l.output == outputWide }

// Sort sorts the list by --sort, if it was given.
func Sort[T any](list []T, l Listing, by Orders[T]) error {
	if l.sort == "" {
		return nil
	}
	key, reverse := strings.CutPrefix(l.sort, "-")
	order, ok := by[key]
	if !ok {
		return Fail(ExitUsage, "valid keys: "+by.Keys(), "unknown sort key %q", l.sort)
	}
	slices.SortStableFunc(list, func(a, b T) int {
		if reverse {
			a, b = b, a
		}
		return order(a, b)
	})
	return nil
}

// Table returns a table for standard output.
func (c *Console) Table(l Listing) display.Table {
	t := display.Table{Width: c.Width(), Colour: c.Colours(c.Out)}
	if l.Wide() {
		t.Width = 0
	}
	return t
}
