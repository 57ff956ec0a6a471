package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

type sessionQueueOptions struct {
	name string
	all  bool
	drop []string
	json bool
}

func newSessionQueueCmd(a *app, s scope) *cobra.Command {
	var o sessionQueueOptions
	cmd := &cobra.Command{
		Use:               "queue [NAME]",
		Short:             "List or drop queued and undelivered messages",
		Args:              cli.Between(0, 1),
		ValidArgsFunction: s.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.name = args[0]
			}
			return runSessionQueue(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "also list delivered messages, while they are kept")
	f.StringArrayVar(&o.drop, "drop", nil, "drop the message with this `ID`; may be repeated")
	f.BoolVar(&o.json, "json", false, "print a JSON array")
	return cli.Describe(cmd, `Lists the multiplexer's queue in the order of delivery. A message is waiting (DETAIL
says why), leased (being delivered), delivered, or dead: its session ended, its ttl
expired, or it is unknown whether it was typed. Dead messages stay until they are
dropped. A message that is being typed cannot be dropped.`, `
		gc session queue build
		gc session queue --drop 7`, cli.Statuses{cli.ExitNotFound: "no such message", cli.ExitCannotTell: "", cli.ExitUnsupported: ""})
}

func runSessionQueue(ctx context.Context, a *app, o sessionQueueOptions) error {
	p, err := a.sessionProvider(ctx)
	if err != nil {
		return err
	}
	client, err := sessionClient(ctx, &target{label: o.name, session: o.name, provider: p}, "session queue")
	if errors.Is(err, runtime.ErrSessionNotFound) && len(o.drop) == 0 {
		return a.printQueue(nil, o.json) // no server: nothing waits
	}
	if err != nil {
		return err
	}
	items, err := client.Queue(ctx, o.name)
	if err != nil {
		return err
	}
	if len(o.drop) > 0 {
		return dropQueued(ctx, client, items, o.drop)
	}
	if !o.all {
		items = slices.DeleteFunc(items, func(it api.QueueItem) bool { return it.State == api.QueueDelivered })
	}
	return a.printQueue(items, o.json)
}

func dropQueued(ctx context.Context, c *client.Client, items []api.QueueItem, ids []string) error {
	for _, id := range ids {
		i := slices.IndexFunc(items, func(it api.QueueItem) bool { return shortID(it.ID) == shortID(id) })
		if i < 0 {
			return cli.Fail(cli.ExitNotFound, "gc session queue --all", "no message %s", id)
		}
		if err := c.Dequeue(ctx, items[i].ID); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printQueue(items []api.QueueItem, asJSON bool) error {
	if asJSON {
		return a.PrintJSON(slices.Concat([]api.QueueItem{}, items))
	}
	if len(items) == 0 {
		fmt.Fprintln(a.Err, "no messages")
		return nil
	}
	now := time.Now()
	t := a.Table(cli.Listing{})
	t.Add("ID", "SESSION", "STATE", "POLICY", "AGE", "TRIES", "DETAIL", "TEXT")
	for _, it := range items {
		t.Add(shortID(it.ID), it.Target, it.State, it.Policy, display.Ago(it.Created, now), strconv.Itoa(it.Tries), display.Cut(cmp.Or(it.Detail, "-"), 60), it.Text)
	}
	return t.Print(a.Out)
}

// deliverToSession carries out gc session nudge with --delivery wait-idle or
// queue.
func (a *app) deliverToSession(ctx context.Context, t *target, o nudgeOptions) error {
	if err := a.messageText(t, &o); err != nil {
		return err
	}
	client, err := sessionClient(ctx, t, "nudge --delivery "+o.delivery)
	if err != nil {
		return err
	}
	info, err := client.Get(ctx, t.session)
	if err != nil {
		return err
	}
	if info.State != api.StateRunning {
		return fmt.Errorf("%s: %w", t.label, runtime.ErrSessionNotFound)
	}
	it, err := client.Enqueue(ctx, api.QueueRequest{
		Target: info.Name, Session: info.ID, Text: o.text, Policy: api.PolicyWaitIdle, TTL: o.ttl, Raw: o.raw,
	})
	if err != nil || o.delivery == deliverQueue {
		return errors.Join(err, a.printWaiting(it, o.json))
	}
	fmt.Fprintf(a.Err, "queued as %s: waiting until %s is idle (Ctrl-C drops the message)\n", shortID(it.ID), display.Line(t.label))
	done, err := client.AwaitQueued(ctx, it.ID)
	if ctx.Err() != nil {
		if err := client.Dequeue(context.WithoutCancel(ctx), it.ID); err != nil {
			a.Warn("the message may still be delivered: %v", err)
		}
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	r := receiptOfQueued(done)
	if err := a.printReceipt(r, o.json); err != nil {
		return err
	}
	return receiptStatus(r)
}

// receiptOfQueued is the receipt of a queued message that is no longer waiting.
func receiptOfQueued(it api.QueueItem) runtime.Receipt {
	if it.Receipt == nil {
		return runtime.Receipt{State: runtime.Dead, Detail: it.Detail}
	}
	r := runtime.Receipt{State: runtime.State(it.Receipt.State), By: it.Receipt.By, Detail: it.Receipt.Detail, Changed: it.Receipt.Changed}
	if r.Detail == "" {
		r.Detail = it.Detail
	}
	return r
}

// printWaiting prints a message that was queued.
func (a *app) printWaiting(it api.QueueItem, asJSON bool) error {
	if it.ID == "" {
		return nil
	}
	if asJSON {
		return a.PrintJSON(it)
	}
	_, err := fmt.Fprintln(a.Out, "queued as "+shortID(it.ID))
	return err
}
