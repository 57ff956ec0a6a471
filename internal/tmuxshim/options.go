package tmuxshim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gascity.dev/gc/internal/tmuxshim/world"
)

var optionCommands = []*command{
	{name: "set-option", alias: "set", spec: "aFgopqst:uUw", least: 1, most: 2, run: setOption},
	{name: "set-window-option", alias: "setw", spec: "aFgoqt:u", least: 1, most: 2, run: setOption},
	{name: "show-options", alias: "show", spec: "AgHpqst:vw", most: 1, run: showOptions},
	{name: "show-window-options", alias: "showw", spec: "gvt:", most: 1, run: showOptions},
	{name: "set-environment", alias: "setenv", spec: "Fhgrt:u", least: 1, most: 2, run: setEnvironment},
	{name: "show-environment", alias: "showenv", spec: "hgst:", most: 1, run: showEnvironment},
	{name: "set-hook", spec: "agpRt:uw", least: 1, most: 2, run: unsupported("hooks")},
	{name: "bind-key", alias: "bind", spec: "nrN:T:", most: -1, run: nothing},
	{name: "unbind-key", alias: "unbind", spec: "anqT:", most: 1, run: nothing},
}

// defaults are the options of tmux that decide something here, and what tools ask for.
var defaults = map[string]string{
	"base-index": "0", "pane-base-index": "0", "default-size": "80x24", "history-limit": "2000",
	"default-terminal": "screen", "prefix": "C-b", "status": "on", "mouse": "off", "remain-on-exit": "off",
	"automatic-rename": "on", "allow-rename": "off", "default-command": "", "escape-time": "500",
	"exit-empty": "on", "destroy-unattached": "off", "window-size": "latest", "mode-keys": "emacs",
	"status-keys": "emacs", "renumber-windows": "off", "set-titles": "off", "detach-on-destroy": "on",
}

func nothing(context.Context, *call) error { return nil }

// unsupported says that what is not there.
func unsupported(what string) func(context.Context, *call) error {
	return func(context.Context, *call) error {
		return fmt.Errorf("%s are not there: see docs/tmux-shim.md", what)
	}
}

// options is the table that the flags name: the pane's, the window's, the session's or,
// with g or s, the global ones.
func (c *call) options(w *world.World) (*map[string]string, error) {
	if c.has('g') || c.has('s') {
		return &w.Options, nil
	}
	kind := world.KindPane
	p, err := c.target(w, kind)
	switch {
	case err != nil && !c.has('t') && len(w.Sessions) == 0:
		return &w.Options, nil
	case err != nil:
		return nil, err
	case c.has('p'):
		return &p.Pane.Options, nil
	case c.has('w') || strings.HasSuffix(c.command.name, "-window-option") || strings.HasSuffix(c.command.name, "-window-options"):
		return &p.Window.Options, nil
	}
	return &p.Session.Options, nil
}

func setOption(ctx context.Context, c *call) error {
	return c.change(ctx, func(w *world.World) error {
		name, value := c.arg(0), c.arg(1)
		if err := known(name); err != nil {
			if c.has('q') {
				return nil
			}
			return err
		}
		table, err := c.options(w)
		if err != nil {
			return err
		}
		if c.has('F') {
			value = c.expand(w, c.here(w), value)
		}
		old, is := (*table)[name]
		switch {
		case c.has('u') || c.has('U'):
			delete(*table, name)
			return nil
		case c.has('o') && is:
			return fmt.Errorf("already set: %s", name)
		case c.has('a'):
			value = old + value
		}
		if *table == nil {
			*table = map[string]string{}
		}
		(*table)[name] = value
		return nil
	})
}

// known fails for what is no option: a user's begin with '@'; others are words of letters.
func known(name string) error {
	base, _, _ := strings.Cut(name, "[")
	if strings.HasPrefix(base, "@") {
		return nil
	}
	if base == "" || strings.Trim(base, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("invalid option: %s", clean(name))
	}
	return nil
}

func showOptions(ctx context.Context, c *call) error {
	w, err := c.world(ctx)
	if err != nil {
		return err
	}
	table, err := c.options(w)
	if err != nil {
		return err
	}
	values := maps.Clone(*table)
	if values == nil {
		values = map[string]string{}
	}
	if c.has('A') || c.has('g') {
		for name, value := range defaults {
			if _, is := values[name]; !is {
				values[name] = value
			}
		}
	}
	names := slices.Sorted(maps.Keys(values))
	if name := c.arg(0); name != "" {
		if _, is := values[name]; !is {
			if _, is := defaults[name]; is || c.has('q') {
				return nil
			}
			return fmt.Errorf("invalid option: %s", clean(name))
		}
		names = []string{name}
	}
	for _, name := range names {
		if c.has('v') {
			c.printf("%s", values[name])
		} else {
			c.printf("%s %s", name, quoted(values[name]))
		}
	}
	return nil
}

// quoted is a value as tmux shows it.
func quoted(value string) string {
	if value == "" {
		return "''"
	}
	if !strings.ContainsAny(value, " ;#\"'$\\~{}%") {
		return value
	}
	return `"` + strings.NewReplacer(`"`, `\"`, `$`, `\$`, `\`, `\\`).Replace(value) + `"`
}

// environment is the table of variables that the flags name.
func (c *call) variables(w *world.World) (*map[string]string, error) {
	if c.has('g') {
		return &w.Environ, nil
	}
	p, err := c.target(w, world.KindSession)
	if err != nil {
		return nil, err
	}
	return &p.Session.Environ, nil
}

func setEnvironment(ctx context.Context, c *call) error {
	name, value := c.arg(0), c.arg(1)
	switch {
	case name == "":
		return fmt.Errorf("empty variable name")
	case strings.Contains(name, "="):
		return fmt.Errorf("variable name contains =")
	case len(c.rest) < 2 && !c.has('u') && !c.has('r'):
		return fmt.Errorf("no value specified")
	}
	return c.change(ctx, func(w *world.World) error {
		table, err := c.variables(w)
		if err != nil {
			return err
		}
		if *table == nil {
			*table = map[string]string{}
		}
		if c.has('u') || c.has('r') {
			delete(*table, name)
			return nil
		}
		if c.has('F') {
			value = c.expand(w, c.here(w), value)
		}
		(*table)[name] = value
		return nil
	})
}

func showEnvironment(ctx context.Context, c *call) error {
	w, err := c.world(ctx)
	if err != nil {
		return err
	}
	table, err := c.variables(w)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(*table))
	if name := c.arg(0); name != "" {
		if _, is := (*table)[name]; !is {
			return fmt.Errorf("unknown variable: %s", clean(name))
		}
		names = []string{name}
	}
	for _, name := range names {
		if c.has('s') {
			c.printf("%s=\"%s\"; export %s;", name, strings.NewReplacer(`"`, `\"`, `$`, `\$`, `\`, `\\`, "`", "\\`").Replace((*table)[name]), name)
		} else {
			c.printf("%s=%s", name, (*table)[name])
		}
	}
	return nil
}
