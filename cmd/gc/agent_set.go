package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/runtime"
)

type agentSetOptions struct {
	mode  string
	model string
}

func newAgentSetCmd(a *app) *cobra.Command {
	var o agentSetOptions
	s := agentScope(a)
	cmd := &cobra.Command{
		Use:               "set AGENT",
		Short:             "Change the mode or model of a running agent",
		Args:              cli.Exactly(1),
		ValidArgsFunction: s.complete,
		RunE:              s.on(func(ctx context.Context, t *target) error { return runAgentSet(ctx, a, t, o) }),
	}
	f := cmd.Flags()
	f.StringVar(&o.mode, "mode", "", "what the agent may do by itself: an id or name of one of its `MODE`s")
	f.StringVar(&o.model, "model", "", "an id or name of one of its `MODEL`s")
	return cli.Describe(cmd, `For agents over ACP. It lasts until the agent ends; mode and model in [agents.acp] count
for every start. An unknown value is an error that lists the valid ones; gc explain shows
the present ones. In a mode in which the agent decides by itself, its policy has nothing
to answer.`, `
		gc agent set worker --mode plan
		gc agent set worker --model opus`,
		cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: "not an agent over ACP"})
}

func runAgentSet(ctx context.Context, a *app, t *target, o agentSetOptions) error {
	if o.mode == "" && o.model == "" {
		return cli.Fail(cli.ExitUsage, "add --mode MODE or --model MODEL", "nothing to set")
	}
	p, ok, err := runtime.AsFor[runtime.ModeProvider](ctx, t.provider, t.session)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("mode of %s: %w", t.label, runtime.ErrUnsupported)
	}
	if err := p.SetMode(ctx, t.session, o.mode, o.model); err != nil {
		return err
	}
	a.sayIfItDecides(t, o.mode)
	return nil
}

// sayIfItDecides warns about a mode in which the agent may not ask.
func (a *app) sayIfItDecides(t *target, mode string) {
	if t.spec == nil || mode == "" || t.spec.Resolved.AskingMode == "" {
		return
	}
	if yes, why := t.spec.Resolved.Asks(mode); !yes {
		a.Warn("agent %s: %s", t.label, why)
	}
}
