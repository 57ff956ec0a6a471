package main

import (
	"cmp"
	"context"
	"os"

	"github.com/spf13/cobra"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/native"
)

// addHost gives a command, and those below it, the flag --host.
func addHost(a *app, cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&a.host, "host", "", "another machine's sessions: ssh://[user@]HOST[:port] (default: GC_HOST)")
}

// remote is the machine whose sessions the command is about; nil: this one.
// GC_SSH replaces the program that reaches it, GC_HOST_BIN is what gc is called there.
func (a *app) remote() (*client.Host, error) {
	name := cmp.Or(a.host, os.Getenv("GC_HOST"))
	if name == "" {
		return nil, nil
	}
	h, err := client.ParseHost(name)
	if err != nil {
		return nil, fail(exitUsage, "such as --host ssh://me@build.example", "%v", err)
	}
	h.Program, h.Bin = os.Getenv("GC_SSH"), cmp.Or(os.Getenv("GC_HOST_BIN"), program)
	return &h, nil
}

// remoteProvider hosts sessions on another machine.
func (a *app) remoteProvider(h *client.Host) (runtime.Provider, error) {
	return native.New(native.Options{Version: version, Report: a.startStep, Host: h})
}

// dialMux connects to the server that runs; it never starts one.
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
