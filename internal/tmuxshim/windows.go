package tmuxshim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gascity.dev/gc/internal/tmuxshim/world"
)

var windowCommands = []*command{
	{name: "new-window", alias: "neww", spec: "abc:de:F:kn:PSt:", most: -1, run: newWindow},
	{name: "list-windows", alias: "lsw", spec: "aF:f:t:", run: listWindows},
	{name: "select-window", alias: "selectw", spec: "lnpTt:", run: selectWindow},
	{name: "next-window", alias: "next", spec: "at:", run: beside(1)},
	{name: "previous-window", alias: "prev", spec: "at:", run: beside(-1)},
	{name: "last-window", alias: "last", spec: "t:", run: lastWindow},
	{name: "rename-window", alias: "renamew", spec: "t:", least: 1, most: 1, run: renameWindow},
	{name: "kill-window", alias: "killw", spec: "at:", run: killWindow},
	{name: "move-window", alias: "movew", spec: "abdkrs:t:", run: moveWindow},
	{name: "swap-window", alias: "swapw", spec: "ds:t:", run: swapWindow},
	{name: "resize-window", alias: "resizew", spec: "aADLRt:Ux:y:", most: 1, run: resizeWindow},
	{name: "select-layout", alias: "selectl", spec: "Enopt:", most: 1, run: selectLayout},
}

// index is the first index for a window that is free: of options base-index upwards.
func index(w *world.World, s *world.Session) int {
	base, _ := strconv.Atoi(optionOf(w, s, "base-index"))
	if s == nil {
		return base
	}
	return s.FreeIndex(base)
}

func optionOf(w *world.World, s *world.Session, name string) string {
	if s != nil {
		if v, ok := s.Options[name]; ok {
			return v
		}
	}
	if v, ok := w.Options[name]; ok {
		return v
	}
	return defaults[name]
}

func newWindow(ctx context.Context, c *call) error {
	var made world.Place
	err := c.change(ctx, func(w *world.World) error {
		s, at, err := c.newPlace(w)
		if err != nil {
			return err
		}
		before := s.CurrentWindow()
		if made, err = c.open(ctx, w, s, at, c.value('n')); err != nil {
			return err
		}
		if !c.has('d') {
			s.Current = before.ID
			s.Select(made.Window)
		} else {
			s.Current = before.ID
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.print(ctx, made, "#{session_name}:#{window_index}.#{pane_index}")
}

// newPlace is the session and index that -t, -a and -b name for a new window.
func (c *call) newPlace(w *world.World) (*world.Session, int, error) {
	if !c.has('a') && !c.has('b') {
		s, at, err := w.FindIndex(c.value('t'), c.here(w))
		switch {
		case err != nil:
			return nil, 0, err
		case at < 0:
			return s, index(w, s), nil
		case s.At(at) != nil:
			return nil, 0, fmt.Errorf("create window failed: index %d in use", at)
		}
		return s, at, nil
	}
	p, err := c.target(w, world.KindWindow)
	if err != nil {
		return nil, 0, err
	}
	at := p.Window.Index
	if c.has('a') {
		at++
	}
	for _, win := range slices.Backward(p.Session.Windows) {
		if win.Index >= at {
			win.Index++
		}
	}
	return p.Session, at, nil
}

const windowLine = "#{window_index}: #{window_name}#{window_raw_flags} (#{window_panes} panes) [#{window_width}x#{window_height}] [layout #{window_layout}] #{window_id}#{?window_active, (active),}"

func listWindows(ctx context.Context, c *call) error {
	w, p, err := c.look(ctx, world.KindSession)
	if err != nil {
		return err
	}
	f := windowLine
	if c.has('a') {
		f = "#{session_name}:" + f
	}
	for _, s := range w.ByName() {
		if s != p.Session && !c.has('a') {
			continue
		}
		for _, win := range s.Windows {
			c.line(w, world.Place{Session: s, Window: win, Pane: win.ActivePane()}, f)
		}
	}
	return nil
}

func selectWindow(ctx context.Context, c *call) error {
	switch {
	case c.has('n'):
		return beside(1)(ctx, c)
	case c.has('p'):
		return beside(-1)(ctx, c)
	case c.has('l'):
		return lastWindow(ctx, c)
	}
	return c.changeAt(ctx, world.KindWindow, func(_ *world.World, p world.Place) error {
		p.Session.Select(p.Window)
		return nil
	})
}

// beside selects the window n places on.
func beside(n int) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) error {
		return c.changeAt(ctx, world.KindSession, func(_ *world.World, p world.Place) error {
			all := p.Session.Windows
			if len(all) == 1 {
				return fmt.Errorf("no %s window", map[int]string{1: "next", -1: "previous"}[n])
			}
			i := slices.Index(all, p.Session.CurrentWindow())
			p.Session.Select(all[(i+n+len(all))%len(all)])
			return nil
		})
	}
}

func lastWindow(ctx context.Context, c *call) error {
	return c.changeAt(ctx, world.KindSession, func(_ *world.World, p world.Place) error {
		last := p.Session.LastWindow()
		if last == nil {
			return fmt.Errorf("no last window")
		}
		p.Session.Select(last)
		return nil
	})
}

func renameWindow(ctx context.Context, c *call) error {
	return c.changeAt(ctx, world.KindWindow, func(w *world.World, p world.Place) error {
		p.Window.Name, p.Window.Named = clean(c.expand(w, p, c.arg(0))), true
		return nil
	})
}

func killWindow(ctx context.Context, c *call) error {
	_, p, err := c.look(ctx, world.KindWindow)
	if err != nil {
		return err
	}
	var doomed []*world.Pane
	for _, win := range p.Session.Windows {
		if (win == p.Window) != c.has('a') {
			doomed = append(doomed, win.Panes...)
		}
	}
	return c.kill(ctx, doomed)
}

func moveWindow(ctx context.Context, c *call) error {
	return c.change(ctx, func(w *world.World) error {
		if c.has('r') {
			p, err := c.target(w, world.KindSession)
			if err != nil {
				return err
			}
			base := index(w, nil)
			for i, win := range p.Session.Windows {
				win.Index = base + i
			}
			return nil
		}
		from, err := c.flagTarget(w, 's', world.KindWindow)
		if err != nil {
			return err
		}
		s, at, err := c.newPlace(w)
		if err != nil {
			return err
		}
		w.Move(from, s, at, !c.has('d'))
		return nil
	})
}

func swapWindow(ctx context.Context, c *call) error {
	return c.change(ctx, func(w *world.World) error {
		from, err := c.flagTarget(w, 's', world.KindWindow)
		if err != nil {
			return err
		}
		to, err := c.target(w, world.KindWindow)
		if err != nil {
			return err
		}
		from.Window.Index, to.Window.Index = to.Window.Index, from.Window.Index
		i, j := from.Window.Index, to.Window.Index
		a, b := from.Session, to.Session
		if a != b {
			w.Move(from, b, i, false)
			w.Move(to, a, j, false)
		}
		w.Sort()
		return nil
	})
}

// resizeWindow gives every pane of a window its size.
func resizeWindow(ctx context.Context, c *call) error {
	w, p, err := c.look(ctx, world.KindWindow)
	if err != nil {
		return err
	}
	cols, rows := p.Session.Cols, p.Session.Rows
	by := 1
	if n, err := strconv.Atoi(c.arg(0)); err == nil {
		by = n
	}
	for flag, change := range map[byte][2]int{'L': {-by, 0}, 'R': {by, 0}, 'U': {0, -by}, 'D': {0, by}} {
		if c.has(flag) {
			cols, rows = cols+change[0], rows+change[1]
		}
	}
	if c.has('x') || c.has('y') {
		if cols, rows = c.size(w); !c.has('x') {
			cols = p.Session.Cols
		} else if !c.has('y') {
			rows = p.Session.Rows
		}
	}
	for _, pane := range p.Window.Panes {
		if err := c.mux.Resize(ctx, pane.Mux, cols, rows); err != nil {
			return err
		}
	}
	return c.changeAt(ctx, world.KindWindow, func(_ *world.World, p world.Place) error {
		p.Session.Cols, p.Session.Rows = cols, rows
		return nil
	})
}

// selectLayout remembers a layout that is one of tmux's own; the panes keep their size.
func selectLayout(ctx context.Context, c *call) error {
	return c.changeAt(ctx, world.KindPane, func(_ *world.World, p world.Place) error {
		name := c.arg(0)
		_, _, custom := strings.Cut(name, ",")
		if custom {
			p.Window.Layout = clean(name)
			return nil
		}
		fits := 0
		for _, known := range []string{"even-horizontal", "even-vertical", "main-horizontal", "main-vertical", "tiled"} {
			if strings.HasPrefix(known, name) {
				fits++
			}
		}
		if fits == 0 {
			return fmt.Errorf("invalid layout: %s", name)
		}
		return nil
	})
}
