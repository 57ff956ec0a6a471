package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
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
		fmt.Fprintf(a.Err, "%s asks no question\n", display.Line(t.label))
		return cli.Quiet(cli.ExitFailure)
	}
	return err
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
