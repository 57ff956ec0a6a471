package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"gascity.dev/gc/mux/attach"
	"github.com/spf13/cobra"
)

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

// entry is one command of a group; make builds it when it is needed.
type entry struct {
	name  string
	group string // in the help; may be empty
	make  func() *cobra.Command
}

// addTo adds to a group the command that the next word names, or all commands if
// it names none: building every command takes as long as starting the program.
func (c *console) addTo(parent *cobra.Command, entries []entry) {
	word := ""
	if len(c.words) > 0 {
		word, c.words = c.words[0], c.words[1:]
	}
	i := slices.IndexFunc(entries, func(e entry) bool { return e.name == word })
	if i >= 0 {
		entries = entries[i : i+1]
	} else {
		c.words = nil
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
func (c *console) newGroup(use, short, long, example string, entries []entry) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}}
	describe(g, long, example, statuses{})
	c.addTo(g, entries)
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
