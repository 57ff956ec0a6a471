// Package mailcmd is gc mail: letters between the agents of a city.
//
// It parses and prints; the city's controller keeps the letters. cmd/gc adds [New] to the
// command tree.
package mailcmd

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/mail"
)

// City is the city that a command is about.
type City interface {
	// Dir returns its directory.
	Dir() (string, error)
	// Post connects to its controller, and adds to a query which session asks.
	Post(q cityapi.MailQuery) (*cityapi.Client, cityapi.MailQuery, error)
	// Away reports whether it is on another machine than the session of the command.
	Away() bool
	// SayAway puts a message to it into the outbox of this machine and prints the receipt.
	SayAway(ctx context.Context, m cityapi.Message, asJSON bool) error
	// CompleteAgents completes the names of its agents.
	CompleteAgents(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective)
}

// commands is what the commands share.
type commands struct {
	*cli.Console
	city City
}

// New returns gc mail.
func New(c *cli.Console, city City) *cobra.Command {
	a := &commands{c, city}
	return a.Group("mail", "Send mail between agents",
		`Letters stay in the city until they are marked as done; they survive restarts of agents
and of the controller. An agent with new mail gets one notice, a line that is typed when
the agent is idle (mail = "now", "idle" or "never" in city.toml, for an agent, in
[agent_defaults] or [workspace]); an agent that is down gets it after its start. The
session that sent a letter proves its sender; the text proves nothing.

Inside a session the commands are about its agent's mail.`, `
		gc mail send reviewer 'please look at branch fix-7' --subject review
		gc mail read
		gc mail ack 12`,
		[]cli.Entry{
			{Name: "send", Make: func() *cobra.Command { return newSendCmd(a) }},
			{Name: "list", Make: func() *cobra.Command { return newListCmd(a) }},
			{Name: "read", Make: func() *cobra.Command { return newReadCmd(a) }},
			{Name: "ack", Make: func() *cobra.Command { return newAckCmd(a) }},
		})
}

type sendOptions struct {
	to, subject, id, text string
	stdin, json           bool
}

func newSendCmd(a *commands) *cobra.Command {
	var o sendOptions
	cmd := &cobra.Command{
		Use:               "send AGENT|POOL|RIG [TEXT|-]",
		Short:             "Send a letter",
		Args:              cli.Between(1, 2),
		ValidArgsFunction: a.city.CompleteAgents,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.text, o.stdin, err = a.Message(cmd, args[1:]); err != nil {
				return err
			}
			o.to = args[0]
			return runSend(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.subject, "subject", "s", "", "the `SUBJECT`, one line")
	f.StringVar(&o.id, "id", "", "an `ID` of your own: sent again with the same one, it is the same letter (default: a random one)")
	f.BoolVar(&o.json, "json", false, "print the letter as JSON")
	return cli.Describe(cmd, `Returns when the letter is on disk, and prints its number. A letter to a pool reaches
every member; the first that marks it as done settles it for all. A letter to a rig
reaches every agent of the rig, each for itself. The text has at most 1 MiB.`, `
		gc mail send reviewer 'please look at branch fix-7'
		git diff | gc mail send worker - --subject 'the diff'`,
		cli.Statuses{cli.ExitUsage: "wrong usage, or a bad letter", cli.ExitNotFound: "no such agent, pool, rig, city or controller"})
}

func runSend(ctx context.Context, a *commands, o sendOptions) error {
	if o.stdin {
		text, err := a.ReadMessage()
		if err != nil {
			return err
		}
		o.text = text
	}
	r := cityapi.MailRequest{ID: cmp.Or(o.id, rand.Text()), To: o.to, Subject: o.subject, Text: strings.ToValidUTF8(o.text, "\uFFFD")}
	if err := mail.Check(r.ID, r.Subject, r.Text); err != nil {
		return cli.Fail(cli.ExitUsage, "", "%v", err)
	}
	if a.city.Away() {
		return a.city.SayAway(ctx, cityapi.Message{Kind: cityapi.MessageMail, Mail: &r}, o.json)
	}
	dir, err := a.city.Dir()
	if err != nil {
		return err
	}
	r.InsideRequest = cityapi.SelfIn(dir, os.Getenv)
	l, err := cityapi.PostMail(ctx, dir, r)
	if err != nil {
		return err
	}
	if o.json {
		return a.PrintJSON(l)
	}
	_, err = fmt.Fprintf(a.Out, "letter %s to %s\n", mail.ShortID(l.ID), display.Line(l.To.Name))
	return err
}

// notConnected explains an exit status of a session on another machine.
const notConnected = "the session's city is on another machine and not connected to this one"

type listOptions struct {
	agent             string
	all, unread, json bool
}

func newListCmd(a *commands) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:               "list [AGENT]",
		Short:             "List letters",
		Args:              cli.Between(0, 1),
		ValidArgsFunction: a.city.CompleteAgents,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.agent = args[0]
			}
			return runList(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "also list letters that are done")
	f.BoolVar(&o.unread, "unread", false, "list only unread letters")
	f.BoolVar(&o.json, "json", false, "print a JSON array")
	return cli.Describe(cmd, `Lists the letters to an agent, its pool and its rig that are not done, oldest first.
Without a name: those of the session's agent, or outside sessions those of the whole
city. Listing does not mark a letter as read.`, `
		gc mail list
		gc mail list worker --unread --json`, cli.Statuses{cli.ExitNotFound: "no such agent, city or controller", cli.ExitUnsupported: notConnected})
}

func runList(ctx context.Context, a *commands, o listOptions) error {
	c, q, err := a.city.Post(cityapi.MailQuery{Of: o.agent, All: o.all, Unread: o.unread})
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Mail(ctx, q)
	if err != nil {
		return err
	}
	if o.json {
		return a.PrintJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Err, "no mail")
		return nil
	}
	now := time.Now()
	t := a.Table(cli.Listing{})
	t.Add("ID", "STATE", "AGE", "FROM", "TO", "BYTES", "SUBJECT")
	for _, l := range list {
		t.Add(mail.ShortID(l.ID), stateOf(l), display.Ago(l.Sent, now), l.From, l.To.Name, fmt.Sprint(l.Size), cmp.Or(l.Subject, "-"))
	}
	return t.Print(a.Out)
}

func stateOf(l cityapi.Mail) string {
	switch {
	case l.Done:
		return "done"
	case l.Unread:
		return "new"
	case len(l.Marks) > 0:
		return "read"
	}
	return "sent"
}

func newReadCmd(a *commands) *cobra.Command {
	var agent string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "read [ID...]",
		Short: "Print letters, by default the unread ones, and mark them as read",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRead(cmd.Context(), a, cityapi.MailQuery{Of: agent, IDs: args}, asJSON)
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "outside sessions: the letters of this `AGENT`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: letters with their texts, more")
	return cli.Describe(cmd, `Prints letters oldest first, up to 1 MiB of text; the rest stays unread. Each begins with
a line of gc's own, and its text is indented, without control characters. Only an agent
marks its letters as read: outside sessions nothing changes.`, `
		gc mail read
		gc mail read 12 13
		gc mail read --agent worker`, cli.Statuses{cli.ExitNotFound: "no such letter, agent, city or controller", cli.ExitUnsupported: notConnected})
}

func runRead(ctx context.Context, a *commands, q cityapi.MailQuery, asJSON bool) error {
	c, q, err := a.city.Post(q)
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := c.ReadMail(ctx, q)
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(r)
	}
	for _, l := range r.Letters {
		if err := printLetter(a, l); err != nil {
			return err
		}
	}
	switch {
	case r.More > 0:
		fmt.Fprintf(a.Err, "%s more: gc mail read\n", display.Count(r.More, "letter"))
	case len(r.Letters) == 0:
		fmt.Fprintln(a.Err, "no unread mail")
	}
	return nil
}

// printLetter prints a letter so that its text cannot pass for another letter.
func printLetter(a *commands, l cityapi.Mail) error {
	head := fmt.Sprintf("letter %s from %s to %s %s, %s", mail.ShortID(l.ID), l.From, l.To.Kind, l.To.Name, l.Sent.Local().Format(time.DateTime))
	if l.Subject != "" {
		head += fmt.Sprintf(", subject: %s", l.Subject)
	}
	text := strings.ReplaceAll(display.Text(strings.TrimRight(l.Text, "\n")), "\n", "\n    ")
	_, err := fmt.Fprintf(a.Out, "%s\n    %s\n", display.Line(head), text)
	return err
}

func newAckCmd(a *commands) *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use:   "ack ID...",
		Short: "Mark letters as done",
		Args:  cli.Between(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, q, err := a.city.Post(cityapi.MailQuery{Of: agent, IDs: args})
			if err != nil {
				return err
			}
			defer c.Close()
			err = c.AckMail(cmd.Context(), q)
			if agent == "" && errors.Is(err, cityapi.ErrAway) { // it need not be asked
				return a.city.SayAway(cmd.Context(), cityapi.Message{Kind: cityapi.MessageMailAck, Ack: args}, false)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "outside sessions: on behalf of this `AGENT`")
	return cli.Describe(cmd, `Letters that are done are no longer listed, except with --all. When the city's mail is
full (20000 letters or 256 MiB), the oldest of them are removed.`, `
		gc mail ack 12 13
		gc mail ack 12 --agent worker`, cli.Statuses{cli.ExitNotFound: "no such letter, agent, city or controller"})
}
