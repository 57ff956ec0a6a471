package hostcmd

import (
	"context"
	"fmt"
	"path"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/hostcheck"
	"gascity.dev/gc/internal/hosts/install"
	"gascity.dev/gc/mux/client"
)

// installBeside installs the programs that gc executes, such as gc-mcp, beside the gc at a
// path there: those that are beside the program that was sent.
func installBeside(ctx context.Context, c *cli.Console, name string, h *client.Host, sent, gc string, progress *display.Progress) error {
	for _, suffix := range []string{"-mcp", "-ui"} {
		file := install.Beside(sent, suffix)
		if file == "" {
			continue
		}
		if err := installOne(ctx, c, name, h, file, path.Join(path.Dir(gc), "gc"+suffix), progress); err != nil {
			return fmt.Errorf("gc%s: %w", suffix, err)
		}
	}
	return nil
}

func installOne(ctx context.Context, c *cli.Console, name string, h *client.Host, file, to string, progress *display.Progress) error {
	p, err := install.Load(file)
	if err != nil {
		return err
	}
	s, err := hostcheck.Shell(ctx, h)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := send(ctx, s, p, to, progress)
	progress.Clear()
	if err != nil {
		return err
	}
	if !r.Same {
		fmt.Fprintf(c.Out, "installed %s at %s on %s\n", path.Base(to), display.Line(r.Path), display.Line(name))
	}
	return nil
}
