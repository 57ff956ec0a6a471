// Command gc is the terminal multiplexer and orchestrator for fleets of coding
// agents.
//
// Its invariant: a command parses its arguments, calls one of the packages and
// prints the result; it decides nothing. Data goes to standard output, everything
// else to standard error, and the exit status says what happened (see internal/cli).
package main

import (
	"context"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/acp/host"
	"gascity.dev/gc/internal/fds"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/runtime/subprocess"
	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "dev"

func main() {
	cli.SetProgram(os.Args[0], isCommand)
	if mux.IsDaemon(os.Args) {
		os.Exit(mux.RunDaemon(os.Args))
	}
	if subprocess.IsParent(os.Args) {
		os.Exit(subprocess.RunParent())
	}
	if host.Is(os.Args) {
		os.Exit(host.Run(os.Args))
	}
	fds.CloseOnExec(3)
	os.Exit(run(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// isCommand reports whether gc has a command of this name.
func isCommand(word string) bool {
	return slices.ContainsFunc(rootEntries(&app{}), func(e cli.Entry) bool { return e.Name == word })
}

// versionInfo is what gc version --json prints.
type versionInfo struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.Exactly(0),
		RunE:  func(*cobra.Command, []string) error { return runVersion(a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the Go version and the platform")
	return cli.Describe(cmd, "Prints the version of this program. gc mux status shows the server's version.", `
		gc version
		gc version --json`, cli.Statuses{})
}

func runVersion(a *app, asJSON bool) error {
	if asJSON {
		return a.PrintJSON(versionInfo{version, goruntime.Version(), goruntime.GOOS + "/" + goruntime.GOARCH})
	}
	_, err := fmt.Fprintln(a.Out, "gc", version)
	return err
}
