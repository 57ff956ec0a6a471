package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/runtime"
)

// maxMessage is the longest message read from standard input, in bytes.
const maxMessage = 1 << 20

type nudgeOptions struct {
	text  string
	stdin bool
	json  bool
}

func newNudgeCmd(a *app, s scope) *cobra.Command {
	var o nudgeOptions
	cmd := &cobra.Command{
		Use:               "nudge " + s.noun + " [TEXT|-]",
		Short:             "Type a message and submit it, and say whether it was taken",
		Args:              between(1, 2),
		ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.stdin = len(args) == 1 || args[1] == "-"
			if !o.stdin {
				o.text = args[1]
			}
			if len(args) == 1 && a.interactive() {
				return usageError(cmd, "no text: give it as an argument, or pipe it in")
			}
			t, err := s.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return runNudge(cmd.Context(), a, t, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "the receipt as JSON")
	return describe(cmd, `Delivers the text as one message and submits it with Enter. No other input gets
in between, an open dialog is never answered, and the screen is read afterwards.
Prints the receipt:

  submitted   the program took it
  drafted     it stands in the composer, not submitted
  blocked     not typed: a dialog or a person's draft was in the way
  refused     the session takes no input
  dead        the session ended first
  unverified  typed and entered, but nothing could be seen (echo is off)`, fmt.Sprintf(`
		%[1]s nudge %[2]s 'please run the tests'
		git diff | %[1]s nudge %[2]s -`, s.path, s.word),
		statuses{exitOK: "submitted", exitFailure: "drafted, blocked, refused or dead", exitNotFound: "", exitCannotTell: "unverified"})
}

func runNudge(ctx context.Context, a *app, t *target, o nudgeOptions) error {
	if o.stdin {
		text, err := a.readMessage()
		if err != nil {
			return err
		}
		o.text = strings.TrimRight(text, "\n")
	}
	if o.text == "" {
		return fail(exitUsage, "gc keys "+t.label+" Enter presses Enter alone", "the message is empty")
	}
	r, err := t.provider.Nudge(ctx, t.session, runtime.TextContent(o.text))
	if err != nil {
		return err
	}
	if err := a.printReceipt(r, o.json); err != nil {
		return err
	}
	return receiptStatus(r)
}

func (a *app) printReceipt(r runtime.Receipt, asJSON bool) error {
	if asJSON {
		return a.printJSON(r)
	}
	line := string(r.State)
	if r.By != "" {
		line += " by " + r.By
	}
	if r.Detail != "" && r.State != runtime.Submitted {
		line += ": " + r.Detail
	}
	_, err := fmt.Fprintln(a.out, cleanLine(line))
	return err
}

// receiptStatus: only submitted is success.
func receiptStatus(r runtime.Receipt) error {
	switch r.State {
	case runtime.Submitted:
		return nil
	case runtime.Unverified:
		return quiet(exitCannotTell)
	}
	return quiet(exitFailure)
}

// readMessage reads standard input, up to maxMessage.
func (a *app) readMessage() (string, error) {
	text, err := io.ReadAll(io.LimitReader(a.in, maxMessage+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(text) > maxMessage {
		return "", fail(exitUsage, "put it in a file and nudge its path", "the text is larger than %d bytes", maxMessage)
	}
	return string(text), nil
}
