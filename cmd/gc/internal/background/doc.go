// Package background is gc exec and gc process: commands of the multiplexer's server
// that survive their caller.
//
// Every exit status of gc exec is the command's own, except the few that its help
// lists. cmd/gc adds [NewExec] and [NewProcess] to the command tree.
package background

import (
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/host"
)

// commands is what the commands share.
type commands struct {
	*cli.Console
	mux *host.Mux
}
