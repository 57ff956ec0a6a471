// Package tmuxcmd is gc called as tmux, gc tmux, and gc tmux-shim install. It connects
// package tmuxshim to the multiplexer and the terminal; cmd/gc calls it.
package tmuxcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/internal/tmuxshim"
	"gascity.dev/gc/mux/api"
)

// Program is the name under which gc is tmux.
const Program = "tmux"

// Is reports whether a program was called as tmux.
func Is(called string) bool { return filepath.Base(called) == Program }

// Attach shows a session of the multiplexer on the terminal.
type Attach func(ctx context.Context, session string, readOnly bool) error

// Run executes a tmux command line and returns the exit status.
func Run(ctx context.Context, mux *host.Mux, s cli.Streams, args []string, attach Attach) int {
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		fmt.Fprintln(s.Err, err)
		return cli.ExitFailure
	}
	return tmuxshim.Run(ctx, args, tmuxshim.Setup{
		In: s.In, Out: s.Out, Err: s.Err, State: paths.Dir, Attach: attach, Width: displaywidth.String,
		Dial: func(ctx context.Context, start bool) (tmuxshim.Mux, error) {
			if start {
				return mux.Ensure(ctx)
			}
			return mux.Dial(ctx)
		},
	})
}

// New returns gc tmux.
func New(run func(ctx context.Context, args []string) int) *cobra.Command {
	cmd := &cobra.Command{
		Use:                "tmux [COMMAND...]",
		Short:              "Run tmux commands on gc's sessions",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
				return cmd.Help()
			}
			if status := run(cmd.Context(), args); status != 0 {
				return cli.Quiet(status)
			}
			return nil
		},
	}
	return cli.Describe(cmd, `Speaks tmux's command language: every pane is a session of gc's multiplexer, which
survives the end of the server. docs/tmux-shim.md says what is the same as in tmux
and what is not. gc called by the name tmux does the same.`, `
		gc tmux new-session -d -s work
		gc tmux send-keys -t work 'make test' Enter
		gc tmux capture-pane -p -t work
		gc tmux list-panes -a -F '#{pane_id} #{pane_current_command}'`, cli.Statuses{cli.ExitFailure: "as tmux: any error"})
}

// NewInstall returns gc tmux-shim.
func NewInstall() *cobra.Command {
	group := &cobra.Command{Use: "tmux-shim", Short: "Install gc as tmux"}
	install := &cobra.Command{
		Use:   "install DIR",
		Short: "Make a link named tmux to gc in a directory",
		Args:  cli.Exactly(1),
		RunE:  func(_ *cobra.Command, args []string) error { return install(args[0]) },
	}
	group.AddCommand(cli.Describe(install, `Makes DIR/tmux a symbolic link to this program. Put DIR in front of PATH, and tools
that call tmux run on gc. A file that is there is left alone, unless it is such a link.`, `
		gc tmux-shim install ~/.local/gc-tmux && export PATH=~/.local/gc-tmux:$PATH`, cli.Statuses{}))
	return cli.Describe(group, "Tools that drive tmux run on gc when they find it under the name tmux.", `
		gc tmux-shim install ~/.local/gc-tmux`, cli.Statuses{})
}

func install(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	link := filepath.Join(dir, Program)
	if at, err := os.Readlink(link); err == nil && at == self {
		return nil
	}
	err = os.Symlink(self, link)
	if errors.Is(err, os.ErrExist) {
		return cli.Fail(cli.ExitFailure, "choose another directory", "%s is there and is not this link", link)
	}
	return err
}
