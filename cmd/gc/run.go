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
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

// stdio is the three streams of a command.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// app is what every command gets.
type app struct {
	stdio
	city string // --city
	host string // --host
	cols int    // width of the terminal behind out, where out cannot tell

	color colorMode // --color

	looksOnly bool // the command runs nothing of a city's own: no session script

	cityOnce sync.Once // guards the next two, see optionalCity
	cityRead *config.City
	cityErr  error

	agent *target  // the agent that the command is about, nil for none
	words []string // of the command line, to find the one command to make; none: all

	mu       sync.Mutex
	warnings []string           // of the steps of a start
	tellStep func(runtime.Step) // instead: who is told of every step
	opened   []io.Closer        // providers that hold connections
	made     map[side]runtime.Provider
}

// side is what a provider is made for; a command makes each once.
type side struct {
	name, city string
	looksOnly  bool
	fromEnv    bool // a script that the caller names needs no trust
}

// close ends the connections of the command.
func (a *app) close() {
	for _, c := range a.opened {
		_ = c.Close() // the command is over, and has said what it had to
	}
}

// run carries out one command line and returns the exit status.
func run(ctx context.Context, args []string, s stdio) int {
	a := &app{stdio: s, words: commandWords(args)}
	defer a.close()
	if len(args) > 0 && args[0] == sessionOpName && !wantsHelp(args[1:]) && !wantsCheck(args[1:]) {
		return runSessionOp(ctx, a, args[1:]) // the same, many times a second
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

// graceful makes SIGINT, SIGTERM and SIGHUP end the command's context, for a
// command that has something to put in order before it ends. The others just
// end: catching signals costs a thread.
func graceful(act runE) runE {
	return endedBySignals(act, false)
}

// gracefulSoon is graceful for a command that has nothing to put in order in its
// first moments: they are not spent waiting for the signals to be caught.
func gracefulSoon(act runE) runE {
	return endedBySignals(act, true)
}

// endedBySignals calls act when the signals are caught, or, with soon, meanwhile.
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
				cancel(&client.SignalError{Signal: sig})
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
	describe(root, `gc hosts terminal programs (agents, shells, editors) in sessions that outlive
your terminal, and keeps a city of agents running: it starts them, watches
them, restarts them when they die, and lets you look, type and attach.

A city is a folder with a city.toml. The agent commands find it by --city,
GC_CITY_PATH, or the nearest city.toml upwards. The session commands need no
city.

GC_SESSION selects who hosts the sessions ([session] provider in city.toml,
else native).`, `
		gc init my-city && cd my-city && gc start
		gc status
		gc nudge worker 'please run the tests'
		gc peek worker
		gc attach worker          # ctrl-b d detaches
		gc session new build -- make -j4`,
		statuses{exitNotFound: "", exitCannotTell: "", exitUnsupported: "", exitTimeout: ""})
	root.PersistentFlags().StringVar(&a.city, "city", "", "folder of the city (default: GC_CITY_PATH, else the nearest city.toml upwards)")
	a.color = colorAuto
	root.PersistentFlags().Var(&a.color, "color", "colours: auto (on a terminal, without NO_COLOR), always or never")
	root.Flags().BoolVar(&version, "version", false, "print the version, as gc version does")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelpCmd())
	root.AddGroup(&cobra.Group{ID: groupCity, Title: "A city:"}, &cobra.Group{ID: groupAgent, Title: "One agent:"}, &cobra.Group{ID: groupOther, Title: "Sessions and the rest:"})
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

// entry is one command of a group, made when it is needed.
type entry struct {
	name  string
	group string // in the help, may be empty
	make  func() *cobra.Command
}

// addTo adds to a group the one command that the next word names, else all of
// them: making every command costs as much as starting the program.
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

// commandWords are the words at the head of a command line that may name
// commands.
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

// newGroup makes a command that only holds others.
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

// exactly wants n arguments; names are for the message.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

// between wants least to most arguments; most < 0 is no limit.
func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError(cmd, "an argument is missing: "+cmd.UseLine())
		case most >= 0 && len(args) > most:
			return usageError(cmd, "too many arguments: "+cmd.UseLine())
		}
		return nil
	}
}

// printJSON writes v indented, with a line end.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// width is the columns of the terminal that standard output is, else 0.
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

// height is the rows of the terminal that standard output is, else 0.
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
