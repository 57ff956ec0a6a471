package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/words"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux/attach"
)

type eventsOptions struct {
	agents []string
	kinds  []string
	since  string
	follow bool
	json   bool
	after  int64
	last   int

	from time.Time // since, resolved
}

// followLast is how many past events --follow shows by default.
const followLast = 10

func newEventsCmd(a *app) *cobra.Command {
	var o eventsOptions
	cmd := &cobra.Command{
		Use:               "events [AGENT...]",
		Short:             "Show the city's events, and follow them",
		ValidArgsFunction: a.city.completeEveryAgent,
		RunE: cli.Graceful(func(cmd *cobra.Command, args []string) error {
			o.agents = append(o.agents, args...)
			if o.follow && !cmd.Flags().Changed("after") && !cmd.Flags().Changed("last") {
				o.last = followLast
			}
			return runEvents(cmd.Context(), a, o)
		}),
	}
	f := cmd.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "keep printing new events until Ctrl-C or the end of the controller")
	f.BoolVar(&o.json, "json", false, "print one JSON object per line: seq, time, kind, agent, session, why, detail, exit, screen, by, receipt, turn, usage")
	f.StringSliceVar(&o.agents, "agent", nil, "print only events of this `AGENT`; may be repeated")
	f.StringSliceVar(&o.kinds, "kind", nil, "print only events of this `KIND`; may be repeated")
	f.StringVar(&o.since, "since", "", "print only events of the last `DURATION`, or since a time such as 2026-01-31T09:00:00Z")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(cityapi.EventKinds, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	f.Int64Var(&o.after, "after", 0, "print only events after this `SEQ`")
	f.IntVarP(&o.last, "last", "n", 0, "print only the last `N` past events (with --follow 10, unless --after is given)")
	return cli.Describe(cmd, `Shows the city's events, oldest first: starts, exits, crashes, drains, config changes,
deliveries, and what agents did and who did what to them. They are numbered without gaps
for the life of the city, and the last 50000 are kept: a reader that remembers the number
of the last event misses none. With names it shows only the events of those agents. It
works without a controller.

Kinds: controller, config-reloaded, config-rejected, pool, starting, started, adopted,
start-failed, warning, accepted (gc answered a start-up dialog), exited (as asked for),
crashed, quarantined, zombie, draining, drain-cancelled, stopping, relaunched, orphan,
foreign, nudge (with its receipt), wait, command, acp.turn, status (idle, working,
blocked, done, error), question (asked, or gone without a known answer), answered,
interrupted, mail (sent, told, done), outbox.

An event names who caused it, as far as the multiplexer can prove it by the process that
asked: agent NAME, session NAME, terminal pts/N, controller or multiplexer, otherwise
unknown. While the controller does not run, nothing is recorded.`, `
		gc events -n 20
		gc events --agent worker --since 1h --kind question,answered,nudge
		gc events --follow worker
		gc events --follow --json --after 1234 | jq -r 'select(.kind == "crashed").agent'`,
		cli.Statuses{cli.ExitNotFound: "no such agent, city or controller"})
}

func runEvents(ctx context.Context, a *app, o eventsOptions) error {
	switch {
	case o.after < 0:
		return cli.Fail(cli.ExitUsage, "", "--after %d is negative", o.after)
	case o.last < 0:
		return cli.Fail(cli.ExitUsage, "", "-n %d is negative", o.last)
	}
	if err := o.resolve(time.Now()); err != nil {
		return err
	}
	c, agents, err := a.city.controller(o.agents...)
	if errors.Is(err, cityapi.ErrNoController) && !o.follow {
		return pastEvents(a, agents, o, err)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	s := newEventStream(&a.Console, status.CityPath, agents, o)
	if o.last > 0 {
		err := s.past(func(each func(cityapi.Event) error) error { return c.Events(ctx, s.after, false, each) })
		if err != nil {
			return err
		}
	} else if !o.follow {
		return c.Events(ctx, s.after, false, s.print)
	}
	for o.follow {
		err := c.Events(ctx, s.after, true, s.print)
		switch {
		case ctx.Err() != nil:
			return followEnd(ctx)
		case s.ended:
			fmt.Fprintln(a.Err, "the controller has ended")
			return nil
		case s.failed != nil:
			return s.failed
		case err != nil:
			if _, gone := cityapi.Dial(status.CityPath); gone != nil {
				return gone
			}
			return err
		}
	}
	return nil
}

// resolve checks --kind and --since.
func (o *eventsOptions) resolve(now time.Time) error {
	for _, kind := range o.kinds {
		if !slices.Contains(cityapi.EventKinds, kind) {
			return cli.Fail(cli.ExitUsage, "valid values: "+strings.Join(cityapi.EventKinds, ", "), "unknown kind of event %q", kind)
		}
	}
	if o.since == "" {
		return nil
	}
	if d, err := time.ParseDuration(o.since); err == nil && d >= 0 {
		o.from = now.Add(-d)
		return nil
	}
	var err error
	if o.from, err = time.Parse(time.RFC3339, o.since); err != nil {
		return cli.Fail(cli.ExitUsage, "a duration such as 90m, or a time such as 2026-01-31T09:00:00Z", "--since %q is neither a duration nor a time", o.since)
	}
	return nil
}

// followEnd is the error of a following command whose context ended: nil for
// Ctrl-C.
func followEnd(ctx context.Context) error {
	err := context.Cause(ctx)
	var sig *attach.SignalError
	if errors.As(err, &sig) && sig.Signal == syscall.SIGINT {
		return nil
	}
	return err
}

// pastEvents shows the events on disk of a city without a controller; none is the
// error if there are none.
func pastEvents(a *app, agents []string, o eventsOptions, none error) error {
	dir, err := a.city.dir()
	if err != nil {
		return err
	}
	list, err := cityapi.PastEvents(dir, uint64(o.after))
	if err != nil {
		return err
	}
	if len(list) == 0 && o.after == 0 {
		return none
	}
	s := newEventStream(&a.Console, dir, agents, o)
	each := func(show func(cityapi.Event) error) error {
		for _, e := range list {
			if err := show(e); err != nil {
				return err
			}
		}
		return nil
	}
	if o.last > 0 {
		return s.past(each)
	}
	return each(s.print)
}

// eventStream prints events and remembers the last number.
type eventStream struct {
	out    *cli.Console
	o      eventsOptions
	agents []string
	pools  []*agent.Spec // among the agents
	after  uint64
	ended  bool  // the controller is ending
	failed error // of a write
}

func newEventStream(out *cli.Console, dir string, agents []string, o eventsOptions) *eventStream {
	return &eventStream{out: out, o: o, agents: agents, pools: poolsAmong(dir, agents), after: uint64(o.after)}
}

// poolsAmong returns the pools among names, if the config can be read.
func poolsAmong(dir string, names []string) []*agent.Spec {
	city, err := config.Load(dir)
	if err != nil || len(names) == 0 {
		return nil
	}
	specs, err := templates(city)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(specs, func(s *agent.Spec) bool { return !s.IsPool() || !slices.Contains(names, s.Name()) })
}

// past prints the last events that each passes to its callback.
func (s *eventStream) past(each func(func(cityapi.Event) error) error) error {
	var list []cityapi.Event
	err := each(func(e cityapi.Event) error {
		s.after = e.Seq
		if s.wanted(e) {
			list = append(list, e)
		}
		if len(list) > 2*s.o.last {
			list = slices.Clone(list[len(list)-s.o.last:])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range list[max(0, len(list)-s.o.last):] {
		if err := s.show(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *eventStream) wanted(e cityapi.Event) bool {
	if e.Time.Before(s.o.from) || len(s.o.kinds) > 0 && !slices.Contains(s.o.kinds, e.Kind) {
		return false
	}
	return len(s.agents) == 0 || slices.Contains(s.agents, e.Agent) ||
		slices.ContainsFunc(s.pools, func(pool *agent.Spec) bool { return pool.HasMember(e.Agent) })
}

func (s *eventStream) print(e cityapi.Event) error {
	s.after, s.ended = e.Seq, e.Kind == cityapi.EventController && e.Why == cityapi.WhyEnds
	if !s.wanted(e) {
		return nil
	}
	s.failed = s.show(e)
	return s.failed
}

func (s *eventStream) show(e cityapi.Event) error {
	if s.o.json {
		enc := json.NewEncoder(s.out.Out)
		enc.SetEscapeHTML(false)
		return enc.Encode(e)
	}
	at, now := e.Time.Local(), time.Now()
	format := time.DateTime
	if at.Year() == now.Year() && at.YearDay() == now.YearDay() {
		format = time.TimeOnly
	}
	line := fmt.Sprintf("%6d  %s  %s", e.Seq, at.Format(format), words.Event(e))
	_, err := fmt.Fprintln(s.out.Out, display.Cut(display.Line(line), s.out.Width()))
	return err
}
