package main

import (
	"cmp"
	"context"
	"os"
	"os/exec"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/tui"
)

// inner is the first argument of the gc-ui that shows, which another one supervises.
const inner = "--inner"

// runUI shows the fleet in the terminal.
func runUI(ctx context.Context, args []string) (int, error) {
	if len(args) > 0 && args[0] == inner {
		return exitOK, showUI(ctx, args[1:])
	}
	self, err := os.Executable()
	if err != nil {
		return exitOK, err
	}
	return tui.Supervise(exec.Command(self, append([]string{"ui", inner}, args...)...), os.Stdin, os.Stdout, os.Stderr)
}

// showUI is the supervised gc ui.
func showUI(ctx context.Context, args []string) error {
	var p place
	f := p.flags("ui")
	tell := f.String("tell", tui.TellOSC9, "how the terminal is told that somebody is needed: osc9, osc99, bell, off")
	if err := f.Parse(args); err != nil {
		return errFlags
	}
	source, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer source.Close()
	return tui.Run(ctx, source, tui.Options{
		In: os.Stdin, Out: os.Stdout, Environ: os.Environ(), Colour: p.color, Tell: *tell, Attach: p.attach,
	})
}

// attach returns the gc that connects the terminal to an agent: it knows every provider.
func (p *place) attach(ctx context.Context, a *fleet.Agent) *exec.Cmd {
	session := cmp.Or(a.Session, a.ID)
	args := []string{"session", "attach", "--", session}
	switch {
	case p.host != "":
		args = []string{"attach", "--host", p.host, "--", session}
	case p.city != "":
		args = []string{"--city", p.city, "attach", "--", a.ID}
	}
	return exec.CommandContext(ctx, p.gc, args...)
}
