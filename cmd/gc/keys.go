package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/mux/keys"
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
		Args:              between(2, -1),
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
	cmd.Flags().BoolVar(&o.literal, "literal", false, "the arguments are text, not names of keys")
	return describe(cmd, `Presses keys, in the encoding that the program asked for; no Enter is added. A
single character is its own key. C- is Ctrl, M- is Alt, S- is Shift:
C-c, M-x, S-Tab, C-Left. By name:

`+wrapWords(keys.Names(), 76)+`

A name that is no key is an error, and nothing is sent.`, fmt.Sprintf(`
		%[1]s keys %[2]s Down Down Enter
		%[1]s keys %[2]s C-c
		%[1]s keys %[2]s --literal ':wq'
		%[1]s keys %[2]s Enter`, s.path, s.word),
		statuses{exitUsage: "wrong usage, or no such key", exitNotFound: "", exitCannotTell: "", exitUnsupported: ""})
}

func runKeys(ctx context.Context, _ *app, t *target, o keysOptions) error {
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

// wrapWords joins words to lines of at most width columns, indented by two.
func wrapWords(words []string, width int) string {
	var lines []string
	line := " "
	for _, w := range words {
		if len(line)+1+len(w) > width {
			lines = append(lines, line)
			line = " "
		}
		line += " " + w
	}
	return strings.Join(append(lines, line), "\n")
}
