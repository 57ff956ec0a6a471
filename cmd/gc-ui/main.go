// Command gc-ui shows a fleet: in the terminal (gc ui) and in the browser (gc web). gc
// executes it; it is a separate program so that other calls of gc do not pay for linking
// what draws.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/ofcity"
	"gascity.dev/gc/internal/fleet/ofmux"
	"gascity.dev/gc/internal/fleet/wire"
	"gascity.dev/gc/internal/tui"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(run(context.Background(), os.Args[1:])) }

// Exit statuses, those of gc.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// run runs the command line and returns the exit status.
func run(ctx context.Context, args []string) int {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	switch command {
	case "version":
		fmt.Println("gc-ui " + version)
		return exitOK
	case "ui":
		status, err := runUI(ctx, args[1:])
		if err != nil {
			return report(err)
		}
		return status
	case "web":
		return report(runWeb(ctx, args[1:]))
	}
	fmt.Fprintln(os.Stderr, "gc-ui: want ui, web or version\nhint: gc ui and gc web execute this program")
	return exitUsage
}

// errFlags means that the flags are wrong; the flag package has said how.
var errFlags = errors.New("wrong flags")

func report(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFlags):
		return exitUsage
	}
	fmt.Fprintf(os.Stderr, "gc: %v\n", err)
	var by *tui.SignalError
	if errors.As(err, &by) {
		if s, ok := by.Signal.(syscall.Signal); ok {
			return 128 + int(s)
		}
	}
	return exitFailure
}

// place is what a person looks at: a city, another machine, or this machine's sessions.
type place struct {
	gc      string // the program, for what it does better
	city    string // directory; "" without one
	host    string // ssh:// URL of another machine; "" for this one
	hostBin string // what gc is called there

	hostCity string // directory of the city there; "" for the only one that runs, or the sessions
	color    string // auto, always or never
}

// flags returns the flags that ui and web have in common.
func (p *place) flags(name string) *flag.FlagSet {
	f := flag.NewFlagSet("gc-ui "+name, flag.ContinueOnError)
	f.StringVar(&p.gc, "gc", "gc", "path of `gc`")
	f.StringVar(&p.city, "city", "", "`directory` of the city")
	f.StringVar(&p.host, "host", "", "`URL` of another machine")
	f.StringVar(&p.hostBin, "host-bin", "", "`path` of gc there")
	f.StringVar(&p.hostCity, "host-city", "", "`directory` of the city there")
	f.StringVar(&p.color, "color", "auto", "auto, always or never")
	return f
}

// open returns the fleet. It connects when it is asked something.
func (p *place) open(ctx context.Context) (fleet.Fleet, error) {
	if p.host != "" {
		return p.openHost(ctx)
	}
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return nil, err
	}
	sessions := ofmux.Open("sessions", "", func(ctx context.Context) (*client.Client, error) { return client.Dial(ctx, paths) })
	if p.city != "" {
		return openCity(ctx, p.city, sessions), nil
	}
	return sessions, nil
}

// probeLimit bounds the question what a controller serves.
const probeLimit = 2 * time.Second

// openCity returns the fleet of the city in dir, as its controller serves it. Without a
// controller, or with an older one, it is what the controller's other requests and this
// machine's multiplexer show.
func openCity(ctx context.Context, dir string, sessions *ofmux.Mux) fleet.Fleet {
	c := wire.New(filepath.Base(dir), "", func(ctx context.Context) (net.Conn, error) { return cityapi.Connect(ctx, dir) })
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	if served, err := c.Served(ctx); err == nil && served {
		_ = sessions.Close() // it has no connection yet
		return c
	}
	_ = c.Close() // idle connections
	return ofcity.Open(dir, sessions)
}
