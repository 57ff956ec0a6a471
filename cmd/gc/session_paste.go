package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newSessionPasteCmd(a *app, s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "paste NAME [TEXT|-]",
		Short:             "Paste text without submitting it",
		Args:              between(1, 2),
		ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && a.interactive() {
				return usageError(cmd, "no text: give it as an argument, or pipe it in")
			}
			t, err := s.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if len(args) == 1 || args[1] == "-" {
				text, err := a.readMessage()
				if err != nil {
					return err
				}
				return runSessionPaste(cmd.Context(), t, text)
			}
			return runSessionPaste(cmd.Context(), t, args[1])
		},
	}
	return describe(cmd, "Pastes the text as one paste, bracketed when the program asked for that. No Enter is\nadded, nothing is verified: nudge does that.", `
		gc session paste notes 'some text'
		gc session paste notes < snippet.txt`, statuses{exitNotFound: "", exitCannotTell: "", exitUnsupported: ""})
}

func runSessionPaste(ctx context.Context, t *target, text string) error {
	client, err := sessionClient(ctx, t, "session paste")
	if err != nil {
		return err
	}
	return client.Paste(ctx, t.session, []byte(text))
}
