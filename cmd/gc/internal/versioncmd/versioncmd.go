// Package versioncmd is gc version.
package versioncmd

import (
	"cmp"
	"fmt"
	"io"
	goruntime "runtime"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/thirdparty"
)

// Build is how this program was built.
type Build struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit
}

// New returns gc version for a program with these values of the linker.
func New(c *cli.Console, version, commit, date string) *cobra.Command {
	var asJSON, verbose, licenses bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.Exactly(0),
		RunE: func(*cobra.Command, []string) error {
			b := Build{version, goruntime.Version(), goruntime.GOOS + "/" + goruntime.GOARCH, commit, date}
			switch {
			case licenses:
				_, err := io.WriteString(c.Out, thirdparty.Notices)
				return err
			case asJSON:
				return c.PrintJSON(b)
			}
			return b.Print(c.Out, verbose)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON: version, go, platform, commit, date")
	f.BoolVarP(&verbose, "verbose", "v", false, "also print the commit, its date, the Go version and the platform")
	f.BoolVar(&licenses, "licenses", false, "print the licences of what gc contains")
	return cli.Describe(cmd, "Prints the version of this program. gc mux status shows the server's version.", `
		gc version
		gc version --verbose
		gc version --json
		gc version --licenses`, cli.Statuses{})
}

// Print writes it for people.
func (b Build) Print(w io.Writer, verbose bool) error {
	_, err := fmt.Fprintln(w, "gc", b.Version)
	if verbose && err == nil {
		_, err = fmt.Fprintf(w, "commit %s, %s\n%s, %s\n", cmp.Or(b.Commit, "unknown"), cmp.Or(b.Date, "date unknown"), b.Go, b.Platform)
	}
	return err
}
