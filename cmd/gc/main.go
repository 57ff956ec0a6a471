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
	"gascity.dev/gc/internal/self"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/runtime/subprocess"
	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "dev"

func main() {
	cli.SetProgram(self.Called(os.Args[0]), isCommand)
	if status, is := daemon(os.Args); is {
		os.Exit(status)
	}
	fds.CloseOnExec(3)
	os.Exit(run(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// daemon runs this program as one of the processes that gc starts for itself. gc-k8s is
// none of them: it starts gc for that.
func daemon(args []string) (status int, is bool) {
	switch {
	case !self.IsGC:
		if _, err := self.Program(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\nhint: put it into the same directory as gc (make build builds both)\n", cli.Program, err)
			return cli.ExitFailure, true
		}
		return 0, false
	case mux.IsDaemon(args):
		return mux.RunDaemon(args), true
	case subprocess.IsParent(args):
		return subprocess.RunParent(), true
	case host.Is(args):
		return host.Run(args), true
	}
	return 0, false
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
