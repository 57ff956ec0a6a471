// Package attentioncmd is gc attention: what of a city needs somebody.
//
// It prints; internal/attention decides, in the controller. cmd/gc adds [New] to the
// command tree.
package attentioncmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	cityapi "gascity.dev/gc/internal/controller/api"
)

// City is the city that the command is about.
type City interface {
	// Attention returns what needs somebody, oldest first.
	Attention(ctx context.Context) ([]cityapi.Attention, error)
	// Watch calls changed after events of the city, until ctx ends or changed fails. It
	// needs a controller.
	Watch(ctx context.Context, changed func() error) error
}

type command struct {
	*cli.Console
	city City

	json, watch bool
	shown       map[string]bool // IDs, of a watch without a terminal
}

// New returns gc attention.
func New(c *cli.Console, city City) *cobra.Command {
	a := &command{Console: c, city: city, shown: map[string]bool{}}
	cmd := &cobra.Command{
		Use:   "attention",
		Short: "List who needs somebody, oldest first",
		Args:  cli.Exactly(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			act := func(cmd *cobra.Command, _ []string) error { return a.run(cmd.Context()) }
			if a.watch {
				act = cli.Graceful(act)
			}
			return act(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON: an array; with --watch an object a line, when it is new")
	cmd.Flags().BoolVar(&a.watch, "watch", false, "show changes as they happen, until Ctrl-C")
	return cli.Describe(cmd, `Lists what of the city needs somebody: a question, a login, a limit of the provider, an
agent that is stuck, reports an error, is crashed or quarantined, cannot be started or
does not answer, a message that was given up (also one about an ended
background command), and work that is done and that nobody has
looked at. NEXT is the command that deals with it.

[notify] in city.toml runs a command for each of them, once: it reads them as JSON.`, `
		gc attention
		gc attention --watch
		gc attention --json | jq -r '.[] | select(.kind == "question").agent'`,
		cli.Statuses{cli.ExitNotFound: "no city here, or no controller for --watch", cli.ExitCannotTell: ""})
}

func (a *command) run(ctx context.Context) error {
	if !a.watch {
		list, err := a.city.Attention(ctx)
		if err != nil {
			return err
		}
		if a.json {
			return a.PrintJSON(list)
		}
		if len(list) == 0 {
			_, err := fmt.Fprintln(a.Err, nobody)
			return err
		}
		return a.table(a.Out, list)
	}
	return a.city.Watch(ctx, func() error {
		list, err := a.city.Attention(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case a.json || a.Width() == 0:
			return a.fresh(list)
		}
		return a.repaint(list)
	})
}

// nobody is the list without anything.
const nobody = "nothing needs anybody"

// repaint shows the list in place of the last one.
func (a *command) repaint(list []cityapi.Attention) error {
	var b bytes.Buffer
	b.WriteString("\x1b[H\x1b[J") // CUP and ED, ECMA-48 8.3.21 and 8.3.39: go home, erase the rest
	if len(list) == 0 {
		fmt.Fprintln(&b, nobody)
	} else if err := a.table(&b, list); err != nil {
		return err
	}
	text := b.String()
	if rows := a.Height(); rows > 2 {
		if lines := strings.SplitAfter(text, "\n"); len(lines) > rows {
			text = strings.Join(lines[:rows-2], "") + fmt.Sprintf("… %d more\n", len(lines)-1-(rows-2))
		}
	}
	_, err := io.WriteString(a.Out, text)
	return err
}

// fresh prints what was not there at the last call, a line each.
func (a *command) fresh(list []cityapi.Attention) error {
	now := map[string]bool{}
	for _, it := range list {
		if now[it.ID] = true; a.shown[it.ID] {
			continue
		}
		line := []byte(strings.Join(row(it, time.Now()), "\t"))
		if a.json {
			var err error
			if line, err = json.Marshal(it); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(a.Out, "%s\n", line); err != nil {
			return err
		}
	}
	a.shown = now
	return nil
}

func (a *command) table(w io.Writer, list []cityapi.Attention) error {
	t := a.Table(cli.Listing{})
	t.Add("SINCE", "AGENT", "KIND", "NEXT", "TEXT")
	for _, it := range list {
		t.Add(row(it, time.Now())...)
	}
	return t.Print(w)
}

func row(it cityapi.Attention, now time.Time) []string {
	text := it.Text
	if len(it.Options) > 0 {
		text += " (" + strings.Join(it.Options, " | ") + ")"
	}
	return []string{display.Ago(it.Since, now), display.Line(it.Agent), it.Kind, display.Line(it.Hint), display.Line(text)}
}
