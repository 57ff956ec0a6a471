package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gascity.dev/gc/runtime"
)

func newSeenCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "seen " + s.noun,
		Short:             "Say that you have seen what an agent has done",
		Args:              exactly(1),
		ValidArgsFunction: s.complete,
		RunE:              s.on(runSeen),
	}
	return describe(cmd, `An agent that says that its work is done is shown as done until its next turn, or
until somebody attaches. This ends it without attaching: the agent is shown as idle.`,
		fmt.Sprintf(`
		%[1]s seen %[2]s`, s.path, s.word), statuses{exitNotFound: "", exitCannotTell: "", exitUnsupported: ""})
}

func runSeen(ctx context.Context, t *target) error {
	p, ok, err := runtime.AsFor[runtime.SeenProvider](ctx, t.provider, t.session)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("seen: %w", runtime.ErrUnsupported)
	}
	return p.Seen(ctx, t.session)
}
