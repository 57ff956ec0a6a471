package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gascity.dev/gc/runtime"
)

func newSessionKillCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kill NAME...",
		Short: "End sessions with everything that runs in them",
		Args:  between(1, -1),
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
	return describe(cmd, `Ends the whole process tree: TERM, then KILL for what is still there after a
grace period. Returns when all of it is gone. What was kept of the session (last
screen, metadata) goes too; a session that has ended already is just forgotten.`,
		"gc session kill build", statuses{exitNotFound: "", exitCannotTell: ""})
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

// isKnown reports whether the session runs, or has ended and is still kept.
func isKnown(ctx context.Context, t *target) (bool, error) {
	running, err := t.provider.IsRunning(ctx, t.session)
	if err != nil || running {
		return running, err
	}
	return lastExit(ctx, t) != nil, nil
}
