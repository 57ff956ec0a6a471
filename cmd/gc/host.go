package main

import (
	"cmp"
	"context"
	"os"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
)

// addHost adds the flag --host to a command and its subcommands.
func addHost(a *app, cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&a.host, "host", "", "use the sessions of another machine at this `URL`: ssh://[user@]HOST[:port] (default: GC_HOST)")
}

// remote is the machine of --host, or nil for this one. GC_SSH replaces ssh,
// and GC_HOST_BIN is the name of gc on that machine.
func (a *app) remote() (*client.Host, error) {
	name := cmp.Or(a.host, os.Getenv("GC_HOST"))
	if name == "" {
		return nil, nil
	}
	h, err := client.ParseHost(name)
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, "such as --host ssh://me@build.example", "%v", err)
	}
	h.Program, h.Bin = os.Getenv("GC_SSH"), cmp.Or(os.Getenv("GC_HOST_BIN"), cli.Program)
	return &h, nil
}

// remoteProvider returns the provider of another machine's sessions.
func (a *app) remoteProvider(h *client.Host) (runtime.Provider, error) {
	return native.New(native.Options{Version: version, Report: a.startStep, Host: h})
}

// dialMux connects to the running server; it never starts one.
func (a *app) dialMux(ctx context.Context) (*client.Client, error) {
	h, err := a.remote()
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
