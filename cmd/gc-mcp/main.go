// Command gc-mcp serves gc's sessions and background commands to agents that
// speak the Model Context Protocol, over standard input and output. `gc mcp`
// executes it; it is a separate program so that other calls of gc do not pay
// for linking the protocol.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"gascity.dev/gc/internal/mcp"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(run(context.Background(), os.Args[1:])) }

// run runs the command line and returns the exit status.
func run(ctx context.Context, args []string) int {
	f := flag.NewFlagSet("gc-mcp", flag.ContinueOnError)
	control := f.Bool("control", false, "also allow changes to other sessions and commands")
	gc := f.String("gc", "", "path of the `gc` that starts the server (default: beside this program, else on PATH)")
	if err := f.Parse(args); err != nil {
		return 2
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	err = mcp.Serve(ctx, mcp.Options{
		Version: version, Caller: os.Getenv("GC_SESSION_NAME"), City: os.Getenv("GC_CITY_PATH"), Control: *control, Env: os.Environ(), Dir: dir,
		Connect: func(ctx context.Context, start bool) (*client.Client, error) { return connect(ctx, *gc, start) },
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "gc: mcp: %v\n", err)
		return 1
	}
	return 0
}

// connect connects to the server. If there is none, it has gc start one, so
// that server and keeper run gc's image.
func connect(ctx context.Context, gc string, start bool) (*client.Client, error) {
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return nil, err
	}
	c, err := client.Dial(ctx, paths)
	if !start || !errors.Is(err, api.ErrNoServer) {
		return c, err
	}
	if gc == "" {
		gc = beside("gc")
	}
	out, err := exec.CommandContext(ctx, gc, "mux", "dial", "--start").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("start the mux server: %w: %s", err, out)
	}
	return client.Dial(ctx, paths)
}

// beside returns the path of a program in this one's directory, or the bare
// name, for PATH.
func beside(name string) string {
	self, err := os.Executable()
	if err != nil {
		return name
	}
	path := filepath.Join(filepath.Dir(self), name)
	if _, err := os.Stat(path); err != nil {
		return name
	}
	return path
}
