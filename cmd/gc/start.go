package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/report"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/shell"
)

type startOptions struct {
	foreground bool
	once       bool
	dryRun     bool
	json       bool
	until      string
	timeout    time.Duration
	artifacts  string
	trust      bool
	quiet      bool

	blockedTimeout time.Duration
	failOn         string
	blockedSet     bool // --blocked-timeout was given
}

func newStartCmd(a *app) *cobra.Command {
	var o startOptions
	cmd := &cobra.Command{
		Use:               "start [DIR|AGENT]",
		Short:             "Start the city's agents and keep them running",
		Args:              cli.Between(0, 1),
		ValidArgsFunction: a.city.completeAgents,
		RunE: cli.Graceful(func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if st, err := os.Stat(args[0]); (err != nil || !st.IsDir()) && a.city.hasAgent(args[0]) {
					flags := false
					cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { flags = flags || f.Changed })
					return startAgent(cmd.Context(), a, args[0], flags)
				}
				a.city.flag = args[0]
			}
			o.blockedSet = cmd.Flags().Changed("blocked-timeout")
			return runStart(cmd.Context(), a, o)
		}),
	}
	o.addFlags(cmd)
	return cli.Describe(cmd, startHelp, `
		gc start
		gc start examples/demo
		gc start worker
		gc start --dry-run
		gc start --foreground --until done --timeout 10m --artifacts out`,
		cli.Statuses{cli.ExitFailure: "failure, such as: an agent did not start", cli.ExitNotFound: "", cli.ExitTimeout: ""})
}

const startHelp = `Starts a controller in the background, which starts the agents, dependencies first,
restarts them when they die, and applies changes of city.toml. Returns when it has
tried to start every agent, and prints their status. One line names the agents that
run everything without asking: permissions = "bypass" in city.toml, or a program
that never asks. If the city is running already, only its status is printed. If the
argument is an agent of a running city and not a directory, it starts that agent if
it is down.

On a terminal it asks once before it runs a city that you have not trusted (gc
trust); elsewhere it refuses, unless --trust or GC_TRUST=1 is set.

With --foreground the city runs in this process. It prints the events of the city
(NAME * …) and the output of the agents (NAME | …), if their sessions can be
followed. With --json it prints one object per line: an event as in gc events
--json, or kind output with agent and text, and, at the end of --until, kind result
with the status of the city.

--foreground --until is for build machines: it requires no terminal, ends by itself,
and exits with 0, with the status of the first one_shot agent that failed, or with 1
if an agent asked a question that was not answered within --blocked-timeout; it
prints the question.

--artifacts keeps a directory for each session with the last screen (screen.txt), the
scrollback (scrollback.txt), the recording if there is one (session.cast, for
asciinema) and the result (result.json), and beside them the status of the city
(summary.json) and a report for build servers (junit.xml). A city keeps 2 GiB of
recordings, artifacts and transcripts of agents over ACP (max_kept in [daemon], 0 for no
limit): then gc removes its files of the oldest runs and of ended sessions. Sessions
that run have equal parts of it for their recordings. gc doctor shows how much there is.`

func (o *startOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.foreground, "foreground", false, "stay, print events and output, and stop the city on Ctrl-C; a second Ctrl-C kills")
	f.BoolVar(&o.once, "once", false, "start what is missing and exit, without a controller to watch the agents")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be done, and do nothing")
	f.BoolVar(&o.json, "json", false, "with --dry-run: print a JSON array; with --foreground: one JSON object per line")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "with --foreground: print only the result and failures")
	f.StringVar(&o.until, "until", "", "with --foreground: stop when `STATE` is reached: done (every one_shot agent has ended) or idle")
	f.DurationVar(&o.timeout, "timeout", 0, "with --until: give up after this long")
	f.DurationVar(&o.blockedTimeout, "blocked-timeout", time.Minute, "with --until: fail when an agent has been asking for this long without an attached terminal (0: never)")
	f.StringVar(&o.failOn, "fail-on", "", "with --until: the value blocked makes the run fail as soon as an agent asks")
	f.StringVar(&o.artifacts, "artifacts", "", "with --until: keep screens, recordings and results in this `DIR`")
	cli.CompleteFlag(cmd, "until", "done", "idle")
	cli.CompleteFlag(cmd, "fail-on", "blocked")
	f.BoolVar(&o.trust, "trust", false, "trust the city without asking, as gc trust does")
}

// check rejects flags that cannot be used together.
func (o *startOptions) check() error {
	switch {
	case o.foreground && o.once:
		return cli.Fail(cli.ExitUsage, "", "cannot use --foreground with --once")
	case o.dryRun && o.trust:
		return cli.Fail(cli.ExitUsage, "", "cannot use --dry-run with --trust: it runs nothing")
	case o.dryRun && (o.foreground || o.once):
		return cli.Fail(cli.ExitUsage, "", "cannot use --dry-run with --foreground or --once")
	case o.json && !o.dryRun && !o.foreground:
		return cli.Fail(cli.ExitUsage, "gc status --json", "--json requires --dry-run or --foreground")
	case o.quiet && !o.foreground:
		return cli.Fail(cli.ExitUsage, "", "--quiet requires --foreground")
	case o.until != "" && !o.foreground:
		return cli.Fail(cli.ExitUsage, "gc start --foreground --until "+o.until, "--until requires --foreground")
	case o.timeout != 0 && o.until == "":
		return cli.Fail(cli.ExitUsage, "", "--timeout requires --until")
	case (o.blockedSet || o.failOn != "") && o.until == "":
		return cli.Fail(cli.ExitUsage, "gc start --foreground --until done", "--blocked-timeout and --fail-on require --until")
	case o.failOn != "" && o.failOn != "blocked":
		return cli.Fail(cli.ExitUsage, "valid value: blocked", "--fail-on: unknown value %q", o.failOn)
	case o.blockedTimeout < 0:
		return cli.Fail(cli.ExitUsage, "", "--blocked-timeout %v is negative", o.blockedTimeout)
	case o.artifacts != "" && o.until == "":
		return cli.Fail(cli.ExitUsage, "gc start --foreground --until done --artifacts "+shell.Word(o.artifacts), "--artifacts requires --until")
	case o.until != "" && o.until != string(controller.UntilDone) && o.until != string(controller.UntilIdle):
		return cli.Fail(cli.ExitUsage, "valid values: done, idle", "--until: unknown state %q", o.until)
	}
	return nil
}

func runStart(ctx context.Context, a *app, o startOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	city, err := a.city.load()
	if err != nil {
		return err
	}
	if o.until == string(controller.UntilDone) && !hasOneShot(city) {
		return cli.Fail(cli.ExitUsage, `set lifecycle = "one_shot" for agents that end by themselves, or use --until idle`, "--until done: the city has no one_shot agent")
	}
	if a.providers.LooksOnly = o.dryRun; !o.dryRun {
		if err := trustToStart(ctx, &a.Console, city, o.trust); err != nil {
			return err
		}
		if err := checkMuxDir(city); err != nil {
			return err
		}
	}
	opts, err := a.startOptions()
	if err != nil {
		return err
	}
	s := &starting{app: a, city: city, o: o, opts: opts}
	switch {
	case o.dryRun:
		return s.dryRun(ctx)
	case o.foreground:
		return s.foreground(ctx)
	case o.once:
		return s.once(ctx)
	}
	return s.background(ctx)
}

// starting is one start of a whole city.
type starting struct {
	app  *app
	city *config.City
	o    startOptions
	opts controller.Options // of the controller to run
}

// plannedAction is one element of gc start --dry-run --json.
type plannedAction struct {
	Action  string     `json:"action"`
	Agent   string     `json:"agent,omitempty"` // "" for a session that is not in city.toml
	Session string     `json:"session"`
	Why     string     `json:"why"`
	At      *time.Time `json:"at,omitempty"` // of a wait
}

// dryRun prints what a start would do.
func (s *starting) dryRun(ctx context.Context) error {
	actions, err := controller.DryRun(ctx, s.opts)
	if err != nil {
		return err
	}
	list := make([]plannedAction, 0, len(actions))
	t := s.app.Table(cli.Listing{})
	t.Add("ACTION", "AGENT", "SESSION", "WHY")
	for _, act := range actions {
		p := plannedAction{Action: string(act.Kind), Agent: act.Agent, Session: act.Session, Why: act.Why}
		if !act.At.IsZero() {
			p.At = &act.At
		}
		list = append(list, p)
		t.Add(p.Action, cmp.Or(p.Agent, "-"), p.Session, p.Why)
	}
	switch {
	case s.o.json:
		return s.app.PrintJSON(list)
	case len(list) == 0:
		fmt.Fprintln(s.app.Err, "nothing to do")
		return nil
	}
	return t.Print(s.app.Out)
}

// once starts what is missing, in this process, and leaves it running.
func (s *starting) once(ctx context.Context) error {
	var last cityapi.Status
	s.opts.Once = true
	s.opts.Ready = func(status cityapi.Status) { last = status }
	if err := controller.Run(ctx, s.opts); err != nil {
		return err
	}
	return s.started(ctx, last)
}

// started prints the status, and fails if an agent has a problem.
func (s *starting) started(ctx context.Context, status cityapi.Status) error {
	if err := s.app.printStatus(ctx, status, cli.Listing{}); err != nil {
		return err
	}
	report.Unchecked(&s.app.Console, status)
	return report.Problems(&s.app.Console, status)
}
