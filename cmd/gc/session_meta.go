package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/runtime"
)

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
