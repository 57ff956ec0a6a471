// Package host finds the multiplexer that a command uses: this machine's, or the one of
// --host and GC_HOST.
//
// It only finds and connects; it starts a server in [Mux.Ensure] alone. The packages
// of commands and cmd/gc call it.
package host

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// Mux is the multiplexer of a command. The zero value is this machine's.
type Mux struct {
	Version string // of this program, for a server that Ensure starts
	URL     string // --host: a URL or the name of a registered host
}

// AddFlag adds the flag --host to a command and its subcommands.
func (m *Mux) AddFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&m.URL, "host", "", "use the sessions of another machine, at this `URL` ssh://[user@]HOST[:port] or registered name (default: GC_HOST)")
	_ = cmd.RegisterFlagCompletionFunc("host", Complete) // the flag exists
}

// Remote is the other machine, or nil for this one. GC_SSH replaces ssh, and
// GC_HOST_BIN is the name of gc on that machine.
func (m *Mux) Remote() (*client.Host, error) {
	name := cmp.Or(m.URL, os.Getenv("GC_HOST"))
	if name == "" {
		return nil, nil
	}
	h, err := Resolve(name)
	if err == nil {
		h.Version = m.Version
	}
	return h, err
}

// Dial connects to the running server; it never starts one.
func (m *Mux) Dial(ctx context.Context) (*client.Client, error) {
	h, err := m.Remote()
	if err != nil {
		return nil, err
	}
	if h != nil {
		return h.Dial(ctx)
	}
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, paths)
}

// Ensure connects to the server and starts it if necessary.
func (m *Mux) Ensure(ctx context.Context) (*client.Client, error) {
	h, err := m.Remote()
	if err != nil {
		return nil, err
	}
	if h != nil {
		return h.Ensure(ctx)
	}
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return nil, err
	}
	return client.Ensure(ctx, paths, m.Version)
}

// IsNoServer reports whether an error of Dial says that no server is running.
func IsNoServer(err error) bool { return errors.Is(err, api.ErrNoServer) }
