// Package uicmd is gc ui and gc web: the commands, their flags and help.
//
// It shows nothing itself: it finds the city or the machine, and executes gc-ui beside gc.
// cmd/gc adds [NewUI] and [NewWeb] to the command tree.
package uicmd

import (
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/internal/self"
)

// Place is what a person looks at.
type Place struct {
	Mux *host.Mux

	// City returns the directory of the city; "" if there is none and none was asked for.
	City func() (string, error)

	// Tell returns notify.terminal of the city; "" without one.
	Tell func() string
}

// notInstalled is what a missing gc-ui means.
var notInstalled = cli.Statuses{cli.ExitNotFound: "gc-ui is not installed, or no such city"}

// NewUI returns gc ui.
func NewUI(c *cli.Console, p Place) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "ui",
		Short:             "Show the fleet in the terminal: who needs you, what they do, let me in",
		Args:              cli.Exactly(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !c.Interactive() {
				return cli.Fail(cli.ExitUsage, "gc status and gc attention work without one", "gc ui requires a terminal")
			}
			if tell := p.Tell(); tell != "" {
				return p.execute(cmd, "--tell="+tell)
			}
			return p.execute(cmd)
		},
	}
	p.Mux.AddFlag(cmd)
	return cli.Describe(cmd, `Shows who needs you, every agent, and the live screen of the selected one. Enter
attaches; the detach keys come back to the list. ? lists the keys. Outside a city it
shows the sessions of the multiplexer. With --host it shows the city that runs there, or
the one in the directory --city there; without a city, the sessions. It has no state:
start it as often as you like.
The program is gc-ui beside gc.`, `
		gc ui
		gc ui --host build
		gc ui --host build --city /srv/town`, notInstalled)
}

// NewWeb returns gc web.
func NewWeb(_ *cli.Console, p Place) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "web",
		Short:             "Show the fleet in the browser",
		Args:              cli.Exactly(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return p.execute(cmd) },
	}
	p.Mux.AddFlag(cmd)
	webFlags(cmd.Flags())
	return cli.Describe(cmd, `Serves the fleet to browsers: who needs you, every agent with its live screen, and a
terminal on each. It prints a link for one browser, which can be opened once, within a
day; --link prints another. Sessions outlive the server; --revoke ends them. Addresses
that other machines reach need TLS. The program is gc-ui beside gc.`, `
		gc web --open
		gc web --listen 0.0.0.0:8642 --tls-self-signed
		gc web --link --read-only
		gc web --host build`, notInstalled)
}

// execute runs gc-ui with the name, the place and the flags of a command, and more of them.
func (p Place) execute(cmd *cobra.Command, more ...string) error {
	place, err := p.args(cmd)
	if err != nil {
		return err
	}
	gc, err := self.Program()
	if err != nil {
		return err
	}
	path, err := self.Beside("-ui")
	if err != nil {
		return cli.Fail(cli.ExitNotFound, "put gc-ui into the same directory (make build builds both)", "%v", err)
	}
	argv := append(append([]string{path, cmd.Name(), "--gc=" + gc}, place...), more...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "city" && f.Name != "host" {
			value := f.Value.String()
			if list, ok := f.Value.(pflag.SliceValue); ok {
				value = strings.Join(list.GetSlice(), ",")
			}
			argv = append(argv, "--"+f.Name+"="+value)
		}
	})
	return syscall.Exec(path, argv, os.Environ())
}

// args are the city or the other machine as flags of gc-ui.
func (p Place) args(cmd *cobra.Command) ([]string, error) {
	h, err := p.Mux.Remote()
	if err != nil {
		return nil, err
	}
	if h != nil {
		place := []string{"--host=" + h.String(), "--host-bin=" + h.Bin}
		if city := cmd.Flags().Lookup("city"); city != nil && city.Changed {
			place = append(place, "--host-city="+city.Value.String())
		}
		return place, nil
	}
	dir, err := p.City()
	if err != nil || dir == "" {
		return nil, err
	}
	return []string{"--city=" + dir}, nil
}
