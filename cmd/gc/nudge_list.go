package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/session"
)

type nudgeListOptions struct {
	agents []string
	all    bool
	json   bool
}

func newNudgeListCmd(a *app) *cobra.Command {
	var o nudgeListOptions
	cmd := &cobra.Command{
		Use:               "list [AGENT...]",
		Short:             "List queued and undelivered messages",
		ValidArgsFunction: a.city.completeEveryAgent,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.agents = args
			return runNudgeList(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "also list delivered messages, while they are kept")
	f.BoolVar(&o.json, "json", false, "print a JSON array")
	return cli.Describe(cmd, `Lists the city's queue in the order of delivery. A message is queued (DETAIL says why it
waits), delivering, delivered, or dead: its session ended, its ttl expired, or it is
unknown whether it was typed. Dead messages stay until gc nudge drop removes them.`, `
		gc nudge list
		gc nudge list worker --all --json`, cli.Statuses{cli.ExitNotFound: "no such agent, city or controller"})
}

func runNudgeList(ctx context.Context, a *app, o nudgeListOptions) error {
	c, names, err := a.city.controller(o.agents...)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := c.Nudges(ctx)
	if err != nil {
		return err
	}
	list := []session.Nudge{}
	for _, n := range all {
		if (o.all || n.State != session.NudgeDelivered) && (len(names) == 0 || slices.Contains(names, n.Agent)) {
			list = append(list, n)
		}
	}
	if o.json {
		return a.PrintJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Err, "no messages")
		return nil
	}
	now := time.Now()
	t := a.Table(cli.Listing{})
	t.Add("ID", "AGENT", "STATE", "AGE", "TRIES", "DETAIL", "TEXT")
	for _, n := range list {
		t.Add(shortID(n.ID), n.Agent, string(n.State), display.Ago(n.Created, now), strconv.Itoa(n.Tries), display.Cut(cmp.Or(n.Detail, "-"), 50), n.Text)
	}
	return t.Print(a.Out)
}

func newNudgeDropCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drop ID...",
		Short: "Drop messages from the queue",
		Args:  cli.Between(1, -1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return cli.Without(cli.WithPrefix(a.nudgeIDs(cmd.Context()), prefix), args), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runNudgeDrop(cmd.Context(), a, args) },
	}
	return cli.Describe(cmd, "Removes waiting or dead messages from the queue. A message that is being typed cannot\nbe dropped.",
		"gc nudge drop 7", cli.Statuses{cli.ExitNotFound: "no such message, city or controller"})
}

// nudgeIDs completes the ids of messages.
func (a *app) nudgeIDs(ctx context.Context) []string {
	c, _, err := a.city.controller()
	if err != nil {
		return nil
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, cli.CompleteLimit)
	defer cancel()
	list, err := c.Nudges(ctx)
	if err != nil {
		return nil
	}
	var ids []string
	for _, n := range list {
		ids = append(ids, shortID(n.ID))
	}
	return ids
}

func runNudgeDrop(ctx context.Context, a *app, ids []string) error {
	c, _, err := a.city.controller()
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Nudges(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		i := slices.IndexFunc(list, func(n session.Nudge) bool { return shortID(n.ID) == shortID(id) })
		if i < 0 {
			return cli.Fail(cli.ExitNotFound, "gc nudge list --all", "no message %s", id)
		}
		if err := c.DropNudge(ctx, list[i].ID); err != nil {
			return err
		}
	}
	return nil
}
