package main

import (
	"context"

	"github.com/spf13/cobra"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/runtime"
)

func newSessionRenameCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "rename NAME NEW",
		Short:             "Give a session another name",
		Args:              exactly(2),
		ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := s.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return runSessionRename(cmd.Context(), t, args[1])
		},
	}
	return describe(cmd, `Renames a session that runs. Terminals stay attached and messages that wait for it
still reach it; the program sees its old name in its environment. A session of a
city's agent keeps the name that the city knows it by.`, "gc session rename work build",
		statuses{exitFailure: "a session of that name runs, or it is that of an agent", exitNotFound: "", exitCannotTell: "", exitUnsupported: ""})
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
		return fail(exitFailure, "city.toml names the agents", "%s is the session of an agent of %s", t.label, city)
	}
	return client.Rename(ctx, t.session, to)
}
