package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

func newPendingCmd(a *app, s scope) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "pending " + s.noun,
		Short:             "Show the question an agent is waiting on",
		Args:              cli.Exactly(1),
		ValidArgsFunction: s.complete,
		RunE:              s.on(func(ctx context.Context, t *target) error { return runPending(ctx, a, t, asJSON) }),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: request_id, kind, prompt, options; null without a question")
	return cli.Describe(cmd, `Prints the question on the agent's screen and its options: a permission, a trust
dialog, a choice. gc respond answers it, unless the screen shows another question by
then; gc respond --request takes its request ID.`, fmt.Sprintf(`
		%[1]s pending %[2]s
		%[1]s wait %[2]s --until blocked && %[1]s pending %[2]s`, s.path, s.word),
		cli.Statuses{cli.ExitOK: "the agent asks a question", cli.ExitFailure: "it asks no question, or failure", cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: ""})
}

// asked is the current question, or nil.
func asked(ctx context.Context, t *target) (*runtime.Interaction, runtime.InteractionProvider, error) {
	p, ok := runtime.As[runtime.InteractionProvider](t.provider)
	if !ok {
		return nil, nil, fmt.Errorf("%s: %w", t.label, runtime.ErrInteractionUnsupported)
	}
	q, err := p.Pending(ctx, t.session)
	return q, p, err
}

func runPending(ctx context.Context, a *app, t *target, asJSON bool) error {
	q, _, err := asked(ctx, t)
	if err != nil {
		return err
	}
	if asJSON {
		err = a.PrintJSON(q)
	} else if q != nil {
		_, err = fmt.Fprintf(a.Out, "%srequest %s\n", questionText(q), display.Line(q.RequestID))
	}
	if err == nil && q != nil {
		a.shown(ctx, t, q)
	}
	if err == nil && q == nil {
		if why := a.requiresLogin(ctx, t); why != nil {
			return why
		}
		fmt.Fprintf(a.Err, "%s asks no question\n", display.Line(t.label))
		return cli.Quiet(cli.ExitFailure)
	}
	return err
}

// requiresLogin is the error of an agent that takes no message until a person has logged
// in; nil for another one.
func (a *app) requiresLogin(ctx context.Context, t *target) error {
	p, ok := runtime.As[runtime.ActivityProvider](t.provider)
	if !ok {
		return nil
	}
	act, err := p.Activity(ctx, t.session)
	if err != nil || act.State != runtime.ActivityBlocked || act.Kind != runtime.BlockedAuth {
		return nil
	}
	hint := ""
	if t == a.agent {
		hint = cityapi.LoginHint(t.label)
	}
	return cli.Fail(cli.ExitFailure, hint, "%s requires a login: %s", display.Line(t.label), display.Line(act.Evidence))
}

// questionText is a question for a person: kind, prompt, context and numbered
// options.
func questionText(q *runtime.Interaction) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", display.Line(cmp.Or(q.Kind, "question")))
	if name := q.Metadata["dialog"]; name != "" {
		fmt.Fprintf(&b, " (%s)", display.Line(name))
	}
	fmt.Fprintf(&b, ": %s\n", display.Line(q.Prompt))
	for _, line := range strings.Split(q.Metadata["context"], "\n") {
		if strings.TrimSpace(line) != "" {
			fmt.Fprintf(&b, "    %s\n", display.Line(line))
		}
	}
	for i, o := range q.Options {
		mark := " "
		if o == q.Metadata["marked"] {
			mark = ">"
		}
		fmt.Fprintf(&b, "  %s %d. %s\n", mark, i+1, display.Line(o))
	}
	return b.String()
}

func newSeenCmd(s scope) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "seen " + s.noun,
		Short:             "Mark an agent's finished work as seen",
		Args:              cli.Exactly(1),
		ValidArgsFunction: s.complete,
		RunE:              s.on(runSeen),
	}
	return cli.Describe(cmd, `An agent that reports its work as done is shown as done until its next turn or until
someone attaches. gc seen shows it as idle without attaching.`,
		fmt.Sprintf(`
		%[1]s seen %[2]s`, s.path, s.word), cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: ""})
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

type respondOptions struct {
	option  string
	text    string
	request string
}

func newRespondCmd(a *app, s scope) *cobra.Command {
	var o respondOptions
	cmd := &cobra.Command{
		Use:               "respond " + s.noun,
		Short:             "Answer the question an agent is waiting on",
		Args:              cli.Exactly(1),
		ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("option") == cmd.Flags().Changed("text") {
				return cli.UsageError(cmd, "requires either --option or --text")
			}
			if cmd.Flags().Changed("text") && o.text == "" {
				return cli.UsageError(cmd, "--text is empty")
			}
			t, err := s.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return runRespond(cmd.Context(), a, t, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.option, "option", "", "choose this `OPTION`: its label as gc pending shows it, the start of its label, or its number")
	f.StringVar(&o.request, "request", "", "answer only the question with this request `ID`, as gc pending shows it")
	f.StringVar(&o.text, "text", "", "answer a question without options with this `TEXT`")
	_ = cmd.RegisterFlagCompletionFunc("option", s.completeOptions) // the flag exists
	return cli.Describe(cmd, `Chooses an option of the question on the agent's screen: it moves the selection step
by step, presses Enter only when the option is selected, and returns when the question
is gone. It types nothing if the question has no such option, or is not the expected
one: the one with the --request ID or, without --request, the one that gc pending last
showed.`, fmt.Sprintf(`
		%[1]s respond %[2]s --option 'Yes, proceed'
		%[1]s respond %[2]s --option 1
		id=$(%[1]s pending %[2]s --json | jq -r .request_id)
		%[1]s respond %[2]s --request "$id" --option Yes`, s.path, s.word),
		cli.Statuses{cli.ExitOK: "answered", cli.ExitFailure: "no such question or option, or the question did not go away", cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: ""})
}

func runRespond(ctx context.Context, a *app, t *target, o respondOptions) error {
	q, p, err := asked(ctx, t)
	if err != nil {
		return err
	}
	if q == nil {
		if why := a.requiresLogin(ctx, t); why != nil {
			return why
		}
		return cli.Fail(cli.ExitFailure, "gc peek shows its screen", "%s asks no question", t.label)
	}
	if err := checkAsked(ctx, a, t, q, o.request); err != nil {
		return err
	}
	answer := runtime.Answer{RequestID: q.RequestID, Text: o.text}
	if o.text == "" {
		if answer.Action, err = chooseOption(q.Options, o.option); err != nil {
			return err
		}
	} else if !takesText(q) {
		return cli.Fail(cli.ExitUsage, "--option "+shell.Word(suggested(q)), "the question of %s requires one of its options", t.label)
	}
	err = p.Respond(ctx, t.session, answer)
	if o.text != "" && errors.Is(err, runtime.ErrInteractionUnsupported) {
		return runNudge(ctx, a, t, nudgeOptions{text: o.text})
	}
	return err
}

// metaShown is the id of the question last shown to a person.
const metaShown = "GC_SHOWN_QUESTION"

// shown records that a person saw the question.
func (a *app) shown(ctx context.Context, t *target, q *runtime.Interaction) {
	if was, err := t.provider.GetMeta(ctx, t.session, metaShown); err == nil && was == q.RequestID {
		return
	}
	if err := t.provider.SetMeta(ctx, t.session, metaShown, q.RequestID); err != nil {
		a.Warn("cannot record that the question was shown: %v", err)
	}
}

// checkAsked fails unless the question has the id or, without an id, is the one
// that was last shown.
func checkAsked(ctx context.Context, a *app, t *target, q *runtime.Interaction, id string) error {
	if id == "" {
		var err error
		if id, err = t.provider.GetMeta(ctx, t.session, metaShown); err != nil {
			return err
		}
	}
	if id == "" || id == q.RequestID {
		return nil
	}
	hint := a.pathOf(t) + " pending " + shell.Word(t.label) + " shows it"
	return cli.Fail(cli.ExitFailure, hint, "%s now asks another question: %q", t.label, q.Prompt)
}

// completeOptions completes --option with the question's options.
func (s scope) completeOptions(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.CompleteLimit)
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
		labels[i] = display.Line(o)
	}
	return cli.WithPrefix(labels, prefix), cobra.ShellCompDirectiveNoFileComp
}

// chooseOption finds the one option that a person named: by its label, else by
// its number or the beginning of its label. A name that fits several is refused.
func chooseOption(options []string, want string) (string, error) {
	if len(options) == 0 {
		return "", cli.Fail(cli.ExitFailure, "--text answers it", "the question has no options to choose from")
	}
	fits := fitting(options, func(_ int, label string) bool { return label == want })
	if len(fits) == 0 {
		fits = fitting(options, func(_ int, label string) bool { return strings.EqualFold(label, want) })
	}
	if len(fits) == 0 && want != "" {
		number, _ := strconv.Atoi(want) // 0 for a word
		fits = fitting(options, func(i int, label string) bool {
			return i == number-1 || len(label) >= len(want) && strings.EqualFold(label[:len(want)], want)
		})
	}
	switch {
	case len(fits) == 0:
		return "", cli.Fail(cli.ExitFailure, "options: "+strings.Join(options, " | "), "the question has no option %q", want)
	case len(fits) > 1:
		return "", cli.Fail(cli.ExitFailure, "options: "+strings.Join(options, " | "), "%q matches several options: %s", want, strings.Join(fits, " | "))
	case slices.Contains(options[slices.Index(options, fits[0])+1:], fits[0]):
		return "", cli.Fail(cli.ExitFailure, "attach to it and answer by hand", "several options have the label %q", fits[0])
	}
	return fits[0], nil
}

// fitting are the different labels for which ok is true.
func fitting(options []string, ok func(i int, label string) bool) []string {
	var fits []string
	for i, label := range options {
		if ok(i, label) && !slices.Contains(fits, label) {
			fits = append(fits, label)
		}
	}
	return fits
}

// takesText reports whether a question is answered with text, whatever options it has.
func takesText(q *runtime.Interaction) bool { return len(q.Options) == 0 || q.Metadata["text"] != "" }

// suggested is the option that a hint names: one that allows what is asked this once,
// before one that lasts. The first one of a question that does not say what they mean, and
// a value before a refusal.
func suggested(q *runtime.Interaction) string {
	wanted := []string{"allow_once", "reject_once", ""}
	if q.Kind == runtime.BlockedQuestion {
		wanted = []string{"", "allow_once"}
	}
	for _, want := range wanted {
		for _, o := range q.Options {
			if q.Metadata["option."+o] == want {
				return o
			}
		}
	}
	return q.Options[0]
}
