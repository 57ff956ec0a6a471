package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/mux"
)

type logsOptions struct {
	follow bool
	lines  int
	all    bool
}

func newLogsCmd(a *app, s scope) *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:               "logs " + s.noun + "...",
		Short:             "Show what agents printed, and follow them",
		ValidArgsFunction: a.completeEveryAgent,
		RunE: graceful(func(cmd *cobra.Command, args []string) error {
			if (len(args) > 0) == o.all {
				return usageError(cmd, "name one or more, or give --all: "+cmd.UseLine())
			}
			targets, err := a.waitTargets(cmd.Context(), s, args)
			if err != nil {
				return err
			}
			if len(targets) == 1 && !o.all {
				return runLogs(cmd.Context(), a, targets[0], o)
			}
			return runLogsMany(cmd.Context(), a, targets, o)
		}),
	}
	f := cmd.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "go on with what it prints, until it ends or Ctrl-C")
	f.IntVarP(&o.lines, "lines", "n", 0, "of what it printed so far only the last N lines (default: all that is kept)")
	f.BoolVar(&o.all, "all", false, "every agent that runs")
	return describe(cmd, `Prints scrollback and screen as text, without control sequences, a line as the program
wrote it, however the terminal wrapped it. With -f a line follows once it stands: above
the cursor and unchanged for a moment, or scrolled off. What a program paints over is
shown again when it comes to rest; full-screen programs are for gc attach and gc peek.
Of several agents each line stands behind the agent's name.`, fmt.Sprintf(`
		%[1]s logs %[2]s -n 100
		%[1]s logs --all -f -n 5
		%[1]s logs %[2]s -f | grep --line-buffered ERROR`, s.path, s.word),
		statuses{exitOK: "done; with -f: the program ended", exitNotFound: "", exitCannotTell: "", exitUnsupported: "this provider cannot follow"})
}

func runLogs(ctx context.Context, a *app, t *target, o logsOptions) error {
	if o.lines < 0 {
		return fail(exitUsage, "", "-n %d: want at least 1", o.lines)
	}
	muxed, err := inMux(ctx, t)
	if err != nil {
		return err
	}
	if !muxed {
		if o.follow {
			return fail(exitUnsupported, followHint(t), "%s: logs -f: its provider does not tell when something was printed", display.Line(t.label))
		}
		text, err := t.provider.Peek(ctx, t.session, o.lines)
		if err != nil {
			return err
		}
		return a.printScreen(text)
	}
	client, err := sessionClient(ctx, t, "logs")
	if err != nil {
		return err
	}
	res, err := client.Peek(ctx, mux.PeekRequest{Name: t.session, Lines: o.lines, Join: true})
	if err != nil {
		return err
	}
	if !o.follow || res.Exit != nil {
		if err := a.printScreen(res.Text); err != nil || !o.follow {
			return err
		}
		fmt.Fprintf(a.err, "%s ended: %s\n", display.Line(t.label), exitText(runtimeExit(res.Exit)))
		return nil
	}
	l := &follower{client: client, id: res.ID, print: func(line string) error {
		_, err := fmt.Fprintln(a.out, display.Text(line))
		return err
	}}
	l.say = func(text string) { fmt.Fprintln(a.err, text) }
	exit, err := l.run(ctx, res)
	if ctx.Err() != nil {
		return followEnd(ctx)
	}
	if err == nil && exit != nil {
		fmt.Fprintf(a.err, "%s ended: %s\n", display.Line(t.label), exitText(runtimeExit(exit)))
	}
	return err
}

// followHint is what to do where following is not possible.
func followHint(t *target) string {
	return fmt.Sprintf("gc logs %[1]s shows what is there, gc attach %[1]s --read-only follows it", t.label)
}

// linesOf are the lines of a text; none of an empty one.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
