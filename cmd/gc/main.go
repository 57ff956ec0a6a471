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
	"slices"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/tmuxcmd"
	"gascity.dev/gc/internal/acp/host"
	"gascity.dev/gc/internal/fds"
	"gascity.dev/gc/internal/self"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/runtime/subprocess"
)

// The linker sets them: the version, and the hash and time of the commit.
var version, commit, date = "dev", "", ""

func main() {
	cli.SetProgram(self.Called(os.Args[0]), isCommand)
	if status, is := daemon(os.Args); is {
		os.Exit(status)
	}
	fds.CloseOnExec(3)
	streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	if tmuxcmd.Is(os.Args[0]) {
		os.Exit(newApp(streams, nil).tmux(context.Background(), os.Args[1:]))
	}
	os.Exit(run(context.Background(), os.Args[1:], streams))
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
