package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gascity.dev/gc/mux"
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
	cols int    // width of the terminal behind out, where out cannot tell

	mu       sync.Mutex
	warnings []string // of the steps of a start
}

// run carries out one command line and returns the exit status. SIGINT, SIGTERM
// and SIGHUP end it through its context.
func run(ctx context.Context, args []string, s stdio) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	go func() {
		select {
		case sig := <-signals:
			cancel(&mux.SignalError{Signal: sig})
		case <-ctx.Done():
		}
	}()
	root := newRootCmd(&app{stdio: s})
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	cmd, err := root.ExecuteContextC(ctx)
	if errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	return report(s.err, cmd, err)
}

func newRootCmd(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "gc",
		Short: "Run fleets of coding agents in terminals that survive",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SuggestionsMinimumDistance = 2
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
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError(cmd, err.Error()) })
	root.AddGroup(&cobra.Group{ID: groupCity, Title: "A city:"}, &cobra.Group{ID: groupAgent, Title: "One agent:"}, &cobra.Group{ID: groupOther, Title: "Sessions and the rest:"})
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	agents := agentScope(a)
	add(groupCity, newInitCmd(a), newStartCmd(a), newStopCmd(a), newStatusCmd(a), newRestartCmd(a))
	add(groupAgent, newAttachCmd(a, agents), newPeekCmd(a, agents), newNudgeCmd(a, agents), newKeysCmd(a, agents),
		newInterruptCmd(a, agents), newWaitCmd(a, agents))
	add(groupOther, newAgentCmd(a), newSessionCmd(a), newMuxCmd(a), newVersionCmd(a), newCompletionCmd(a))
	root.AddCommand(newControllerCmd(a))
	root.SetHelpCommandGroupID(groupOther)
	return root
}

// Groups of commands in the help.
const (
	groupCity  = "city"
	groupAgent = "agent"
	groupOther = "other"
)

// group makes a command that only holds others.
func group(use, short, long, example string, cmds ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}}
	g.SuggestionsMinimumDistance = 2
	describe(g, long, example, statuses{})
	g.AddCommand(cmds...)
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

// interactive reports whether standard input is a terminal.
func (a *app) interactive() bool {
	f, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
