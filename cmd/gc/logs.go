package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/follow"
	"gascity.dev/gc/mux/api"
)

type logsOptions struct {
	follow bool
	lines  int
	all    bool
	json   bool
	wire   bool
}

func newLogsCmd(a *app, s scope) *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:               "logs " + s.noun + "...",
		Short:             "Print the output of agents, and follow it",
		ValidArgsFunction: a.city.completeEveryAgent,
		RunE: cli.Graceful(func(cmd *cobra.Command, args []string) error {
			if (len(args) > 0) == o.all {
				return cli.UsageError(cmd, "requires names or --all: "+cmd.UseLine())
			}
			targets, err := s.targets(cmd.Context(), args)
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
	f.BoolVarP(&o.follow, "follow", "f", false, "keep printing new lines until the program ends or Ctrl-C")
	f.IntVarP(&o.lines, "lines", "n", 0, "print only the last `N` lines of past output (default: all that are kept)")
	f.BoolVar(&o.json, "json", false, "print the entries of the transcript of an agent over ACP, one JSON object per line")
	f.BoolVar(&o.wire, "wire", false, "print the messages exchanged with an agent over ACP that has record = true, one JSON object per line")
	f.BoolVar(&o.all, "all", false, "print the output of every running agent")
	return cli.Describe(cmd, `Prints scrollback and screen as text without control sequences; lines that the terminal
wrapped are joined. With -f a new line is printed once it is final: it scrolled off, or
it is above the cursor and has not changed for a moment. A line that the program
repaints is printed again. For full-screen programs use gc attach or gc peek. With
several agents each line starts with the agent's name.

For an agent over ACP it prints the transcript instead: prompts, what the agent said and
did, its questions with the answers and who gave them, and how each turn ended.`, fmt.Sprintf(`
		%[1]s logs %[2]s -n 100
		%[1]s logs --all -f -n 5
		%[1]s logs %[2]s -f | grep --line-buffered ERROR`, s.path, s.word),
		cli.Statuses{cli.ExitOK: "done; with -f: the program ended", cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: "the provider cannot follow output"})
}

func runLogs(ctx context.Context, a *app, t *target, o logsOptions) error {
	if o.lines < 0 {
		return cli.Fail(cli.ExitUsage, "", "-n %d: must be at least 1", o.lines)
	}
	if o.wire {
		return a.printWire(t, o)
	}
	switch l, err := a.transcriptOf(ctx, t, o); {
	case err != nil:
		return err
	case l != nil:
		return a.oneTranscript(ctx, t, l, o)
	case o.json:
		return errNoTranscript(t)
	}
	muxed, err := inMux(ctx, t)
	if err != nil {
		return err
	}
	if !muxed {
		if o.follow {
			return cli.Fail(cli.ExitUnsupported, followHint(t), "%s: logs -f: its provider cannot follow output", display.Line(t.label))
		}
		text, err := t.provider.Peek(ctx, t.session, o.lines)
		if err != nil {
			return err
		}
		return printScreen(a.Out, text)
	}
	client, err := sessionClient(ctx, t, "logs")
	if err != nil {
		return err
	}
	res, err := client.Peek(ctx, api.PeekRequest{Name: t.session, Lines: o.lines, Join: true})
	if err != nil {
		return err
	}
	if !o.follow || res.Exit != nil {
		if err := printScreen(a.Out, res.Text); err != nil || !o.follow {
			return err
		}
		fmt.Fprintf(a.Err, "%s ended: %s\n", display.Line(t.label), res.Exit.Status())
		return nil
	}
	l := &follow.Follower{Source: client, ID: res.ID, Print: func(line string) error {
		_, err := fmt.Fprintln(a.Out, display.Text(line))
		return err
	}}
	l.Note = func(text string) { fmt.Fprintln(a.Err, text) }
	exit, err := l.Run(ctx, res)
	if ctx.Err() != nil {
		return followEnd(ctx)
	}
	if err == nil && exit != nil {
		fmt.Fprintf(a.Err, "%s ended: %s\n", display.Line(t.label), exit.Status())
	}
	return err
}

// followHint is the hint for a provider that cannot follow output.
func followHint(t *target) string {
	return fmt.Sprintf("gc logs %[1]s prints past output; gc attach %[1]s --read-only shows new output", t.label)
}

// runLogsMany prints, and follows, the output of several agents, with the agent's
// name before each line.
func runLogsMany(ctx context.Context, a *app, targets []*target, o logsOptions) error {
	switch {
	case o.lines < 0:
		return cli.Fail(cli.ExitUsage, "", "-n %d: must be at least 1", o.lines)
	case o.json || o.wire:
		return cli.Fail(cli.ExitUsage, "", "--json and --wire are for one agent, not %d", len(targets))
	}
	var names []string
	for _, t := range targets {
		names = append(names, t.label)
	}
	out := display.NewMerged(a.Out, a.Colours(a.Out), names...)
	var followed sync.WaitGroup
	ends := make([]error, len(targets))
	for i, t := range targets {
		l, err := a.transcriptOf(ctx, t, o)
		if err != nil || l != nil {
			if ends[i] = err; err == nil {
				followed.Go(func() {
					ends[i] = a.printTranscript(ctx, t, l, o, func(line string) error { return out.Output(t.label, line) })
				})
			}
			continue
		}
		f, res, err := a.logsOf(ctx, out, t, o)
		if err == nil && f != nil {
			followed.Go(func() {
				exit, err := f.Run(ctx, res)
				if err == nil && exit != nil {
					err = out.Note(t.label, "ended: "+exit.Status(), display.Dim)
				}
				ends[i] = err
			})
		}
		ends[i] = err
	}
	followed.Wait()
	if ctx.Err() != nil {
		return followEnd(ctx)
	}
	return errors.Join(ends...)
}

// logsOf prints the output of one of several agents. With -f it returns a follower
// that prints it instead, or nil if the session has ended.
func (a *app) logsOf(ctx context.Context, out *display.Merged, t *target, o logsOptions) (*follow.Follower, api.PeekResult, error) {
	var res api.PeekResult
	show := func(line string) error { return out.Output(t.label, line) }
	f := &follow.Follower{Print: show, Note: func(text string) { _ = out.Note(t.label, text, display.Dim) }}
	muxed, err := inMux(ctx, t)
	if err != nil {
		return nil, res, err
	}
	if !muxed && o.follow {
		return nil, res, cli.Fail(cli.ExitUnsupported, followHint(t), "%s: logs -f: its provider cannot follow output", display.Line(t.label))
	}
	if !muxed {
		text, err := t.provider.Peek(ctx, t.session, o.lines)
		if err == nil {
			err = f.PrintAll(text)
		}
		return nil, res, err
	}
	if f.Source, err = sessionClient(ctx, t, "logs"); err != nil {
		return nil, res, err
	}
	res, err = f.Source.Peek(ctx, api.PeekRequest{Name: t.session, Lines: o.lines, Join: true})
	if f.ID = res.ID; err != nil || o.follow && res.Exit == nil {
		return f, res, err
	}
	if err := f.PrintAll(res.Text); err != nil || !o.follow {
		return nil, res, err
	}
	return nil, res, out.Note(t.label, "ended: "+res.Exit.Status(), display.Dim)
}
