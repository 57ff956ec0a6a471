package tmuxshim

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"gascity.dev/gc/internal/tmuxshim/format"
	"gascity.dev/gc/internal/tmuxshim/world"
)

var sessionCommands = []*command{
	{name: "new-session", alias: "new", spec: "Ac:dDe:EF:f:n:Ps:t:x:Xy:", most: -1, starts: true, run: newSession},
	{name: "has-session", alias: "has", spec: "t:", run: hasSession},
	{name: "kill-session", spec: "aCt:", run: killSession},
	{name: "kill-server", run: killServer},
	{name: "start-server", alias: "start", starts: true, run: startServer},
	{name: "list-sessions", alias: "ls", spec: "F:f:", run: listSessions},
	{name: "rename-session", alias: "rename", spec: "t:", least: 1, most: 1, run: renameSession},
	{name: "attach-session", alias: "attach", spec: "c:dEf:rt:x", starts: true, run: attachSession},
	{name: "list-clients", alias: "lsc", spec: "F:t:", run: func(context.Context, *call) error { return nil }},
	{name: "detach-client", alias: "detach", spec: "aE:s:t:P", run: func(context.Context, *call) error { return fmt.Errorf("no current client") }},
	{name: "switch-client", alias: "switchc", spec: "c:EFlnprt:T:Z", run: func(context.Context, *call) error { return fmt.Errorf("no current client") }},
	{name: "refresh-client", alias: "refresh", spec: "A:B:cC:Df:r:F:l::LRSt:U", most: 1, run: func(context.Context, *call) error { return fmt.Errorf("no current client") }},
}

func newSession(ctx context.Context, c *call) error {
	if c.has('t') {
		return fmt.Errorf("session groups are not there: see docs/tmux-shim.md")
	}
	var made world.Place
	var existing string
	err := c.change(ctx, func(w *world.World) error {
		here := c.here(w)
		name := sessionName(c.expand(w, here, c.value('s')))
		dir := c.directory(w, here)
		switch {
		case c.has('s') && name == "":
			return fmt.Errorf("invalid session: %s", c.value('s'))
		case name == "":
			for name = strconv.Itoa(w.NextSession); w.Named(name) != nil; name += "-" {
			}
		case w.Named(name) != nil && c.has('A'):
			existing = name
			return nil
		case w.Named(name) != nil:
			return fmt.Errorf("duplicate session: %s", name)
		}
		s := w.NewSession(name)
		s.Cols, s.Rows = c.size(w)
		s.Dir = dir
		s.Environ = pairs(c.flags['e'])
		var err error
		made, err = c.open(ctx, w, s, index(w, nil), c.value('n'))
		return err
	})
	switch {
	case err != nil:
		return err
	case existing != "":
		return c.attachTo(ctx, existing)
	}
	if err := c.print(ctx, made, "#{session_name}:"); err != nil {
		return err
	}
	if c.has('d') {
		return nil
	}
	return c.attachTo(ctx, made.Session.Name)
}

// sessionName is a name as tmux keeps it: ':' and '.' would be parts of targets.
func sessionName(name string) string {
	return clean(strings.NewReplacer(":", "_", ".", "_").Replace(name))
}

// size is -x and -y, or the default size.
func (c *call) size(w *world.World) (cols, rows int) {
	cols, rows = 80, 24
	if text, ok := w.Options["default-size"]; ok {
		_, _ = fmt.Sscanf(text, "%dx%d", &cols, &rows) // what it does not say stays
	}
	if n, err := strconv.Atoi(c.value('x')); err == nil && n > 0 {
		cols = n
	}
	if n, err := strconv.Atoi(c.value('y')); err == nil && n > 0 {
		rows = n
	}
	return cols, rows
}

// directory is -c, or where the command runs.
func (c *call) directory(w *world.World, p world.Place) string {
	if c.has('c') {
		return c.expand(w, p, c.value('c'))
	}
	dir, _ := os.Getwd()
	return dir
}

// print writes -P: the format of -F, or the default, at p.
func (c *call) print(ctx context.Context, p world.Place, f string) error {
	if !c.has('P') {
		return nil
	}
	if c.has('F') {
		f = c.value('F')
	}
	w, err := c.world(ctx)
	if err != nil {
		return err
	}
	again, err := w.Find(world.PaneID(p.Pane.ID), world.KindPane, p)
	if err == nil { // it may have ended already
		p = again
	}
	c.printf("%s", c.expand(w, p, f))
	return nil
}

func hasSession(ctx context.Context, c *call) error {
	_, _, err := c.look(ctx, world.KindSession)
	return err
}

func killSession(ctx context.Context, c *call) error {
	w, p, err := c.look(ctx, world.KindSession)
	if err != nil || c.has('C') {
		return err
	}
	var doomed []*world.Pane
	for _, other := range w.Places() {
		if (other.Session == p.Session) != c.has('a') {
			doomed = append(doomed, other.Pane)
		}
	}
	return c.kill(ctx, doomed)
}

func killServer(ctx context.Context, c *call) error {
	w, err := c.world(ctx)
	if err != nil {
		return err
	}
	var doomed []*world.Pane
	for _, p := range w.Places() {
		doomed = append(doomed, p.Pane)
	}
	if err := c.kill(ctx, doomed); err != nil {
		return err
	}
	return c.change(ctx, func(w *world.World) error {
		*w = world.World{NextPane: w.NextPane, NextSession: 0}
		return nil
	})
}

func startServer(ctx context.Context, c *call) error {
	_, err := c.connect(ctx, true)
	return err
}

const sessionLine = "#{session_name}: #{session_windows} windows (created #{t:session_created})#{?session_grouped, (group ,}#{session_group}#{?session_grouped,),}#{?session_attached, (attached),}"

func listSessions(ctx context.Context, c *call) error {
	w, err := c.world(ctx)
	if err != nil {
		return err
	}
	for _, s := range w.ByName() {
		c.line(w, whole(s), sessionLine)
	}
	return nil
}

// line writes a line of a list, by -F, if -f lets it.
func (c *call) line(w *world.World, p world.Place, f string) {
	if c.has('F') {
		f = c.value('F')
	}
	if c.has('f') && !format.True(c.expand(w, p, c.value('f'))) {
		return
	}
	c.printf("%s", c.expand(w, p, f))
}

func renameSession(ctx context.Context, c *call) error {
	return c.changeAt(ctx, world.KindSession, func(w *world.World, p world.Place) error {
		name := sessionName(c.expand(w, p, c.arg(0)))
		switch other := w.Named(name); {
		case name == "":
			return fmt.Errorf("invalid session: %s", c.arg(0))
		case other != nil && other != p.Session:
			return fmt.Errorf("duplicate session: %s", name)
		}
		p.Session.Name = name
		return nil
	})
}

func attachSession(ctx context.Context, c *call) error {
	w, err := c.world(ctx)
	if err != nil {
		return err
	}
	if len(w.Sessions) == 0 {
		return fmt.Errorf("no sessions")
	}
	p, err := c.target(w, world.KindPane)
	if err != nil {
		return err
	}
	return c.show(ctx, p)
}

func (c *call) attachTo(ctx context.Context, session string) error {
	w, err := c.world(ctx)
	if err != nil {
		return err
	}
	s := w.Named(session)
	if s == nil {
		return nil // it has ended
	}
	return c.show(ctx, whole(s))
}

// show attaches to the pane at p.
func (c *call) show(ctx context.Context, p world.Place) error {
	err := c.change(ctx, func(w *world.World) error {
		if s := w.Named(p.Session.Name); s != nil {
			s.Activity = time.Now()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.Attach(ctx, p.Pane.Mux, c.command.name == "attach-session" && c.has('r'))
}

// pairs are -e NAME=VALUE.
func pairs(values []string) map[string]string {
	m := map[string]string{}
	for _, v := range values {
		if name, value, ok := strings.Cut(v, "="); ok {
			m[name] = value
		}
	}
	return m
}
