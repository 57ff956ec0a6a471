package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/words"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// explained is gc explain --json.
type explained struct {
	Agent    string               `json:"agent"`
	Session  string               `json:"session"`
	Activity *runtime.Activity    `json:"activity,omitempty"` // nil without a session
	Status   *cityapi.AgentStatus `json:"status,omitempty"`   // nil without a controller
	ACP      *explainedACP        `json:"acp,omitempty"`      // nil if the config does not host it over ACP

	MCPServers []explainedServer `json:"mcpServers,omitempty"`
}

func newExplainCmd(a *app, s scope) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "explain " + s.noun,
		Short:             "Explain what an agent is doing, with the evidence",
		Args:              cli.Exactly(1),
		ValidArgsFunction: s.complete,
		RunE:              s.on(func(ctx context.Context, t *target) error { return runExplain(ctx, a, t, asJSON) }),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: agent, session, activity with its sources, status, acp, mcpServers")
	return cli.Describe(cmd, `Prints the agent's activity (idle, working, blocked, done, error, unknown) and every
source of evidence, strongest first, with what it reports or why it reports nothing.
The first source with a report decides. If none has one, the activity is unknown, and
a waiting nudge types nothing. For an agent that is down it prints the reason. For one
over ACP it also prints mode, model, usage, and what its policy answers.`, fmt.Sprintf(`
		%[1]s explain %[2]s
		%[1]s explain %[2]s --json | jq .activity.state`, s.path, s.word),
		cli.Statuses{cli.ExitNotFound: "no such agent or city", cli.ExitCannotTell: "", cli.ExitUnsupported: ""})
}

func runExplain(ctx context.Context, a *app, t *target, asJSON bool) error {
	e := explained{Agent: t.label, Session: t.session, Status: a.city.agentStatus(ctx, t.session)}
	p, ok := runtime.As[runtime.ActivityProvider](t.provider)
	if !ok {
		return fmt.Errorf("explain %s: %w", t.label, runtime.ErrUnsupported)
	}
	act, err := p.Activity(ctx, t.session)
	switch {
	case err == nil:
		e.Activity = &act
	case !errors.Is(err, runtime.ErrSessionNotFound):
		return err
	}
	if t.spec != nil {
		e.explainConfig(t.spec)
	}
	if asJSON {
		return a.PrintJSON(e)
	}
	return e.print(&a.Console, time.Now())
}

func (e *explained) print(c *cli.Console, now time.Time) error {
	facts := display.Table{Width: c.Width()}
	facts.Add("agent", e.Agent)
	facts.Add("session", e.Session)
	if e.Status != nil {
		addStatusFacts(&facts, e.Status)
	} else {
		facts.Add("controller", cli.Named("not running (gc start)"))
	}
	e.addACP(&facts, now)
	if e.Activity == nil {
		return facts.Print(c.Out)
	}
	act := e.Activity
	doing := act.State
	if act.Kind != "" {
		doing += " (" + act.Kind + ")"
	}
	if !act.Since.IsZero() {
		doing += " for " + display.Ago(act.Since, now)
	}
	facts.Add("activity", doing)
	if act.Source != "" {
		facts.Add("because", act.Source+": "+act.Evidence)
	}
	if act.Message != "" {
		facts.Add("message", act.Message)
	}
	if err := facts.Print(c.Out); err != nil {
		return err
	}
	if act.Pending != nil {
		if _, err := fmt.Fprintf(c.Out, "\n%s", questionText(act.Pending)); err != nil {
			return err
		}
	}
	if len(act.Sources) == 0 {
		return nil
	}
	fmt.Fprintln(c.Out)
	t := c.Table(cli.Listing{})
	t.Add("SOURCE", "SAYS", "SINCE", "EVIDENCE")
	for _, s := range act.Sources {
		says := cmp.Or(s.State, "-")
		if s.Kind != "" {
			says += " (" + s.Kind + ")"
		}
		t.Add(s.Source, says, display.Ago(s.Since, now), s.Evidence)
	}
	return t.Print(c.Out)
}

// addStatusFacts adds the controller's facts and a hint.
func addStatusFacts(facts *display.Table, s *cityapi.AgentStatus) {
	facts.Add("state", words.State(*s))
	if s.Error != "" {
		facts.Add("error", s.Error)
	}
	hint := s.Hint
	if s.SuspendedBy != "" {
		_, hint = words.Suspended(*s)
	}
	if s.RetryAt != nil {
		facts.Add("next try", s.RetryAt.Local().Format(time.DateTime))
	}
	if s.State == cityapi.StateStopped && hint == "" {
		hint = "gc restart " + s.Name
	}
	if hint != "" {
		facts.Add("hint", cli.Named(hint))
	}
}
