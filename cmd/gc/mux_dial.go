package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"gascity.dev/gc/mux"
	"gascity.dev/gc/runtime"
)

type muxDialOptions struct {
	start   bool
	environ bool
}

func newMuxDialCmd(a *app) *cobra.Command {
	var o muxDialOptions
	cmd := &cobra.Command{
		Use:   "dial",
		Short: "Connect standard input and output to the server's socket",
		Args:  exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runMuxDial(cmd.Context(), a, o) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.start, "start", false, "start a server when none runs")
	f.BoolVar(&o.environ, "environ", false, "print instead what a session would inherit of the environment here, as a JSON array")
	return describe(cmd, `Passes bytes between its standard streams and the server of this machine, until
one side ends. It is what --host runs on the other machine; any HTTP client that can
use a program as its connection speaks /v1 through it (docs/api.md).`, `
		ssh build.example gc mux dial
		gc session list --host ssh://build.example`,
		statuses{exitNotFound: "no server runs", exitCannotTell: ""})
}

func runMuxDial(ctx context.Context, a *app, o muxDialOptions) error {
	if a.host != "" {
		return fail(exitUsage, "GC_HOST does not count here either", "mux dial connects to the server of this machine")
	}
	if o.environ {
		return json.NewEncoder(a.out).Encode(runtime.Environment(os.Environ()))
	}
	paths, err := mux.DefaultPaths(os.Getenv)
	if err != nil {
		return err
	}
	client, err := mux.Dial(ctx, paths)
	if o.start && isNoServer(err) {
		client, err = mux.Ensure(ctx, paths, version)
	}
	if err != nil {
		return err
	}
	defer client.Close()
	conn, err := client.Stream(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return splice(a, conn)
}

// splice passes bytes both ways until the server ends the connection. The end
// of the input is passed on.
func splice(a *app, conn net.Conn) error {
	go func() { // ends with the process at the latest
		_, _ = io.Copy(conn, a.in)
		if c, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite()
		}
	}()
	if _, err := io.Copy(a.out, conn); err != nil {
		return fmt.Errorf("mux dial: %w", err)
	}
	return nil
}
