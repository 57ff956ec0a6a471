package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/runtime"
)

func newSessionCmd(a *app) *cobra.Command {
	s := sessionScope(a)
	cmd := a.Group("session", "Manage sessions of any program, without a city",
		`A session is a program on its own terminal. It lives until the program exits,
whatever happens to your terminal. Its last screen, exit status and metadata stay
readable for a while after that. --host or GC_HOST selects the sessions of another
machine, reached by ssh (or the program in GC_SSH); GC_HOST_BIN is the name of gc
there.`, `
		gc session new build -- make -j4
		gc session peek build
		gc session wait build && gc session list --all`,
		[]cli.Entry{
			{Name: "new", Make: func() *cobra.Command { return newSessionNewCmd(a) }},
			{Name: "list", Make: func() *cobra.Command { return newSessionListCmd(a) }},
			{Name: "inspect", Make: func() *cobra.Command { return newSessionInspectCmd(a, s) }},
			{Name: "attach", Make: func() *cobra.Command { return newAttachCmd(a, s) }},
			{Name: "peek", Make: func() *cobra.Command { return newPeekCmd(a, s) }},
			{Name: "nudge", Make: func() *cobra.Command { return newNudgeCmd(a, s) }},
			{Name: "queue", Make: func() *cobra.Command { return newSessionQueueCmd(a, s) }},
			{Name: "keys", Make: func() *cobra.Command { return newKeysCmd(a, s) }},
			{Name: "paste", Make: func() *cobra.Command { return newSessionPasteCmd(a, s) }},
			{Name: "interrupt", Make: func() *cobra.Command { return newInterruptCmd(s) }},
			{Name: "wait", Make: func() *cobra.Command { return newWaitCmd(a, s) }},
			{Name: "pending", Make: func() *cobra.Command { return newPendingCmd(a, s) }},
			{Name: "respond", Make: func() *cobra.Command { return newRespondCmd(a, s) }},
			{Name: "seen", Make: func() *cobra.Command { return newSeenCmd(s) }},
			{Name: "rename", Make: func() *cobra.Command { return newSessionRenameCmd(s) }},
			{Name: "resize", Make: func() *cobra.Command { return newSessionResizeCmd(s) }},
			{Name: "clear", Make: func() *cobra.Command { return newSessionClearCmd(s) }},
			{Name: "meta", Make: func() *cobra.Command { return newSessionMetaCmd(a, s) }},
			{Name: "record", Make: func() *cobra.Command { return newSessionRecordCmd(a, s) }},
			{Name: "copy-to", Make: func() *cobra.Command { return newSessionCopyCmd(s) }},
			{Name: "kill", Make: func() *cobra.Command { return newSessionKillCmd(s) }},
		})
	a.mux.AddFlag(cmd)
	return cmd
}

func newSessionRenameCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "rename NAME NEW",
		Short:             "Rename a session",
		Args:              cli.Exactly(2),
		ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := s.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return runSessionRename(cmd.Context(), t, args[1])
		},
	}
	return cli.Describe(cmd, `Renames a running session. Terminals stay attached and queued messages still reach it;
the program's environment keeps the old name. The session of a city's agent cannot be
renamed.`, "gc session rename work build",
		cli.Statuses{cli.ExitFailure: "the new name is taken, or it is the session of an agent", cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: ""})
}

func runSessionRename(ctx context.Context, t *target, to string) error {
	if err := runtime.CheckName(to); err != nil {
		return err
	}
	client, err := sessionClient(ctx, t, "session rename")
	if err != nil {
		return err
	}
	if err := mustExist(ctx, t); err != nil {
		return err
	}
	city, err := t.provider.GetMeta(ctx, t.session, agent.MetaCityPath)
	if err != nil {
		return err
	}
	if city != "" {
		return cli.Fail(cli.ExitFailure, "city.toml decides the names of agents", "%s is the session of an agent of %s", t.label, city)
	}
	return client.Rename(ctx, t.session, to)
}

func newSessionResizeCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "resize NAME COLSxROWS",
		Short:             "Set the size of a session without attached terminals",
		Args:              cli.Exactly(2),
		ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			cols, rows, err := cli.ParseSize(args[1])
			if err != nil {
				return err
			}
			t, err := s.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return runSessionResize(cmd.Context(), t, cols, rows)
		},
	}
	return cli.Describe(cmd, "Sets the size that the session has while no terminal is attached. While one is, its\nsize is used.", "gc session resize build 200x50",
		cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: ""})
}

func runSessionResize(ctx context.Context, t *target, cols, rows int) error {
	client, err := sessionClient(ctx, t, "session resize")
	if err != nil {
		return err
	}
	return client.Resize(ctx, t.session, cols, rows)
}

func newSessionClearCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "clear NAME",
		Short:             "Clear the scrollback, keep the screen",
		Args:              cli.Exactly(1),
		ValidArgsFunction: s.complete,
		RunE:              s.on(func(ctx context.Context, t *target) error { return runSessionClear(ctx, t) }),
	}
	return cli.Describe(cmd, "Deletes the lines that scrolled off the screen. The screen stays.",
		"gc session clear build", cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: ""})
}

func runSessionClear(ctx context.Context, t *target) error {
	if err := mustExist(ctx, t); err != nil {
		return err
	}
	return t.provider.ClearScrollback(ctx, t.session)
}

func newSessionCopyCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "copy-to NAME SOURCE [DEST]",
		Short: "Copy a file or directory into a session's work dir",
		Args:  cli.Between(2, 3),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return nil, cobra.ShellCompDirectiveDefault // files
			}
			return s.complete(cmd, args, prefix)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dst := ""
			if len(args) > 2 {
				dst = args[2]
			}
			t, err := s.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return runSessionCopy(cmd.Context(), t, args[1], dst)
		},
	}
	return cli.Describe(cmd, `Copies SOURCE to the machine of the session, below its work dir. DEST is relative to
the work dir; without DEST a file keeps its name, and the contents of a directory go
into the work dir itself. It refuses a path or link that leads out of the work dir.`, `
		gc session copy-to build notes.txt
		gc session copy-to build ./fixtures testdata/fixtures`,
		cli.Statuses{cli.ExitNotFound: "no such session, or no such file", cli.ExitCannotTell: "", cli.ExitUnsupported: ""})
}

func runSessionCopy(ctx context.Context, t *target, src, dst string) error {
	if _, err := os.Stat(src); err != nil { // CopyTo ignores a missing source
		return cli.Fail(cli.ExitNotFound, "", "copy to %s: %v", t.label, err)
	}
	if err := mustExist(ctx, t); err != nil {
		return err
	}
	src, err := filepath.Abs(src)
	if err != nil {
		return fmt.Errorf("copy to %s: %w", t.label, err)
	}
	return t.provider.CopyTo(ctx, t.session, src, dst)
}

func newSessionKillCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kill NAME...",
		Short: "End sessions and all their processes",
		Args:  cli.Between(1, -1),
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return s.complete(cmd, nil, prefix)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				t, err := s.target(cmd.Context(), name)
				if err != nil {
					return err
				}
				if err := runSessionKill(cmd.Context(), t); err != nil {
					return err
				}
			}
			return nil
		},
	}
	return cli.Describe(cmd, `Sends TERM to the whole process tree, and KILL to what is left after a grace period.
Returns when every process is gone. The session's last screen and metadata are
deleted; an ended session is only deleted.`,
		"gc session kill build", cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: ""})
}

func runSessionKill(ctx context.Context, t *target) error {
	known, err := isKnown(ctx, t)
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("%s: %w", t.label, runtime.ErrSessionNotFound)
	}
	return t.provider.Stop(ctx, t.session)
}

// isKnown reports whether the session is running, or has ended and is still kept.
func isKnown(ctx context.Context, t *target) (bool, error) {
	running, err := t.provider.IsRunning(ctx, t.session)
	if err != nil || running {
		return running, err
	}
	return lastExit(ctx, t) != nil, nil
}

func newSessionMetaCmd(a *app, s scope) *cobra.Command {
	return a.Group("meta", "Read and write a session's metadata",
		`Metadata are key-value pairs of one incarnation of a session: they survive a restart
of the server, stay readable while an ended session is kept, and are not passed on to
the next session of that name.`, `
		gc session meta set build branch main
		gc session meta get build branch`,
		[]cli.Entry{
			{Name: "get", Make: func() *cobra.Command { return newMetaGetCmd(a, s) }},
			{Name: "set", Make: func() *cobra.Command { return newMetaSetCmd(a, s) }},
			{Name: "rm", Make: func() *cobra.Command { return newMetaRmCmd(s) }},
			{Name: "list", Make: func() *cobra.Command { return newMetaListCmd(a, s) }},
		})
}

// newMetaCmd returns a meta command; act gets a session that exists.
func newMetaCmd(use, short, long, example string, s scope, args int, act func(ctx context.Context, t *target, args []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cli.Exactly(args), ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			t, err := s.target(ctx, args[0])
			if err != nil {
				return err
			}
			known, err := isKnown(ctx, t)
			if err != nil {
				return err
			}
			if !known {
				return fmt.Errorf("%s: %w", t.label, runtime.ErrSessionNotFound)
			}
			return act(ctx, t, args[1:])
		},
	}
	return cli.Describe(cmd, long, example, cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: ""})
}

func newMetaGetCmd(a *app, s scope) *cobra.Command {
	return newMetaCmd("get NAME KEY", "Print a value", "Prints the value and a newline; an empty line if the key is not set.",
		"gc session meta get build branch", s, 2, func(ctx context.Context, t *target, args []string) error {
			v, err := t.provider.GetMeta(ctx, t.session, args[0])
			if err != nil {
				return err
			}
			if a.Width() > 0 {
				v = display.Text(v)
			}
			_, err = fmt.Fprintln(a.Out, v)
			return err
		})
}

func newMetaSetCmd(a *app, s scope) *cobra.Command {
	return newMetaCmd("set NAME KEY VALUE|-", "Set a value", "Sets the value, which may contain any bytes; - reads it from standard input. It is on\ndisk when the command returns.", `
		gc session meta set build branch main
		gc session meta set build notes - < notes.txt`, s, 3, func(ctx context.Context, t *target, args []string) error {
		value := args[1]
		if value == "-" {
			text, err := a.ReadMessage()
			if err != nil {
				return err
			}
			value = text
		}
		return t.provider.SetMeta(ctx, t.session, args[0], value)
	})
}

func newMetaRmCmd(s scope) *cobra.Command {
	return newMetaCmd("rm NAME KEY", "Remove a value", "Removes the key. It is not an error if the key is not set.",
		"gc session meta rm build branch", s, 2, func(ctx context.Context, t *target, args []string) error {
			return t.provider.RemoveMeta(ctx, t.session, args[0])
		})
}

func newMetaListCmd(a *app, s scope) *cobra.Command {
	var asJSON bool
	cmd := newMetaCmd("list NAME", "List keys and values", "Lists all keys with their values, sorted by key.",
		"gc session meta list build --json", s, 1, func(ctx context.Context, t *target, _ []string) error {
			client, err := sessionClient(ctx, t, "session meta list")
			if err != nil {
				return err
			}
			meta, err := client.Meta(ctx, t.session)
			if err != nil {
				return err
			}
			if asJSON {
				if meta == nil {
					meta = map[string]string{}
				}
				return a.PrintJSON(meta)
			}
			list := display.Table{Width: a.Width()}
			for _, k := range sortedKeys(meta) {
				list.Add(k, meta[k])
			}
			return list.Print(a.Out)
		})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}
