package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newInterruptCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "interrupt " + s.noun,
		Short:             "Interrupt what runs, ahead of queued input",
		Args:              exactly(1),
		ValidArgsFunction: s.complete,
		RunE:              s.on(func(ctx context.Context, t *target) error { return runInterrupt(ctx, t) }),
	}
	return describe(cmd, `Interrupts what runs in the foreground: Ctrl-C, or the keys that end a turn of
this agent (interrupt_keys in its preset). It does not wait for a message that is
being typed, and a program that reads no input gets the signal itself.`,
		fmt.Sprintf("%s interrupt %s", s.path, s.word), statuses{exitNotFound: "", exitCannotTell: ""})
}

func runInterrupt(ctx context.Context, t *target) error {
	if err := mustExist(ctx, t); err != nil {
		return err
	}
	return t.provider.Interrupt(ctx, t.session)
}
