package tmuxshim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gascity.dev/gc/internal/tmuxshim/format"
	"gascity.dev/gc/internal/tmuxshim/world"
)

// command is one of tmux's commands.
type command struct {
	name, alias string
	spec        string // its flags, as for getopt(3)
	least, most int    // operands; most < 0: any number
	starts      bool   // it runs without a server, too
	run         func(ctx context.Context, c *call) error
}

// call is a command with its arguments.
type call struct {
	*server
	*command
	*arguments
}

// commands of this program, sorted by name.
var table []*command

func init() {
	table = slices.Concat(sessionCommands, windowCommands, paneCommands, keyCommands, bufferCommands, optionCommands, otherCommands)
	slices.SortFunc(table, func(a, b *command) int { return strings.Compare(a.name, b.name) })
}

// find returns the command of a name, an alias, or an unambiguous beginning of a name.
func find(name string) (*command, error) {
	var fit []*command
	for _, c := range table {
		if c.name == name || c.alias == name {
			return c, nil
		}
		if strings.HasPrefix(c.name, name) {
			fit = append(fit, c)
		}
	}
	switch len(fit) {
	case 0:
		return nil, fmt.Errorf("unknown command: %s", name)
	case 1:
		return fit[0], nil
	}
	names := make([]string, len(fit))
	for i, c := range fit {
		names[i] = c.name
	}
	return nil, fmt.Errorf("ambiguous command: %s, could be: %s", name, strings.Join(names, ", "))
}

// printf writes a line.
func (c *call) printf(f string, args ...any) { fmt.Fprintf(c.Out, f+"\n", args...) }

// target is what flag t names, in w.
func (c *call) target(w *world.World, kind world.Kind) (world.Place, error) {
	return c.flagTarget(w, 't', kind)
}

func (c *call) flagTarget(w *world.World, flag byte, kind world.Kind) (world.Place, error) {
	return w.Find(c.value(flag), kind, c.here(w))
}

// here is where the command comes from: the pane that its process runs in, or the most
// recently used session.
func (c *call) here(w *world.World) world.Place {
	if pane := environment("TMUX_PANE"); pane != "" {
		for _, p := range w.Places() {
			if world.PaneID(p.Pane.ID) == pane {
				return world.Place{Session: p.Session, Window: p.Session.CurrentWindow(), Pane: p.Session.CurrentWindow().ActivePane()}
			}
		}
	}
	var best *world.Session
	for _, s := range w.Sessions {
		if best == nil || s.Activity.After(best.Activity) {
			best = s
		}
	}
	if best == nil {
		return world.Place{}
	}
	win := best.CurrentWindow()
	return world.Place{Session: best, Window: win, Pane: win.ActivePane()}
}

// look reads the world and the target of flag t.
func (c *call) look(ctx context.Context, kind world.Kind) (*world.World, world.Place, error) {
	w, err := c.world(ctx)
	if err != nil {
		return nil, world.Place{}, err
	}
	p, err := c.target(w, kind)
	return w, p, err
}

// changeAt changes the world at the target of flag t.
func (c *call) changeAt(ctx context.Context, kind world.Kind, f func(w *world.World, p world.Place) error) error {
	return c.change(ctx, func(w *world.World) error {
		p, err := c.target(w, kind)
		if err != nil {
			return err
		}
		return f(w, p)
	})
}

// expand expands a format at p.
func (c *call) expand(w *world.World, p world.Place, text string) string {
	return format.Expand(text, c.source(w, p))
}

func (c *call) source(w *world.World, p world.Place) *source {
	return &source{server: c.server, world: w, place: p}
}
