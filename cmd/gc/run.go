package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/mux/attach"
	"gascity.dev/gc/runtime"
)

// stdio is the three streams of a command.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// app is the state shared by the code of a command.
type app struct {
	stdio
	city string // --city
	host string // --host
	cols int    // width of the terminal if out is not a file

	color colorMode // --color

	looksOnly bool // the command must not run the city's session script

	cityOnce sync.Once // guards the next two: see optionalCity
	cityRead *config.City
	cityErr  error

	agent *target  // the agent that the command is about, or nil
	words []string // that may name the command to build: see addTo

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
	a := &app{stdio: s, words: commandWords(args)}
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

// runE is what cobra calls.
type runE = func(cmd *cobra.Command, args []string) error

// graceful makes SIGINT, SIGTERM and SIGHUP cancel the command's context, for a
// command that must clean up. Other commands just die: catching signals costs a
// thread.
func graceful(act runE) runE {
	return endedBySignals(act, false)
}

// gracefulSoon is graceful for a command that has nothing to clean up at first: it
// starts before the signals are caught.
func gracefulSoon(act runE) runE {
	return endedBySignals(act, true)
}

// endedBySignals calls act once the signals are caught, or at once with soon.
func endedBySignals(act runE, soon bool) runE {
	return func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithCancelCause(cmd.Context())
		signals := make(chan os.Signal, 1)
		caught, over := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(over)
			signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			close(caught)
			select {
			case sig := <-signals:
				cancel(&attach.SignalError{Signal: sig})
			case <-ctx.Done():
			}
		}()
		defer func() {
			cancel(nil)
			<-over
			signal.Stop(signals)
		}()
		if !soon {
			<-caught
		}
		cmd.SetContext(ctx)
		err := act(cmd, args)
		if errors.Is(err, context.Canceled) {
			err = context.Cause(ctx)
		}
		return err
	}
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
		{"init", groupCity, func() *cobra.Command { return newInitCmd(a) }},
		{"trust", groupCity, func() *cobra.Command { return newTrustCmd(a) }},
		{"start", groupCity, func() *cobra.Command { return newStartCmd(a) }},
		{"stop", groupCity, func() *cobra.Command { return newStopCmd(a) }},
		{"status", groupCity, func() *cobra.Command { return newStatusCmd(a) }},
		{"restart", groupCity, func() *cobra.Command { return newRestartCmd(a) }},
		{"suspend", groupCity, func() *cobra.Command { return newSuspendCmd(a) }},
		{"resume", groupCity, func() *cobra.Command { return newResumeCmd(a) }},
		{"rig", groupCity, func() *cobra.Command { return newRigCmd(a) }},
		{"events", groupCity, func() *cobra.Command { return newEventsCmd(a) }},
		{"config", groupCity, func() *cobra.Command { return newConfigCmd(a) }},
		{"doctor", groupCity, func() *cobra.Command { return newDoctorCmd(a) }},
		{"attach", groupAgent, func() *cobra.Command { return newAttachCmd(a, s) }},
		{"peek", groupAgent, func() *cobra.Command { return newPeekCmd(a, s) }},
		{"nudge", groupAgent, func() *cobra.Command { return newAgentNudgeCmd(a, s) }},
		{"keys", groupAgent, func() *cobra.Command { return newKeysCmd(a, s) }},
		{"interrupt", groupAgent, func() *cobra.Command { return newInterruptCmd(s) }},
		{"logs", groupAgent, func() *cobra.Command { return newLogsCmd(a, s) }},
		{"wait", groupAgent, func() *cobra.Command { return newAgentWaitCmd(a, s) }},
		{"pending", groupAgent, func() *cobra.Command { return newPendingCmd(a, s) }},
		{"respond", groupAgent, func() *cobra.Command { return newRespondCmd(a, s) }},
		{"seen", groupAgent, func() *cobra.Command { return newSeenCmd(s) }},
		{"explain", groupAgent, func() *cobra.Command { return newExplainCmd(a, s) }},
		{"prime", groupAgent, func() *cobra.Command { return newPrimeCmd(a) }},
		{"agent", groupCity, func() *cobra.Command { return newAgentCmd(a) }},
		{"runtime", groupAgent, func() *cobra.Command { return newRuntimeCmd(a) }},
		{"session", groupOther, func() *cobra.Command { return newSessionCmd(a) }},
		{"exec", groupOther, func() *cobra.Command { return newExecCmd(a) }},
		{"process", groupOther, func() *cobra.Command { return newProcessCmd(a) }},
		{"mcp", groupOther, newMCPCmd},
		{"mux", groupOther, func() *cobra.Command { return newMuxCmd(a) }},
		{sessionOpName, groupOther, func() *cobra.Command { return newSessionOpCmd(a) }},
		{"version", groupOther, func() *cobra.Command { return newVersionCmd(a) }},
		{"completion", groupOther, func() *cobra.Command { return newCompletionCmd(a) }},
		{"controller", "", func() *cobra.Command { return newControllerCmd(a) }},
	}
}

// Groups of commands in the help.
const (
	groupCity  = "city"
	groupAgent = "agent"
	groupOther = "other"
)

// entry is one command of a group; make builds it when it is needed.
type entry struct {
	name  string
	group string // in the help; may be empty
	make  func() *cobra.Command
}

// addTo adds to a group the command that the next word names, or all commands if
// it names none: building every command takes as long as starting the program.
func (a *app) addTo(parent *cobra.Command, entries []entry) {
	word := ""
	if len(a.words) > 0 {
		word, a.words = a.words[0], a.words[1:]
	}
	i := slices.IndexFunc(entries, func(e entry) bool { return e.name == word })
	if i >= 0 {
		entries = entries[i : i+1]
	} else {
		a.words = nil
	}
	for _, e := range entries {
		cmd := e.make()
		cmd.GroupID = e.group
		parent.AddCommand(cmd)
	}
}

// commandWords are the leading words of a command line, which may name commands.
func commandWords(args []string) []string {
	for len(args) > 1 && args[0] == "--city" {
		args = args[2:]
	}
	n := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if n >= 0 {
		args = args[:n]
	}
	return args
}

// newGroup returns a command that only has subcommands.
func (a *app) newGroup(use, short, long, example string, entries []entry) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}}
	describe(g, long, example, statuses{})
	a.addTo(g, entries)
	return g
}

// exactly requires n arguments.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

// between requires least to most arguments; most < 0 is no limit.
func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError(cmd, "missing argument: "+cmd.UseLine())
		case most >= 0 && len(args) > most:
			return usageError(cmd, "too many arguments: "+cmd.UseLine())
		}
		return nil
	}
}

// printJSON writes v as indented JSON.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// width is the number of columns of the terminal on standard output, or 0.
func (a *app) width() int {
	f, ok := a.out.(*os.File)
	if !ok {
		return a.cols
	}
	cols, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return cols
}

// height is the number of rows of the terminal on standard output, or 0.
func (a *app) height() int {
	f, ok := a.out.(*os.File)
	if !ok {
		return 0
	}
	_, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return rows
}

// interactive reports whether standard input is a terminal.
func (a *app) interactive() bool {
	f, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
