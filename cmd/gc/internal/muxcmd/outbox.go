package muxcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux/api"
)

func newOutboxCmd(a *commands) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "outbox",
		Short: "List messages of sessions here to cities on other machines",
		Args:  cli.Exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runOutbox(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	cli.Describe(cmd, `A session whose city is on another machine leaves its messages here, on disk: gc nudge,
gc runtime drain-ack and others. The city takes them when its controller runs and reaches
this machine. Lists at most the first 256.`, `
		gc mux outbox
		gc mux outbox --host ssh://me@build.example --json`,
		cli.Statuses{cli.ExitNotFound: "no server is running", cli.ExitCannotTell: ""})
	a.AddTo(cmd, []cli.Entry{{Name: "drop", Make: func() *cobra.Command { return newOutboxDropCmd(a) }}})
	return cmd
}

func runOutbox(ctx context.Context, a *commands, asJSON bool) error {
	c, err := a.mux.Dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Outbox(ctx, "", 0, 0)
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Err, "no messages")
		return nil
	}
	now := time.Now()
	t := a.Table(cli.Listing{})
	t.Add("ID", "CITY", "AGE", "BY", "MESSAGE")
	for _, e := range list {
		by, text := summary(e)
		t.Add(e.ID, e.City, display.Ago(e.Created, now), by, text)
	}
	return t.Print(a.Out)
}

// summary is what a message says, and who.
func summary(e api.OutboxEntry) (by, text string) {
	m, err := cityapi.ParseMessage(e.Body)
	switch {
	case err != nil:
		return "-", "(" + err.Error() + ")"
	case m.Nudge != nil:
		return m.Agent, fmt.Sprintf("%s %s: %s", m.Kind, m.Nudge.Agent, m.Nudge.Text)
	case m.Wait != nil:
		return m.Agent, fmt.Sprintf("%s %s until %s, wake %s", m.Kind, m.Wait.Agent, m.Wait.Until, m.Wait.Wake)
	case m.Mail != nil:
		return m.Agent, strings.TrimSuffix(fmt.Sprintf("%s %s: %s", m.Kind, m.Mail.To, m.Mail.Subject), ": ")
	}
	return m.Agent, m.Kind
}

func newOutboxDropCmd(a *commands) *cobra.Command {
	var city string
	cmd := &cobra.Command{
		Use:   "drop ID...",
		Short: "Drop messages that no city will take",
		Args: func(cmd *cobra.Command, args []string) error {
			if city != "" {
				return cli.Exactly(0)(cmd, args)
			}
			return cli.Between(1, -1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runOutboxDrop(cmd.Context(), a, city, args) },
	}
	cmd.Flags().StringVar(&city, "of", "", "drop all messages for this `CITY`, as gc mux outbox writes it")
	return cli.Describe(cmd, `Removes messages, for example of a city that no longer exists. They are lost.`, `
		gc mux outbox drop 4KQ2ZC
		gc mux outbox drop --of /home/me/town@0123abcd`,
		cli.Statuses{cli.ExitNotFound: "no such message, or no server is running", cli.ExitCannotTell: ""})
}

// runOutboxDrop drops messages by the beginnings of their ids, or all those of a city.
func runOutboxDrop(ctx context.Context, a *commands, city string, ids []string) error {
	c, err := a.mux.Dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	for dropped := 0; ; {
		list, err := c.Outbox(ctx, city, 0, 0)
		if err != nil {
			return err
		}
		drop := list
		if city == "" {
			if drop, err = named(list, ids); err != nil {
				return err
			}
		}
		for _, e := range drop {
			if err := c.TakeFromOutbox(ctx, e.City, e.ID); err != nil {
				return err
			}
			dropped++
		}
		if city == "" || len(list) == 0 {
			_, err = fmt.Fprintf(a.Err, "%d dropped\n", dropped)
			return err
		}
	}
}

// named are the messages whose ids begin with the given texts, one for each.
func named(list []api.OutboxEntry, ids []string) (found []api.OutboxEntry, err error) {
	for _, id := range ids {
		var matches []api.OutboxEntry
		for _, e := range list {
			if strings.HasPrefix(e.ID, id) {
				matches = append(matches, e)
			}
		}
		switch len(matches) {
		case 0:
			return nil, cli.Fail(cli.ExitNotFound, "gc mux outbox", "no message %s", id)
		case 1:
			found = append(found, matches[0])
		default:
			return nil, cli.Fail(cli.ExitUsage, "write more of the id", "%d messages begin with %s", len(matches), id)
		}
	}
	return found, nil
}
