package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/mux/keys"
	"gascity.dev/gc/runtime"
)

type keysOptions struct {
	keys    []string
	literal bool
}

func newKeysCmd(a *app, s scope) *cobra.Command {
	var o keysOptions
	cmd := &cobra.Command{
		Use:               "keys " + s.noun + " KEY...",
		Short:             "Press keys by name",
		Args:              cli.Between(2, -1),
		ValidArgsFunction: s.completeThen(func() []string { return append(keys.Names(), "C-c", "C-d") }),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := s.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			o.keys = args[1:]
			return runKeys(cmd.Context(), a, t, o)
		},
	}
	cmd.Flags().BoolVar(&o.literal, "literal", false, "send the arguments as text, not as key names")
	return cli.Describe(cmd, `Presses keys in the encoding that the program asked for; it adds no Enter. A single
character is its own key. C- is Ctrl, M- is Alt, S- is Shift: C-c, M-x, S-Tab, C-Left.
The names are:

`+cli.Wrap("  ", keys.Names())+`

If a name is unknown, nothing is sent. An agent over ACP takes no keys.`, fmt.Sprintf(`
		%[1]s keys %[2]s Down Down Enter
		%[1]s keys %[2]s C-c
		%[1]s keys %[2]s --literal ':wq'
		%[1]s keys %[2]s Enter`, s.path, s.word),
		cli.Statuses{cli.ExitUsage: "wrong usage, or no such key", cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: ""})
}

func runKeys(ctx context.Context, a *app, t *target, o keysOptions) error {
	can, err := runtime.CapabilitiesFor(ctx, t.provider, t.session)
	if err != nil {
		return err
	}
	if can.Prompts {
		name, path := shell.Word(t.label), a.pathOf(t)
		hint := fmt.Sprintf("%[1]s nudge %[2]s TEXT sends a message, %[1]s respond %[2]s answers a question; %[1]s attach %[2]s", path, name)
		return cli.Fail(cli.ExitUnsupported, hint, "keys to %s: %w: it takes messages", t.label, runtime.ErrUnsupported)
	}
	if o.literal {
		client, err := sessionClient(ctx, t, "keys --literal")
		if err != nil {
			return err
		}
		return client.Keys(ctx, t.session, o.keys, true)
	}
	if err := mustExist(ctx, t); err != nil {
		return err
	}
	return t.provider.SendKeys(ctx, t.session, o.keys...)
}

func newInterruptCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "interrupt " + s.noun,
		Short:             "Interrupt the running program, ahead of queued input",
		Args:              cli.Exactly(1),
		ValidArgsFunction: s.complete,
		RunE:              s.on(func(ctx context.Context, t *target) error { return runInterrupt(ctx, t) }),
	}
	return cli.Describe(cmd, `Presses Ctrl-C, or the keys that end a turn of this agent (interrupt_keys in its
preset). It does not wait for a message that is being typed. A program that does not
read its input gets the signal itself.`,
		fmt.Sprintf("%s interrupt %s", s.path, s.word), cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: ""})
}

func runInterrupt(ctx context.Context, t *target) error {
	if err := mustExist(ctx, t); err != nil {
		return err
	}
	return t.provider.Interrupt(ctx, t.session)
}

func newSessionPasteCmd(a *app, s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "paste NAME [TEXT|-]",
		Short:             "Paste text without submitting it",
		Args:              cli.Between(1, 2),
		ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && a.Interactive() {
				return cli.UsageError(cmd, "requires text, as an argument or on standard input")
			}
			t, err := s.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if len(args) == 1 || args[1] == "-" {
				text, err := a.ReadMessage()
				if err != nil {
					return err
				}
				return runSessionPaste(cmd.Context(), t, text)
			}
			return runSessionPaste(cmd.Context(), t, args[1])
		},
	}
	return cli.Describe(cmd, "Pastes the text, bracketed if the program asked for that. It adds no Enter and does\nnot check the result; see nudge.", `
		gc session paste notes 'some text'
		gc session paste notes < snippet.txt`, cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: ""})
}

func runSessionPaste(ctx context.Context, t *target, text string) error {
	client, err := sessionClient(ctx, t, "session paste")
	if err != nil {
		return err
	}
	return client.Paste(ctx, t.session, []byte(text))
}
