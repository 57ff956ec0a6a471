package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/attentioncmd"
	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/background"
	"gascity.dev/gc/cmd/gc/internal/citiescmd"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/cmd/gc/internal/hostcmd"
	"gascity.dev/gc/cmd/gc/internal/imagecmd"
	"gascity.dev/gc/cmd/gc/internal/mailcmd"
	"gascity.dev/gc/cmd/gc/internal/muxcmd"
	"gascity.dev/gc/cmd/gc/internal/opcmd"
	"gascity.dev/gc/cmd/gc/internal/podcmd"
	"gascity.dev/gc/cmd/gc/internal/reportcmd"
	"gascity.dev/gc/cmd/gc/internal/tmuxcmd"
	"gascity.dev/gc/cmd/gc/internal/topics"
	"gascity.dev/gc/cmd/gc/internal/uicmd"
	"gascity.dev/gc/cmd/gc/internal/versioncmd"
	"gascity.dev/gc/internal/agent"
)

// app is the state shared by the code of a command.
type app struct {
	cli.Console
	mux       host.Mux
	providers *backend.Set
	city      cityFinder
	agent     *target // the agent that the command is about, or nil
}

// newApp returns the app of a command line.
func newApp(s cli.Streams, args []string) *app {
	return &app{
		Console: cli.NewConsole(s, args), mux: host.Mux{Version: version},
		providers: &backend.Set{Version: version, Trusted: scriptTrusted, Through: throughController},
	}
}

// on returns an app for a part of the command that prints on other streams. It has
// its own providers; its owner closes them.
func (a *app) on(s cli.Streams) *app {
	return &app{Console: cli.NewConsole(s, nil), mux: a.mux, city: cityFinder{flag: a.city.flag}, providers: a.providers.Like()}
}

// run executes a command line and returns the exit status.
func run(ctx context.Context, args []string, s cli.Streams) int {
	a := newApp(s, args)
	defer a.providers.Close()
	if opcmd.Direct(args) {
		return sessionOp(a).Run(ctx, args[1:])
	}
	if agent, more, ok := reportcmd.Hook(args); ok {
		reportcmd.RunHook(agent, more, s.In)
		return cli.ExitOK
	}
	root := newRootCmd(a)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	cmd, err := root.ExecuteContextC(ctx)
	err = a.agentDown(ctx, err)
	return cli.Report(s.Err, cmd, err)
}

// tmux executes a tmux command line and returns the exit status.
func (a *app) tmux(ctx context.Context, args []string) int {
	streams := cli.Streams{In: a.In, Out: a.Out, Err: a.Err}
	return tmuxcmd.Run(ctx, &a.mux, streams, args, func(ctx context.Context, session string, readOnly bool) error {
		if !a.Interactive() {
			return errors.New("open terminal failed: not a terminal")
		}
		args := []string{"session", "attach", session}
		if readOnly {
			args = append(args, "--read-only")
		}
		if status := run(ctx, args, streams); status != 0 {
			return cli.Quiet(status)
		}
		return nil
	})
}

// sessionOp is gc session-op on this console.
func sessionOp(a *app) *opcmd.Command {
	return &opcmd.Command{Console: &a.Console, Version: version, Sessions: a.completeSessions}
}

// place is what gc ui and gc web show.
func (a *app) place() uicmd.Place {
	return uicmd.Place{Mux: &a.mux, City: func() (string, error) {
		dir, err := a.city.dir()
		if a.city.none(err) {
			return "", nil
		}
		return dir, err
	}, Tell: func() string {
		city, err := a.city.optional()
		if err != nil || city == nil {
			return ""
		}
		return city.Notify.Terminal
	}}
}

func newRootCmd(a *app) *cobra.Command {
	asked := false
	root := &cobra.Command{
		Use:   cli.Program,
		Short: "Run fleets of coding agents in terminals that survive",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return cli.UnknownCommand(cmd, args[0])
			case asked:
				return versioncmd.Build{Version: version}.Print(a.Out, false)
			}
			return cmd.Help()
		},
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	cli.Describe(root, `gc runs terminal programs (agents, shells, editors) in sessions that outlive your
terminal, and keeps a city of agents running: it starts them, watches them,
restarts them when they die, and lets you look, type and attach.

A city is a directory with a city.toml. The city and agent commands find it by
--city, by GC_CITY_PATH, or by searching upwards from the current directory. The
session commands do not need a city.

GC_SESSION selects the session provider; the default is [session] provider in
city.toml, or native.

gc help TOPIC explains city-toml, env, exit, providers and states.`, `
		gc init my-city && cd my-city && gc start
		gc status
		gc nudge worker 'please run the tests'
		gc peek worker
		gc attach worker          # ctrl-b d detaches
		gc session new build -- make -j4`,
		cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: "", cli.ExitTimeout: ""})
	root.PersistentFlags().StringVar(&a.city.flag, "city", "", "use the city in this `DIR` (default: GC_CITY_PATH, or the nearest city.toml upwards)")
	a.Color = cli.ColorAuto
	root.PersistentFlags().Var(&a.Color, "color", "use colours: auto (on a terminal without NO_COLOR), always or never")
	cli.CompleteFlag(root, "color", string(cli.ColorAuto), string(cli.ColorAlways), string(cli.ColorNever))
	_ = root.MarkPersistentFlagDirname("city") // the flag exists
	root.Flags().BoolVar(&asked, "version", false, "print the version and exit")
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetHelpCommand(cli.HelpCommand(&a.Console, topics.All()))
	root.AddGroup(&cobra.Group{ID: groupCity, Title: "City:"}, &cobra.Group{ID: groupAgent, Title: "Agents:"}, &cobra.Group{ID: groupOther, Title: "Sessions and other commands:"})
	a.AddTo(root, rootEntries(a))
	root.SetHelpCommandGroupID(groupOther)
	return root
}

// rootEntries are the commands of the first level.
func rootEntries(a *app) []cli.Entry {
	s := agentScope(a)
	return []cli.Entry{
		{Name: "init", Group: groupCity, Make: func() *cobra.Command { return newInitCmd(a) }},
		{Name: "trust", Group: groupCity, Make: func() *cobra.Command { return newTrustCmd(a) }},
		{Name: "start", Group: groupCity, Make: func() *cobra.Command { return newStartCmd(a) }},
		{Name: "stop", Group: groupCity, Make: func() *cobra.Command { return newStopCmd(a) }},
		{Name: "status", Group: groupCity, Make: func() *cobra.Command { return newStatusCmd(a) }},
		{Name: "cities", Group: groupCity, Make: func() *cobra.Command { return citiescmd.New(&a.Console) }},
		{Name: "restart", Group: groupCity, Make: func() *cobra.Command { return newRestartCmd(a) }},
		{Name: "suspend", Group: groupCity, Make: func() *cobra.Command { return newSuspendCmd(a) }},
		{Name: "resume", Group: groupCity, Make: func() *cobra.Command { return newResumeCmd(a) }},
		{Name: "rig", Group: groupCity, Make: func() *cobra.Command { return newRigCmd(a) }},
		{Name: "events", Group: groupCity, Make: func() *cobra.Command { return newEventsCmd(a) }},
		{Name: "config", Group: groupCity, Make: func() *cobra.Command { return newConfigCmd(a) }},
		{Name: "doctor", Group: groupCity, Make: func() *cobra.Command { return newDoctorCmd(a) }},
		{Name: "attach", Group: groupAgent, Make: func() *cobra.Command { return newAttachCmd(a, s) }},
		{Name: "peek", Group: groupAgent, Make: func() *cobra.Command { return newPeekCmd(a, s) }},
		{Name: "ui", Group: groupAgent, Make: func() *cobra.Command { return uicmd.NewUI(&a.Console, a.place()) }},
		{Name: "web", Group: groupAgent, Make: func() *cobra.Command { return uicmd.NewWeb(&a.Console, a.place()) }},
		{Name: "attention", Group: groupAgent, Make: func() *cobra.Command { return attentioncmd.New(&a.Console, attentionCity{a}) }},
		{Name: "mail", Group: groupAgent, Make: func() *cobra.Command { return mailcmd.New(&a.Console, mailCity{a}) }},
		{Name: "nudge", Group: groupAgent, Make: func() *cobra.Command { return newAgentNudgeCmd(a, s) }},
		{Name: "keys", Group: groupAgent, Make: func() *cobra.Command { return newKeysCmd(a, s) }},
		{Name: "interrupt", Group: groupAgent, Make: func() *cobra.Command { return newInterruptCmd(s) }},
		{Name: "logs", Group: groupAgent, Make: func() *cobra.Command { return newLogsCmd(a, s) }},
		{Name: "wait", Group: groupAgent, Make: func() *cobra.Command { return newAgentWaitCmd(a, s) }},
		{Name: "pending", Group: groupAgent, Make: func() *cobra.Command { return newPendingCmd(a, s) }},
		{Name: "respond", Group: groupAgent, Make: func() *cobra.Command { return newRespondCmd(a, s) }},
		{Name: "seen", Group: groupAgent, Make: func() *cobra.Command { return newSeenCmd(s) }},
		{Name: "explain", Group: groupAgent, Make: func() *cobra.Command { return newExplainCmd(a, s) }},
		{Name: "prime", Group: groupAgent, Make: func() *cobra.Command { return newPrimeCmd(a) }},
		{Name: reportcmd.Name, Group: groupAgent, Make: func() *cobra.Command { return reportcmd.New(&a.Console) }},
		{Name: "agent", Group: groupCity, Make: func() *cobra.Command { return newAgentCmd(a) }},
		{Name: "runtime", Group: groupAgent, Make: func() *cobra.Command { return newRuntimeCmd(a) }},
		{Name: "session", Group: groupOther, Make: func() *cobra.Command { return newSessionCmd(a) }},
		{Name: "exec", Group: groupOther, Make: func() *cobra.Command { return background.NewExec(&a.Console, &a.mux) }},
		{Name: "process", Group: groupOther, Make: func() *cobra.Command { return background.NewProcess(&a.Console, &a.mux) }},
		{Name: "mcp", Group: groupOther, Make: newMCPCmd},
		{Name: "host", Group: groupOther, Make: func() *cobra.Command { return hostcmd.New(&a.Console, version) }},
		{Name: "image", Group: groupOther, Make: func() *cobra.Command { return imagecmd.New(&a.Console, version) }},
		{Name: "mux", Group: groupOther, Make: func() *cobra.Command { return muxcmd.New(&a.Console, &a.mux) }},
		{Name: opcmd.Name, Group: groupOther, Make: func() *cobra.Command { return sessionOp(a).New() }},
		{Name: "tmux", Group: groupOther, Make: func() *cobra.Command { return tmuxcmd.New(a.tmux) }},
		{Name: "tmux-shim", Group: groupOther, Make: tmuxcmd.NewInstall},
		{Name: "version", Group: groupOther, Make: func() *cobra.Command { return versioncmd.New(&a.Console, version, commit, date) }},
		{Name: "completion", Group: groupOther, Make: func() *cobra.Command { return newCompletionCmd(a) }},
		{Name: agent.HookFileCommand, Make: reportcmd.NewFile},
		{Name: "controller", Make: func() *cobra.Command { return newControllerCmd(a) }},
		{Name: podcmd.Run, Make: func() *cobra.Command { return podcmd.NewRun(&a.Console, version) }},
		{Name: podcmd.Install, Make: podcmd.NewInstall},
	}
}

// Groups of commands in the help.
const (
	groupCity  = "city"
	groupAgent = "agent"
	groupOther = "other"
)
