package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newSessionClearCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "clear NAME",
		Short:             "Forget the scrollback, keep the screen",
		Args:              exactly(1),
		ValidArgsFunction: s.complete,
		RunE:              s.on(func(ctx context.Context, t *target) error { return runSessionClear(ctx, t) }),
	}
	return describe(cmd, "Forgets what scrolled off the screen. The screen itself stays.",
		"gc session clear build", statuses{exitNotFound: "", exitCannotTell: ""})
}

func runSessionClear(ctx context.Context, t *target) error {
	if err := mustExist(ctx, t); err != nil {
		return err
	}
	return t.provider.ClearScrollback(ctx, t.session)
}
