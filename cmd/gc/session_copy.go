package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

func newSessionCopyCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "copy-to NAME SOURCE [DEST]",
		Short: "Copy a file or folder into a session's work dir",
		Args:  between(2, 3),
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
	return describe(cmd, `Copies to the place where the session's program runs, below the folder that it was
started in. DEST is relative to that folder; without it a file keeps its name, and a
folder's content goes into the work dir itself. A path or link that leads out of it is
refused.`, `
		gc session copy-to build notes.txt
		gc session copy-to build ./fixtures testdata/fixtures`,
		statuses{exitNotFound: "no such session, or no such file", exitCannotTell: "", exitUnsupported: ""})
}

func runSessionCopy(ctx context.Context, t *target, src, dst string) error {
	if _, err := os.Stat(src); err != nil { // the contract takes a missing source for nothing to do
		return fail(exitNotFound, "", "copy to %s: %v", t.label, err)
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
