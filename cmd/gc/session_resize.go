package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newSessionResizeCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "resize NAME COLSxROWS",
		Short:             "Set the size of the terminal while nobody is attached",
		Args:              exactly(2),
		ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			cols, rows, err := parseSize(args[1])
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
	return describe(cmd, "Sets the size that the session has when no terminal is attached. An attached\nterminal's size goes first.", "gc session resize build 200x50",
		statuses{exitNotFound: "", exitCannotTell: "", exitUnsupported: ""})
}

func runSessionResize(ctx context.Context, t *target, cols, rows int) error {
	client, err := sessionClient(ctx, t, "session resize")
	if err != nil {
		return err
	}
	return client.Resize(ctx, t.session, cols, rows)
}
