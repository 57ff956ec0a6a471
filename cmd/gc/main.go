// Command gc is the terminal multiplexer and orchestrator for fleets of coding
// agents.
//
// Its invariant: a command parses its arguments, calls one of the packages and
// prints the result; it decides nothing. Data goes to standard output, everything
// else to standard error, and the exit status says what happened (see help.go).
package main

import (
	"context"
	"os"

	"gascity.dev/gc/internal/fds"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/runtime/subprocess"
)

// version is set by the linker.
var version = "dev"

func main() {
	setProgram(os.Args[0])
	if mux.IsDaemon(os.Args) {
		os.Exit(mux.RunDaemon(os.Args))
	}
	if subprocess.IsParent(os.Args) {
		os.Exit(subprocess.RunParent())
	}
	fds.CloseOnExec(3)
	os.Exit(run(context.Background(), os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}
