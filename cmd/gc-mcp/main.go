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
	"strings"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/mcp"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(run(context.Background(), os.Args[1:])) }

// run runs the command line and returns the exit status.
func run(ctx context.Context, args []string) int {
	if len(args) == 1 && args[0] == "version" {
		fmt.Println("gc-mcp " + version)
		return 0
	}
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
	caller := mcp.FindCaller()
	for _, kv := range caller.Environ {
		k, v, _ := strings.Cut(kv, "=")
		if err := os.Setenv(k, v); err != nil {
			fmt.Fprintf(os.Stderr, "gc: mcp: %v\n", err)
			return 1
		}
	}
	if caller.Name == "" && caller.ID != "" {
		caller.Name = nameOf(ctx, caller)
	}
	if caller.Name == "" {
		fmt.Fprintln(os.Stderr, "gc: mcp: no session of gc is known here: ends of commands and mail wake nobody\nhint: pass on the environment of the agent, or at least GC_SESSION_NAME and GC_MUX_SOCKET")
	}
	err = mcp.Serve(ctx, mcp.Options{
		Version: version, Caller: caller.Name, City: os.Getenv("GC_CITY_PATH"), Outbox: os.Getenv(cityapi.EnvOutbox), Control: *control, Env: os.Environ(), Dir: dir,
		Connect: func(ctx context.Context, start bool) (*client.Client, error) { return connect(ctx, *gc, start, caller) },
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "gc: mcp: %v\n", err)
		return 1
	}
	return 0
}

// nameOf returns the name of a session by its id, from the multiplexer; "" if it has none.
func nameOf(ctx context.Context, caller *mcp.Caller) string {
	c, err := connect(ctx, "", false, caller)
	if err != nil {
		return ""
	}
	defer c.Close()
	s, err := c.Get(ctx, caller.ID)
	if err != nil {
		return ""
	}
	return s.Name
}

// connect connects to the caller's server. If there is none, it has gc start one, so
// that server and keeper run gc's image; but never one that may be a second one, elsewhere
// than that of the caller's session.
func connect(ctx context.Context, gc string, start bool, caller *mcp.Caller) (*client.Client, error) {
	paths, err := api.DefaultPaths(caller.Getenv)
	if err != nil {
		return nil, err
	}
	c, err := client.Dial(ctx, paths)
	if !start || !errors.Is(err, api.ErrNoServer) {
		return c, err
	}
	if caller.Elsewhere {
		return nil, fmt.Errorf("%w, and none is started: it is not known in which session of gc the caller runs (set GC_SESSION_NAME and GC_MUX_SOCKET, or start one with gc mux dial --start)", err)
	}
	if gc == "" {
		gc = beside("gc")
	}
	cmd := exec.CommandContext(ctx, gc, "mux", "dial", "--start")
	cmd.Env = append(os.Environ(), caller.Place()...)
	out, err := cmd.CombinedOutput()
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
