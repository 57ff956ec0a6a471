package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/vt"
)

type peekOptions struct {
	lines  int
	all    bool
	format string
	join   bool
	at     string
}

func newPeekCmd(a *app, s scope) *cobra.Command {
	var o peekOptions
	cmd := &cobra.Command{
		Use:               "peek " + s.noun,
		Short:             "Show the screen",
		Args:              cli.Exactly(1),
		ValidArgsFunction: s.complete,
		RunE:              s.on(func(ctx context.Context, t *target) error { return runPeek(ctx, a, t, o) }),
	}
	f := cmd.Flags()
	f.IntVarP(&o.lines, "lines", "n", 0, "print the last `N` lines of screen and scrollback")
	f.BoolVar(&o.all, "all", false, "print the whole scrollback and the screen")
	f.StringVar(&o.format, "format", "text", "print this `FORMAT`: text, ansi or json")
	f.BoolVar(&o.join, "join", false, "join lines that the terminal wrapped")
	f.StringVar(&o.at, "at", "", "show the screen at this `TIME` of a recorded session: a time, 90s after its start, -30s from now, or a number of bytes of output")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{api.FormatText, api.FormatANSI, api.FormatJSON}, cobra.ShellCompDirectiveNoFileComp))
	return cli.Describe(cmd, `Prints the current screen; with -n or --all also lines that scrolled off. It works for
an ended session, too, while the session is kept. The format text contains no control
characters; ansi is the screen with its colours and, unless printed to a terminal,
its complete state for a terminal emulator of the same size; json has runs of text
with attributes, cursor, modes, title and revision.`, fmt.Sprintf(`
		%[1]s peek %[2]s
		%[1]s peek %[2]s -n 100 --join
		%[1]s peek %[2]s --format json
		%[1]s peek %[2]s --at -30s`, s.path, s.word),
		cli.Statuses{cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: "the provider has no such format"})
}

func runPeek(ctx context.Context, a *app, t *target, o peekOptions) error {
	switch {
	case o.format != "text" && o.format != "ansi" && o.format != "json":
		return cli.Fail(cli.ExitUsage, "valid values: text, ansi, json", "unknown format %q", o.format)
	case o.lines < 0:
		return cli.Fail(cli.ExitUsage, "--all prints everything", "-n %d: must be at least 1", o.lines)
	}
	r := api.PeekRequest{
		Name: t.session, Lines: o.lines, Screen: o.lines == 0 && !o.all, Format: o.format, Join: o.join,
	}
	if o.at != "" {
		return peekAt(ctx, a, t, r, o.at)
	}
	muxed, err := inMux(ctx, t)
	if err != nil {
		return err
	}
	if o.format == "text" && !muxed {
		lines := o.lines
		if lines == 0 && !o.all {
			lines = api.DefaultRows
		}
		text, err := t.provider.Peek(ctx, t.session, lines)
		if err != nil {
			return err
		}
		return printScreen(a.Out, text)
	}
	client, err := sessionClient(ctx, t, "peek --format "+o.format)
	if err != nil {
		return err
	}
	return printPeek(ctx, &a.Console, client, r)
}

// printPeek prints what a session of the multiplexer shows.
func printPeek(ctx context.Context, c *cli.Console, client *client.Client, r api.PeekRequest) error {
	res, err := client.Peek(ctx, r)
	switch {
	case err != nil:
		return err
	case r.Format == api.FormatJSON:
		return c.PrintJSON(res)
	case r.Format == api.FormatANSI && c.OnTerminal():
		return printRows(ctx, c.Out, client, r, res)
	case r.Format == api.FormatANSI:
		_, err := fmt.Fprint(c.Out, res.Text)
		return err
	}
	return printScreen(c.Out, res.Text)
}

// printRows prints only the rows of a dump, because the dump's modes would stay
// set in a person's terminal.
func printRows(ctx context.Context, w io.Writer, client *client.Client, r api.PeekRequest, res api.PeekResult) error {
	r.Format = api.FormatJSON
	sized, err := client.Peek(ctx, r)
	if err != nil || sized.Screen == nil {
		return err
	}
	t, err := vt.New(vt.Options{Cols: sized.Screen.Cols, Rows: sized.Screen.Rows})
	if err != nil {
		return err
	}
	_, _ = t.Write([]byte(res.Text)) // never fails
	rows := string(t.AppendRows(nil, !r.Screen))
	if r.Lines > 0 {
		lines := strings.SplitAfter(rows, "\n")
		rows = strings.Join(lines[max(len(lines)-1-r.Lines, 0):], "")
	}
	_, err = fmt.Fprint(w, rows)
	return err
}

// printScreen prints the text of a screen without control characters; nothing if
// it is empty.
func printScreen(w io.Writer, text string) error {
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintln(w, display.Text(text))
	return err
}

// momentLayouts are the accepted forms of a time, in the order they are tried.
var momentLayouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02 15:04", "15:04:05", "15:04"}

// peekMoment parses --at into a request: a time, a duration since the start of the
// recording (or, with a minus, before now), or a number of bytes of output.
func peekMoment(r *api.PeekRequest, at string, now time.Time) error {
	if n, err := strconv.ParseUint(at, 10, 64); err == nil {
		r.AtOutput = &n
		return nil
	}
	if d, err := time.ParseDuration(at); err == nil {
		if strings.HasPrefix(at, "-") {
			r.At = now.Add(d)
		} else {
			r.Elapsed = &d
		}
		return nil
	}
	for _, layout := range momentLayouts {
		t, err := time.ParseInLocation(layout, at, now.Location())
		if err != nil {
			continue
		}
		if t.Year() == 0 { // a time of day
			t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location())
		}
		r.At = t
		return nil
	}
	return cli.Fail(cli.ExitUsage, "such as 14:03:22, 2026-01-31T14:03:22Z, 90s after the start, -30s from now, or bytes of output",
		"--at %q: not a time, duration or number", at)
}

// peekAt prints the screen of a recorded session at an earlier time.
func peekAt(ctx context.Context, a *app, t *target, r api.PeekRequest, at string) error {
	if err := peekMoment(&r, at, time.Now()); err != nil {
		return err
	}
	client, err := recordedClient(ctx, t, "peek --at")
	if err != nil {
		return err
	}
	return printPeek(ctx, &a.Console, client, r)
}
