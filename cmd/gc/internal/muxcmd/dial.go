package muxcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

type dialOptions struct {
	start   bool
	environ bool
	many    bool
}

func newDialCmd(a *commands) *cobra.Command {
	var o dialOptions
	cmd := &cobra.Command{
		Use:   "dial",
		Short: "Connect standard input and output to the server's socket",
		Args:  cli.Exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDial(cmd.Context(), a, o) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.start, "start", false, "start a server if none is running")
	f.BoolVar(&o.environ, "environ", false, "instead print the environment that a session here would inherit, as a JSON array")
	f.BoolVar(&o.many, "many", false, "carry many connections, for the gc of another machine, until the input ends")
	cmd.MarkFlagsMutuallyExclusive("many", "environ")
	cmd.MarkFlagsMutuallyExclusive("many", "start")
	return cli.Describe(cmd, `Copies bytes between its standard streams and the server of this machine until either
end closes. An HTTP client that can use a program as its connection can use the API
through it (docs/api.md). --host runs it on the other machine with --many.`, `
		ssh build.example gc mux dial
		gc session list --host ssh://build.example`,
		cli.Statuses{cli.ExitNotFound: "no server is running", cli.ExitCannotTell: ""})
}

func runDial(ctx context.Context, a *commands, o dialOptions) error {
	if a.mux.URL != "" {
		return cli.Fail(cli.ExitUsage, "GC_HOST is ignored, too", "mux dial only connects to the server of this machine")
	}
	if o.environ {
		return json.NewEncoder(a.Out).Encode(runtime.Environment(os.Environ()))
	}
	if o.many {
		return runMany(ctx, a)
	}
	conn, err := connect(ctx, a.mux.Version, o.start)
	if err != nil {
		return err
	}
	defer conn.Close()
	return pass(a, conn)
}

// connect returns a connection to the socket of this machine's server.
func connect(ctx context.Context, version string, start bool) (net.Conn, error) {
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return nil, err
	}
	c, err := client.Dial(ctx, paths)
	if start && host.IsNoServer(err) {
		c, err = client.Ensure(ctx, paths, version)
	}
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Stream(ctx)
}

// pass copies bytes both ways until the server closes the connection. It passes
// on the end of the input.
func pass(a *commands, conn net.Conn) error {
	go func() { // lives until the process exits at the latest
		_, _ = io.Copy(conn, a.In)
		if c, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite()
		}
	}()
	if _, err := io.Copy(a.Out, conn); err != nil {
		return fmt.Errorf("mux dial: %w", err)
	}
	return nil
}
