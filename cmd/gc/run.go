package main

import (
	"context"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/runtime"
)

// app is the state shared by the code of a command.
type app struct {
	console
	city string // --city
	host string // --host

	looksOnly bool // the command must not run the city's session script

	cityOnce sync.Once // guards the next two: see optionalCity
	cityRead *config.City
	cityErr  error

	agent *target // the agent that the command is about, or nil

	mu       sync.Mutex
	warnings []string           // from the steps of a start, unless there is a
	tellStep func(runtime.Step) // function for steps
	opened   []io.Closer        // providers that hold connections
	made     map[side]runtime.Provider
}

// side identifies a provider; a command makes each once.
type side struct {
	name, city string
	looksOnly  bool
	fromEnv    bool // named by the caller, so a script needs no trust
}

// close closes the connections of the command.
func (a *app) close() {
	for _, c := range a.opened {
		_ = c.Close() // the command has already reported its result
	}
}

// run executes a command line and returns the exit status.
func run(ctx context.Context, args []string, s stdio) int {
	a := &app{console: newConsole(s, args)}
	defer a.close()
	if len(args) > 0 && args[0] == sessionOpName && !wantsHelp(args[1:]) && !wantsCheck(args[1:]) {
		return runSessionOp(ctx, a, args[1:]) // scripts call it many times a second: skip cobra
	}
	root := newRootCmd(a)
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	cmd, err := root.ExecuteContextC(ctx)
	err = a.agentDown(ctx, err)
	return report(s.err, cmd, err)
}

func newRootCmd(a *app) *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:   program,
		Short: "Run fleets of coding agents in terminals that survive",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return unknownCommand(cmd, args[0])
			case version:
				return runVersion(a, false)
			}
			return cmd.Help()
		},
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	describe(root, `gc runs terminal programs (agents, shells, editors) in sessions that outlive your
terminal, and keeps a city of agents running: it starts them, watches them,
restarts them when they die, and lets you look, type and attach.

A city is a directory with a city.toml. The city and agent commands find it by
--city, by GC_CITY_PATH, or by searching upwards from the current directory. The
session commands do not need a city.

GC_SESSION selects the session provider; the default is [session] provider in
city.toml, or native.`, `
		gc init my-city && cd my-city && gc start
		gc status
		gc nudge worker 'please run the tests'
		gc peek worker
		gc attach worker          # ctrl-b d detaches
		gc session new build -- make -j4`,
		statuses{exitNotFound: "", exitCannotTell: "", exitUnsupported: "", exitTimeout: ""})
	root.PersistentFlags().StringVar(&a.city, "city", "", "use the city in this `DIR` (default: GC_CITY_PATH, or the nearest city.toml upwards)")
	a.color = colorAuto
	root.PersistentFlags().Var(&a.color, "color", "use colours: auto (on a terminal without NO_COLOR), always or never")
	root.Flags().BoolVar(&version, "version", false, "print the version and exit")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelpCmd())
	root.AddGroup(&cobra.Group{ID: groupCity, Title: "City:"}, &cobra.Group{ID: groupAgent, Title: "Agents:"}, &cobra.Group{ID: groupOther, Title: "Sessions and other commands:"})
	a.addTo(root, rootEntries(a))
	root.SetHelpCommandGroupID(groupOther)
	return root
}

// rootEntries are the commands of the first level.
func rootEntries(a *app) []entry {
	s := agentScope(a)
	return []entry{
		{name: "init", group: groupCity, make: func() *cobra.Command { return newInitCmd(a) }},
		{name: "trust", group: groupCity, make: func() *cobra.Command { return newTrustCmd(a) }},
		{name: "start", group: groupCity, make: func() *cobra.Command { return newStartCmd(a) }},
		{name: "stop", group: groupCity, make: func() *cobra.Command { return newStopCmd(a) }},
		{name: "status", group: groupCity, make: func() *cobra.Command { return newStatusCmd(a) }},
		{name: "restart", group: groupCity, make: func() *cobra.Command { return newRestartCmd(a) }},
		{name: "suspend", group: groupCity, make: func() *cobra.Command { return newSuspendCmd(a) }},
		{name: "resume", group: groupCity, make: func() *cobra.Command { return newResumeCmd(a) }},
		{name: "rig", group: groupCity, make: func() *cobra.Command { return newRigCmd(a) }},
		{name: "events", group: groupCity, make: func() *cobra.Command { return newEventsCmd(a) }},
		{name: "config", group: groupCity, make: func() *cobra.Command { return newConfigCmd(a) }},
		{name: "doctor", group: groupCity, make: func() *cobra.Command { return newDoctorCmd(a) }},
		{name: "attach", group: groupAgent, make: func() *cobra.Command { return newAttachCmd(a, s) }},
		{name: "peek", group: groupAgent, make: func() *cobra.Command { return newPeekCmd(a, s) }},
		{name: "nudge", group: groupAgent, make: func() *cobra.Command { return newAgentNudgeCmd(a, s) }},
		{name: "keys", group: groupAgent, make: func() *cobra.Command { return newKeysCmd(a, s) }},
		{name: "interrupt", group: groupAgent, make: func() *cobra.Command { return newInterruptCmd(s) }},
		{name: "logs", group: groupAgent, make: func() *cobra.Command { return newLogsCmd(a, s) }},
		{name: "wait", group: groupAgent, make: func() *cobra.Command { return newAgentWaitCmd(a, s) }},
		{name: "pending", group: groupAgent, make: func() *cobra.Command { return newPendingCmd(a, s) }},
		{name: "respond", group: groupAgent, make: func() *cobra.Command { return newRespondCmd(a, s) }},
		{name: "seen", group: groupAgent, make: func() *cobra.Command { return newSeenCmd(s) }},
		{name: "explain", group: groupAgent, make: func() *cobra.Command { return newExplainCmd(a, s) }},
		{name: "prime", group: groupAgent, make: func() *cobra.Command { return newPrimeCmd(a) }},
		{name: "agent", group: groupCity, make: func() *cobra.Command { return newAgentCmd(a) }},
		{name: "runtime", group: groupAgent, make: func() *cobra.Command { return newRuntimeCmd(a) }},
		{name: "session", group: groupOther, make: func() *cobra.Command { return newSessionCmd(a) }},
		{name: "exec", group: groupOther, make: func() *cobra.Command { return newExecCmd(a) }},
		{name: "process", group: groupOther, make: func() *cobra.Command { return newProcessCmd(a) }},
		{name: "mcp", group: groupOther, make: newMCPCmd},
		{name: "mux", group: groupOther, make: func() *cobra.Command { return newMuxCmd(a) }},
		{name: sessionOpName, group: groupOther, make: func() *cobra.Command { return newSessionOpCmd(a) }},
		{name: "version", group: groupOther, make: func() *cobra.Command { return newVersionCmd(a) }},
		{name: "completion", group: groupOther, make: func() *cobra.Command { return newCompletionCmd(a) }},
		{name: "controller", make: func() *cobra.Command { return newControllerCmd(a) }},
	}
}

// Groups of commands in the help.
const (
	groupCity  = "city"
	groupAgent = "agent"
	groupOther = "other"
)
