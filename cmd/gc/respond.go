package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/runtime"
)

type respondOptions struct {
	option string
	text   string
}

func newRespondCmd(a *app, s scope) *cobra.Command {
	var o respondOptions
	cmd := &cobra.Command{
		Use:               "respond " + s.noun,
		Short:             "Answer the question that an agent waits with",
		Args:              exactly(1),
		ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("option") == cmd.Flags().Changed("text") {
				return usageError(cmd, "give one of --option and --text")
			}
			t, err := s.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return runRespond(cmd.Context(), a, t, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.option, "option", "", "choose an option: its label as gc pending shows it, the only one that begins so, or its number")
	f.StringVar(&o.text, "text", "", "answer a question that has no options")
	_ = cmd.RegisterFlagCompletionFunc("option", s.completeOptions) // the flag is there
	return describe(cmd, `Chooses an option of the question that stands on the agent's screen: the selection is
moved step by step, Enter is pressed only when the option stands selected, and the
command returns when the question is gone. When it is not the question that was seen,
or has no such option, nothing is typed.`, fmt.Sprintf(`
		%[1]s respond %[2]s --option 'Yes, proceed'
		%[1]s respond %[2]s --option 1`, s.path, s.word),
		statuses{exitOK: "answered", exitFailure: "it asks nothing, has no such option, or the question did not go away", exitNotFound: "", exitCannotTell: "", exitUnsupported: ""})
}

func runRespond(ctx context.Context, a *app, t *target, o respondOptions) error {
	q, p, err := asked(ctx, t)
	if err != nil {
		return err
	}
	if q == nil {
		return fail(exitFailure, "gc peek shows its screen", "%s asks nothing", t.label)
	}
	answer := runtime.Answer{RequestID: q.RequestID, Text: o.text}
	if o.text == "" {
		if answer.Action, err = chooseOption(q.Options, o.option); err != nil {
			return err
		}
	} else if len(q.Options) > 0 {
		return fail(exitUsage, "--option "+shellWord(q.Options[0]), "%s wants one of its options", t.label)
	}
	err = p.Respond(ctx, t.session, answer)
	if o.text != "" && errors.Is(err, runtime.ErrInteractionUnsupported) {
		return runNudge(ctx, a, t, nudgeOptions{text: o.text})
	}
	return err
}

// chooseOption finds the option that a person named.
func chooseOption(options []string, want string) (string, error) {
	var begins []string
	for _, o := range options {
		if strings.EqualFold(o, want) {
			return o, nil
		}
		if want != "" && strings.HasPrefix(strings.ToLower(o), strings.ToLower(want)) {
			begins = append(begins, o)
		}
	}
	if n, err := strconv.Atoi(want); err == nil && n >= 1 && n <= len(options) {
		return options[n-1], nil
	}
	if len(begins) == 1 {
		return begins[0], nil
	}
	hint := "it has no options: --text answers it"
	if len(options) > 0 {
		hint = "options: " + strings.Join(options, " | ")
	}
	if len(begins) > 1 {
		return "", fail(exitFailure, hint, "%q is the beginning of several options", want)
	}
	return "", fail(exitFailure, hint, "the question has no option %q", want)
}

// completeOptions completes --option with what the question offers.
func (s scope) completeOptions(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeLimit)
	defer cancel()
	t, err := s.target(ctx, args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	q, _, err := asked(ctx, t)
	if err != nil || q == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	labels := make([]string, len(q.Options))
	for i, o := range q.Options {
		labels[i] = cleanLine(o)
	}
	return withPrefix(labels, prefix), cobra.ShellCompDirectiveNoFileComp
}
