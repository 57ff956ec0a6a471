package tmuxshim

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/internal/tmuxshim/world"
	"gascity.dev/gc/mux/api"
)

var paneCommands = []*command{
	{name: "split-window", alias: "splitw", spec: "bc:de:fF:hIl:p:Pt:vZ", most: -1, run: splitWindow},
	{name: "list-panes", alias: "lsp", spec: "asF:f:t:", run: listPanes},
	{name: "select-pane", alias: "selectp", spec: "DdegLlMmP:RT:t:UZ", run: selectPane},
	{name: "last-pane", alias: "lastp", spec: "det:Z", run: lastPane},
	{name: "kill-pane", alias: "killp", spec: "at:", run: killPane},
	{name: "respawn-pane", alias: "respawnp", spec: "c:e:kt:", most: -1, run: respawn},
	{name: "respawn-window", alias: "respawnw", spec: "c:e:kt:", most: -1, run: respawn},
	{name: "resize-pane", alias: "resizep", spec: "DLMRTt:Ux:y:Z", most: 1, run: resizePane},
	{name: "swap-pane", alias: "swapp", spec: "dDs:t:UZ", run: swapPane},
	{name: "break-pane", alias: "breakp", spec: "abdPF:n:s:t:", run: breakPane},
	{name: "join-pane", alias: "joinp", spec: "bdfhvp:l:s:t:", run: joinPane},
	{name: "move-pane", alias: "movep", spec: "bdfhvp:l:s:t:", run: joinPane},
	{name: "capture-pane", alias: "capturep", spec: "ab:CeE:JNpPqS:Tt:", run: capturePane},
	{name: "clear-history", alias: "clearhist", spec: "Ht:", run: clearHistory},
}

// open makes a window with its program.
func (c *call) open(ctx context.Context, w *world.World, s *world.Session, at int, name string) (world.Place, error) {
	win, pane := w.NewWindow(s, at)
	p := world.Place{Session: s, Window: win, Pane: pane}
	if len(s.Windows) == 1 {
		s.Current = win.ID
	}
	if err := c.launch(ctx, w, p); err != nil {
		return p, err
	}
	win.Name, win.Named = c.windowNamed(w, p, name)
	return p, nil
}

func (c *call) windowNamed(w *world.World, p world.Place, name string) (string, bool) {
	if name != "" {
		return clean(c.expand(w, p, name)), true
	}
	first, _, _ := strings.Cut(p.Pane.Start, " ")
	if first == "" {
		first = shellOf(w, p.Session)
	}
	return clean(first[strings.LastIndexByte(first, '/')+1:]), false
}

func shellOf(w *world.World, s *world.Session) string {
	if shell := optionOf(w, s, "default-shell"); shell != "" {
		return shell
	}
	if shell := os.Getenv("SHELL"); shell != "" {
		return shell
	}
	return "/bin/sh"
}

// launch starts the program of the pane at p: the operands, default-command, or a shell.
func (c *call) launch(ctx context.Context, w *world.World, p world.Place) error {
	m, err := c.connect(ctx, true)
	if err != nil {
		return err
	}
	pane := p.Pane
	if pane.Mux == "" {
		pane.Mux = c.prefix() + strconv.Itoa(pane.ID)
	}
	pane.Dir = p.Session.Dir
	if c.command.name != "new-session" && c.has('c') {
		pane.Dir = c.expand(w, p, c.value('c'))
	}
	if st, err := os.Stat(pane.Dir); err != nil || !st.IsDir() {
		pane.Dir = os.Getenv("HOME")
	}
	r := api.CreateRequest{Name: pane.Mux, WorkDir: pane.Dir, Cols: p.Session.Cols, Rows: p.Session.Rows, Env: c.environ(w, p)}
	if n, err := strconv.Atoi(optionOf(w, p.Session, "history-limit")); err == nil && w.Options["history-limit"] != "" {
		r.ScrollbackLines = max(n, -1)
	}
	switch words := c.rest; {
	case len(words) > 1:
		r.Argv = words
	case len(words) == 1 && words[0] != "":
		r.Command = words[0]
	default:
		if r.Command = optionOf(w, p.Session, "default-command"); r.Command == "" {
			r.Argv = []string{shellOf(w, p.Session)}
		}
	}
	pane.Start = strings.Join(c.rest, " ")
	_, err = m.Create(ctx, r)
	return err
}

// environ is what a pane's program gets: this process's variables, the global ones, the
// session's, -e, and where it is.
func (c *call) environ(w *world.World, p world.Place) []string {
	values := map[string]string{}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		values[name] = value
	}
	for _, more := range []map[string]string{w.Environ, p.Session.Environ, pairs(c.flags['e'])} {
		for name, value := range more {
			values[name] = value
		}
	}
	values["TMUX"] = fmt.Sprintf("%s,%d,%d", c.socket, os.Getppid(), p.Session.ID)
	values["TMUX_PANE"] = world.PaneID(p.Pane.ID)
	values["SHELL"] = shellOf(w, p.Session)
	all := make([]string, 0, len(values))
	for name, value := range values {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}

// kill ends the programs of panes, and then forgets the panes.
func (c *call) kill(ctx context.Context, panes []*world.Pane) error {
	var all sync.WaitGroup
	for _, p := range panes {
		all.Go(func() {
			_ = c.mux.Signal(ctx, p.Mux, "HUP")     // as the end of its terminal would
			_ = c.mux.Kill(ctx, p.Mux, time.Second) // it may have ended; change looks
		})
	}
	all.Wait()
	return c.change(ctx, func(*world.World) error { return nil })
}

func splitWindow(ctx context.Context, c *call) error {
	var made world.Place
	err := c.changeAt(ctx, world.KindPane, func(w *world.World, p world.Place) error {
		at := slices.Index(p.Window.Panes, p.Pane) + 1
		if c.has('b') {
			at--
		}
		made = p
		before := p.Window.ActivePane()
		made.Pane = w.NewPane(p.Window, at)
		p.Window.Layout = ""
		if err := c.launch(ctx, w, made); err != nil {
			return err
		}
		if p.Window.Active = before.ID; !c.has('d') {
			p.Window.Select(made.Pane)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.print(ctx, made, "#{session_name}:#{window_index}.#{pane_index}")
}

const paneLine = "#{pane_index}: [#{pane_width}x#{pane_height}] #{pane_id}#{?pane_active, (active),}#{?pane_dead, (dead),}"

func listPanes(ctx context.Context, c *call) error {
	kind, f := world.KindWindow, paneLine
	switch {
	case c.has('a'):
		f = "#{session_name}:#{window_index}." + f
	case c.has('s'):
		kind, f = world.KindSession, "#{window_index}."+f
	}
	w, at, err := c.look(ctx, kind)
	if err != nil {
		return err
	}
	for _, p := range w.Places() {
		if c.has('a') || p.Session == at.Session && (c.has('s') || p.Window == at.Window) {
			c.line(w, p, f)
		}
	}
	return nil
}

func selectPane(ctx context.Context, c *call) error {
	return c.changeAt(ctx, world.KindPane, func(w *world.World, p world.Place) error {
		switch {
		case c.has('T'):
			p.Pane.Title = clean(c.expand(w, p, c.value('T')))
			return nil
		case c.has('l'):
			return toLast(p)
		case c.has('m'), c.has('M'), c.has('g'), c.has('P'), c.has('d'), c.has('e'):
			return nil
		}
		for flag, name := range map[byte]string{'L': "{left-of}", 'R': "{right-of}", 'U': "{up-of}", 'D': "{down-of}"} {
			if !c.has(flag) {
				continue
			}
			other, err := w.Find(":."+name, world.KindPane, p)
			if err != nil {
				return err
			}
			p = other
		}
		p.Window.Select(p.Pane)
		return nil
	})
}

func lastPane(ctx context.Context, c *call) error {
	return c.changeAt(ctx, world.KindWindow, func(_ *world.World, p world.Place) error { return toLast(p) })
}

func toLast(p world.Place) error {
	last := p.Window.LastPane()
	if last == nil {
		return fmt.Errorf("no last pane")
	}
	p.Window.Select(last)
	return nil
}

func killPane(ctx context.Context, c *call) error {
	_, p, err := c.look(ctx, world.KindPane)
	if err != nil {
		return err
	}
	doomed := []*world.Pane{p.Pane}
	if c.has('a') {
		doomed = slices.DeleteFunc(slices.Clone(p.Window.Panes), func(x *world.Pane) bool { return x == p.Pane })
	}
	return c.kill(ctx, doomed)
}

// respawn starts a program in a pane whose program runs, with -k; no other kind is kept.
func respawn(ctx context.Context, c *call) error {
	w, p, err := c.look(ctx, world.KindPane)
	if err != nil {
		return err
	}
	if !c.has('k') {
		what, name := "pane", fmt.Sprintf("%s:%d.%d", p.Session.Name, p.Window.Index, slices.Index(p.Window.Panes, p.Pane))
		if c.command.name == "respawn-window" {
			what, name = "window", fmt.Sprintf("%s:%d", p.Session.Name, p.Window.Index)
		}
		return fmt.Errorf("respawn %s failed: %s %s still active", what, what, name)
	}
	if len(c.rest) == 0 && p.Pane.Start != "" {
		c.rest = []string{p.Pane.Start}
	}
	return c.store.Update(func(stored *world.World) error {
		again, err := stored.Find(world.PaneID(p.Pane.ID), world.KindPane, p)
		if err != nil {
			return err
		}
		if err := c.mux.Kill(ctx, p.Pane.Mux, time.Second); err != nil {
			return err
		}
		c.live = nil
		return c.launch(ctx, w, again)
	})
}

func resizePane(ctx context.Context, c *call) error {
	if c.has('Z') {
		return c.changeAt(ctx, world.KindPane, func(_ *world.World, p world.Place) error {
			p.Window.Zoomed = !p.Window.Zoomed && len(p.Window.Panes) > 1
			return nil
		})
	}
	_, p, err := c.look(ctx, world.KindPane)
	if err != nil {
		return err
	}
	info := c.live[p.Pane.Mux]
	cols, rows := info.Size.Cols, info.Size.Rows
	if n, err := strconv.Atoi(c.value('x')); err == nil {
		cols = n
	}
	if n, err := strconv.Atoi(c.value('y')); err == nil {
		rows = n
	}
	return c.mux.Resize(ctx, p.Pane.Mux, cols, rows)
}

func swapPane(ctx context.Context, c *call) error {
	return c.change(ctx, func(w *world.World) error {
		to, err := c.target(w, world.KindPane)
		if err != nil {
			return err
		}
		source := c.value('s')
		switch {
		case c.has('D'):
			source = ":.+"
		case c.has('U'):
			source = ":.-"
		}
		from, err := w.Find(source, world.KindPane, to)
		if err != nil {
			return err
		}
		i, j := slices.Index(from.Window.Panes, from.Pane), slices.Index(to.Window.Panes, to.Pane)
		from.Window.Panes[i], to.Window.Panes[j] = to.Pane, from.Pane
		if !c.has('d') {
			from.Window.Select(to.Pane)
			if from.Window != to.Window {
				to.Window.Select(from.Pane)
			}
		}
		return nil
	})
}

func breakPane(ctx context.Context, c *call) error {
	var made world.Place
	err := c.change(ctx, func(w *world.World) error {
		from, err := c.flagTarget(w, 's', world.KindPane)
		if err != nil {
			return err
		}
		if len(from.Window.Panes) == 1 {
			return fmt.Errorf("can't break with only one pane")
		}
		s := from.Session
		w.Take(from)
		win, place := w.NewWindow(s, index(w, s))
		win.Panes, win.Active = []*world.Pane{from.Pane}, from.Pane.ID
		_ = place // the pane that is moved takes its place
		win.Name, win.Named = c.windowNamed(w, from, c.value('n'))
		if !c.has('d') {
			s.Select(win)
		}
		made = world.Place{Session: s, Window: win, Pane: from.Pane}
		return nil
	})
	if err != nil {
		return err
	}
	return c.print(ctx, made, "#{session_name}:#{window_index}.#{pane_index}")
}

func joinPane(ctx context.Context, c *call) error {
	return c.change(ctx, func(w *world.World) error {
		to, err := c.target(w, world.KindPane)
		if err != nil {
			return err
		}
		from, err := c.flagTarget(w, 's', world.KindPane)
		if err != nil {
			return err
		}
		if from.Pane == to.Pane {
			return fmt.Errorf("source and target panes must be different")
		}
		w.Take(from)
		at := slices.Index(to.Window.Panes, to.Pane) + 1
		to.Window.Panes = slices.Insert(to.Window.Panes, at, from.Pane)
		to.Window.Layout = ""
		if !c.has('d') {
			to.Window.Select(from.Pane)
		}
		return nil
	})
}

func clearHistory(ctx context.Context, c *call) error {
	_, p, err := c.look(ctx, world.KindPane)
	if err != nil {
		return err
	}
	return c.mux.ClearHistory(ctx, p.Pane.Mux)
}
