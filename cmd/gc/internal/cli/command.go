package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gascity.dev/gc/mux/attach"
	"github.com/spf13/cobra"
)

// RunE is what cobra calls.
type RunE = func(cmd *cobra.Command, args []string) error

// Graceful makes SIGINT, SIGTERM and SIGHUP cancel the command's context, for a
// command that must clean up. Other commands just die: catching signals costs a
// thread.
func Graceful(act RunE) RunE {
	return endedBySignals(act, false)
}

// GracefulSoon is graceful for a command that has nothing to clean up at first: it
// starts before the signals are caught.
func GracefulSoon(act RunE) RunE {
	return endedBySignals(act, true)
}

// endedBySignals calls act once the signals are caught, or at once with soon.
func endedBySignals(act RunE, soon bool) RunE {
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

// Entry is one command of a group; make builds it when it is needed.
type Entry struct {
	Name  string
	Group string // in the help; may be empty
	Make  func() *cobra.Command
}

// AddTo adds to a group the command that the next word names, or all commands if
// it names none: building every command takes as long as starting the program.
func (c *Console) AddTo(parent *cobra.Command, entries []Entry) {
	word := ""
	if len(c.words) > 0 {
		word, c.words = c.words[0], c.words[1:]
	}
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == word })
	if i >= 0 {
		entries = entries[i : i+1]
	} else {
		c.words = nil
	}
	for _, e := range entries {
		cmd := e.Make()
		cmd.GroupID = e.Group
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

// Group returns a command that only has subcommands.
func (c *Console) Group(use, short, long, example string, entries []Entry) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return UnknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}}
	Describe(g, long, example, Statuses{})
	c.AddTo(g, entries)
	return g
}

// Exactly requires n arguments.
func Exactly(n int) cobra.PositionalArgs { return Between(n, n) }

// Between requires least to most arguments; most < 0 means no limit.
func Between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return UsageError(cmd, "missing argument: "+cmd.UseLine())
		case most >= 0 && len(args) > most:
			return UsageError(cmd, "too many arguments: "+cmd.UseLine())
		}
		return nil
	}
}

// ParseSize parses COLSxROWS.
func ParseSize(s string) (cols, rows int, err error) {
	c, r, _ := strings.Cut(s, "x")
	cols, errCols := strconv.Atoi(c)
	rows, errRows := strconv.Atoi(r)
	if errCols != nil || errRows != nil || cols < 1 || rows < 1 {
		return 0, 0, Fail(ExitUsage, "such as 120x40", "size %q: must be COLSxROWS", s)
	}
	return cols, rows, nil
}
