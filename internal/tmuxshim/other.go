package tmuxshim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gascity.dev/gc/internal/tmuxshim/format"
	"gascity.dev/gc/internal/tmuxshim/world"
)

var otherCommands = []*command{
	{name: "display-message", alias: "display", spec: "ac:d:INpt:F:v", most: 1, run: displayMessage},
	{name: "run-shell", alias: "run", spec: "bd:Ct:", most: 1, run: runShell},
	{name: "if-shell", alias: "if", spec: "bFt:", least: 2, most: 3, run: ifShell},
	{name: "source-file", alias: "source", spec: "t:Fnqv", least: 1, most: -1, run: sourceFile},
	{name: "list-commands", alias: "lscm", spec: "F:", most: 1, starts: true, run: listCommands},
	{name: "wait-for", alias: "wait", spec: "LSU", least: 1, most: 1, run: waitFor},
	{name: "pipe-pane", alias: "pipep", spec: "IOot:", most: 1, run: unsupported("pipes")},
	absent("choose-buffer", ""), absent("choose-client", ""), absent("choose-tree", ""), absent("clear-prompt-history", "clearphist"),
	absent("clock-mode", ""), absent("command-prompt", ""), absent("confirm-before", "confirm"), absent("copy-mode", ""),
	absent("customize-mode", ""), absent("display-menu", "menu"), absent("display-panes", "displayp"), absent("display-popup", "popup"),
	absent("find-window", "findw"), absent("link-window", "linkw"), absent("list-keys", "lsk"), absent("lock-client", "lockc"),
	absent("lock-server", "lock"), absent("lock-session", "locks"), absent("next-layout", "nextl"), absent("previous-layout", "prevl"),
	absent("rotate-window", "rotatew"), absent("server-access", ""), absent("show-hooks", ""),
	absent("show-messages", "showmsgs"), absent("show-prompt-history", "showphist"), absent("suspend-client", "suspendc"), absent("unlink-window", "unlinkw"),
}

// absent is a command of tmux's that is not there.
func absent(name, alias string) *command {
	return &command{name: name, alias: alias, spec: anything, most: -1, starts: true, run: func(context.Context, *call) error {
		return fmt.Errorf("%s is not there: see docs/tmux-shim.md", name)
	}}
}

// listed writes a line for a source, if -f lets it.
func (c *call) listed(s *source, f string) {
	if c.has('f') && !format.True(format.Expand(c.value('f'), s)) {
		return
	}
	c.printf("%s", format.Expand(f, s))
}

func displayMessage(ctx context.Context, c *call) error {
	w, err := c.world(ctx)
	if err != nil {
		return err
	}
	p, err := c.target(w, world.KindPane)
	if err != nil { // as tmux: what there is of it
		target := c.value('t')
		p, _ = w.Find(target[:max(strings.LastIndexByte(target, '.'), 0)], world.KindWindow, world.Place{})
	}
	if !c.has('p') {
		return nil // no client shows a status line
	}
	text := `[#{session_name}] #{window_index}:#{window_name}, current pane #{pane_index} - (%H:%M %d-%b-%y)`
	switch {
	case c.has('F'):
		text = c.value('F')
	case len(c.rest) > 0:
		text = c.arg(0)
	}
	c.printf("%s", c.expand(w, p, format.Strftime(time.Now(), text)))
	return nil
}

// runShell runs a shell command and writes its output.
func runShell(ctx context.Context, c *call) error {
	if c.has('C') {
		all, err := commands(c.arg(0), environment)
		if err != nil {
			return err
		}
		return c.runAll(ctx, all, "")
	}
	w, err := c.world(ctx)
	if err != nil {
		return err
	}
	line := c.expand(w, c.here(w), c.arg(0))
	cmd := shell(ctx, line)
	if c.has('b') {
		cmd = shell(context.Background(), line)
		return cmd.Start()
	}
	cmd.Stdout, cmd.Stderr = c.Out, c.Out
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitStatus(exit.ExitCode())
	}
	return err
}

func shell(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// ifShell runs one of two commands.
func ifShell(ctx context.Context, c *call) error {
	w, err := c.world(ctx)
	if err != nil {
		return err
	}
	condition := c.expand(w, c.here(w), c.arg(0))
	holds := format.True(condition)
	if !c.has('F') {
		holds = shell(ctx, condition).Run() == nil
	}
	text := c.arg(1)
	if !holds {
		text = c.arg(2)
	}
	all, err := commands(text, environment)
	if err != nil {
		return err
	}
	return c.runAll(ctx, all, "")
}

// sourceFile runs the commands of files; every error of one is written, as tmux does.
func sourceFile(ctx context.Context, c *call) error {
	failed := false
	for _, pattern := range c.rest {
		paths, _ := filepath.Glob(pattern)
		if len(paths) == 0 {
			if c.has('q') {
				continue
			}
			paths = []string{pattern}
		}
		for _, path := range paths {
			if err := c.sourceOne(ctx, path); err != nil {
				fmt.Fprintln(c.Err, clean(err.Error()))
				failed = true
			}
		}
	}
	if failed {
		return exitStatus(1)
	}
	return nil
}

func (c *call) sourceOne(ctx context.Context, path string) error {
	data, err := c.read(path)
	if err != nil {
		return err
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	all, err := commands(string(data), environment)
	if err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	if c.has('n') {
		return nil
	}
	return c.runAll(ctx, all, path)
}

func listCommands(_ context.Context, c *call) error {
	for _, one := range table {
		if name := c.arg(0); name != "" && one.name != name && one.alias != name {
			continue
		}
		switch {
		case c.has('F'):
			c.printf("%s", format.Expand(c.value('F'), &source{server: c.server, world: &world.World{}, extra: map[string]string{
				"command_list_name": one.name, "command_list_alias": one.alias,
			}}))
		case one.alias == "":
			c.printf("%s", one.name)
		default:
			c.printf("%s (%s)", one.name, one.alias)
		}
	}
	return nil
}

// waitFor waits for a signal of another wait-for, or gives one.
func waitFor(ctx context.Context, c *call) error {
	ch := c.store.Channel(c.arg(0))
	switch {
	case c.has('S'):
		return ch.Signal()
	case c.has('L'), c.has('U'):
		return fmt.Errorf("locks are not there: see docs/tmux-shim.md")
	}
	return ch.Wait(ctx)
}

// reason is the text of a file's error, as strerror(3) has it.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		var errno syscall.Errno
		if errors.As(path.Err, &errno) {
			return strings.ToUpper(errno.Error()[:1]) + errno.Error()[1:]
		}
	}
	return err.Error()
}
