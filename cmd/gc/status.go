package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/words"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/outside"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
)

type statusOptions struct {
	cli.Listing
	json  bool
	watch bool
}

// watchInterval is how often --watch refreshes.
const watchInterval = time.Second

func newStatusCmd(a *app) *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state, activity, restarts and last line of every agent",
		Args:  cli.Exactly(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			act := func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), a, o) }
			if o.watch {
				act = cli.Graceful(act)
			}
			return act(cmd, args)
		},
	}
	cli.AddListing(cmd, &o.Listing, statusOrders.Keys())
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&o.watch, "watch", false, "refresh every second until Ctrl-C")
	return cli.Describe(cmd, `Shows every agent of the city. STATE is stopped, starting, running, draining, exited (a
one_shot that has finished), crashed, quarantined (it died too often), suspended, or
unknown if the backend does not answer. STATUS is what the agent is doing: idle,
working, done, error or blocked, with the kind of question; "-" without evidence.
SINCE is how long the agent has been in its state. For a blocked agent it is how long
it has been blocked, and LAST LINE shows the question. -o wide adds the uptime and the
age of the last output. Without a controller only running agents are known.`, `
		gc status
		gc status -o wide --sort state
		gc status --json | jq -r '.agents[] | select(.state != "running").name'`,
		cli.Statuses{cli.ExitNotFound: "no city here", cli.ExitCannotTell: ""})
}

func runStatus(ctx context.Context, a *app, o statusOptions) error {
	a.providers.LooksOnly = true
	if err := o.Check(&o.json); err != nil {
		return err
	}
	if o.watch && o.json {
		return cli.Fail(cli.ExitUsage, "gc status --json prints one status", "cannot use --watch with --json")
	}
	if o.watch && a.Width() == 0 {
		return cli.Fail(cli.ExitUsage, "gc events --follow works without one", "--watch requires a terminal on standard output")
	}
	if o.watch {
		return watchStatus(ctx, a, o.Listing)
	}
	status, err := cityStatus(ctx, a)
	if err != nil {
		return err
	}
	if err := cli.Sort(status.Agents, o.Listing, statusOrders); err != nil {
		return err
	}
	if o.json {
		return a.PrintJSON(status)
	}
	a.warnUncertain(status)
	return a.printStatus(ctx, status, o.Listing)
}

// warnUncertain says why the states of agents are uncertain, one line per reason.
func (a *app) warnUncertain(s cityapi.Status) {
	var reasons []string
	about := map[string][]string{}
	for _, ag := range s.Agents {
		if !words.Uncertain(ag) {
			continue
		}
		if about[ag.Error] == nil {
			reasons = append(reasons, ag.Error)
		}
		about[ag.Error] = append(about[ag.Error], ag.Name)
	}
	for _, why := range reasons {
		a.Warn("%s: %s", strings.Join(about[why], ", "), why)
	}
}

// watchStatus repaints the status until ctx ends.
func watchStatus(ctx context.Context, a *app, l cli.Listing) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	var frame bytes.Buffer
	once := a.on(cli.Streams{In: a.In, Out: &frame, Err: &frame})
	once.Color = cli.ColorNever
	if a.Colours(a.Out) {
		once.Color = cli.ColorAlways
	}
	defer once.providers.Close()
	for {
		frame.Reset()
		once.Cols = a.Width()
		if err := runStatus(ctx, once, statusOptions{Listing: l}); err != nil && ctx.Err() == nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		// CUP and ED, ECMA-48 8.3.21 and 8.3.39: go home, erase the rest.
		if _, err := fmt.Fprintf(a.Out, "\x1b[H\x1b[J%s", a.fit(frame.String())); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// fit cuts text to the height of the terminal, so that its top stays visible.
func (a *app) fit(text string) string {
	rows := a.Height()
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if rows < 3 || len(lines) < rows {
		return text
	}
	return strings.Join(lines[:rows-2], "") + fmt.Sprintf("… %d more\n", len(lines)-rows+2)
}

// cityStatus asks the controller, or the provider if no controller runs. It reads
// the config only in the second case, so a broken one does not hide running agents.
func cityStatus(ctx context.Context, a *app) (cityapi.Status, error) {
	dir, err := a.cityDir()
	if err != nil {
		return cityapi.Status{}, err
	}
	c, err := cityapi.Dial(dir)
	if errors.Is(err, cityapi.ErrNoController) {
		city, err := config.Load(dir)
		if err != nil {
			return cityapi.Status{}, err
		}
		return a.offlineStatus(ctx, city)
	}
	if errors.Is(err, cityapi.ErrAnotherUser) {
		return cityapi.Status{}, err
	}
	if err != nil {
		return cityapi.Status{}, cli.Fail(cli.ExitCannotTell, "gc start", "%v", err)
	}
	defer c.Close()
	status, err := c.Status(ctx)
	if err == nil {
		a.warnMoved(dir, status)
	}
	return status, err
}

// warnMoved warns if the city was moved while its controller was running.
func (a *app) warnMoved(dir string, s cityapi.Status) {
	if s.CityPath != cli.RealPath(dir) {
		a.Warn("the city was moved here from %s while it was running: run %s stop, then %s start", s.CityPath, cli.Program, cli.Program)
	}
}

// offlineStatus is the status of a city without a controller, from its provider.
func (a *app) offlineStatus(ctx context.Context, city *config.City) (cityapi.Status, error) {
	c := backend.SelectedIn(city)
	p, err := a.providers.New(c, city.Dir)
	if err != nil {
		return cityapi.Status{}, err
	}
	build, err := buildOptions()
	if err != nil {
		return cityapi.Status{}, err
	}
	return outside.Status(ctx, city, p, c.Name, build)
}

// lastLinesTime limits the time for reading last lines.
const lastLinesTime = 2 * time.Second

// lastLines is the last line of each session's screen, if it can be read in time.
// Sessions in a mux take one request.
func (a *app) lastLines(ctx context.Context, s cityapi.Status) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, lastLinesTime)
	defer cancel()
	last := map[string]string{}
	for _, ag := range s.Agents {
		if ag.LastLine != "" {
			last[ag.Session] = display.Line(ag.LastLine)
		}
	}
	p, err := a.providers.New(backend.Choice{Name: s.SessionProvider, Origin: "the city"}, s.CityPath)
	if err != nil {
		return last
	}
	agents := slices.DeleteFunc(slices.Clone(s.Agents), func(ag cityapi.AgentStatus) bool {
		return ag.Session == "" || ag.Error == cityapi.ErrForeign.Error() // the screen is another city's
	})
	if !hasMux(p) {
		for _, ag := range agents {
			if last[ag.Session] != "" {
				continue
			}
			if text, err := p.Peek(ctx, ag.Session, 1); err == nil {
				last[ag.Session] = lastLine(text)
			}
		}
		return last
	}
	var requests []api.PeekRequest
	for _, ag := range agents {
		requests = append(requests, api.PeekRequest{Name: ag.Session, Screen: true})
	}
	client, err := muxClient(ctx, p, "peek")
	if err != nil || len(requests) == 0 {
		return last
	}
	screens, err := client.PeekMany(ctx, requests)
	if err != nil {
		return last
	}
	for i, screen := range screens {
		if i < len(requests) {
			last[requests[i].Name] = lastLine(screen.Text)
		}
	}
	return last
}

func lastLine(text string) string {
	return strings.TrimSpace(runtime.LastLines(text, 1))
}

// statusOrders are the keys of gc status --sort.
var statusOrders = cli.Orders[cityapi.AgentStatus]{
	"name":     func(a, b cityapi.AgentStatus) int { return strings.Compare(a.Name, b.Name) },
	"state":    func(a, b cityapi.AgentStatus) int { return cmp.Compare(words.Urgency(a), words.Urgency(b)) },
	"restarts": func(a, b cityapi.AgentStatus) int { return cmp.Compare(b.Restarts, a.Restarts) },
	"since":    func(a, b cityapi.AgentStatus) int { return words.Since(b).Compare(words.Since(a)) },
}

// printStatus prints the status as a table.
func (a *app) printStatus(ctx context.Context, s cityapi.Status, l cli.Listing) error {
	a.sayCity(s)
	last := a.lastLines(ctx, s)
	now := time.Now()
	t := a.Table(l)
	header := []string{"AGENT", "STATE", "SINCE", "STATUS", "RESTARTS", "LAST LINE"}
	if l.Wide() {
		header = []string{"AGENT", "STATE", "SINCE", "STATUS", "STATUS SINCE", "UP", "OUTPUT", "RESTARTS", "SESSION", "PROVIDER", "PERMISSIONS", "LAST LINE"}
	}
	t.Add(header...)
	for _, ag := range s.Agents {
		line, restarts := cmp.Or(words.Question(ag), last[ag.Session]), strconv.Itoa(ag.Restarts)
		if l.Wide() {
			t.Add(ag.Name, words.State(ag), words.Ago(ag.Since, now), words.Activity(ag), display.Ago(words.ActivitySince(ag), now), words.Up(ag, now), words.Ago(ag.LastActivity, now),
				restarts, cmp.Or(ag.Session, "-"), cmp.Or(ag.Provider, "-"), cmp.Or(ag.Permissions, "-"), line)
		} else {
			t.Add(ag.Name, words.State(ag), display.Ago(words.Since(ag), now), words.Activity(ag), restarts, line)
		}
		t.Paint(1, words.StateColour(ag))
		t.Paint(3, words.ActivityColour(ag))
	}
	return t.Print(a.Out)
}

// sayCity prints facts about the whole city.
func (a *app) sayCity(s cityapi.Status) {
	if s.Controller.PID != 0 {
		fmt.Fprintf(a.Err, "city %s: controller pid %d, up %s\n", display.Line(s.City), s.Controller.PID, words.Ago(s.Controller.Since, time.Now()))
	} else {
		fmt.Fprintf(a.Err, "city %s: no controller (%s start)\n", display.Line(s.City), cli.Program)
	}
	if s.Suspended {
		fmt.Fprintf(a.Err, "the city is suspended; %s resume starts it again\n", cli.Program)
	}
	if s.ConfigError != "" {
		a.Warn("using the old config: %s", s.ConfigError)
	}
	if s.StoreError != "" {
		a.Warn("cannot save the city's records: %s", s.StoreError)
	}
	for _, p := range s.Pools {
		if p.Error != "" {
			a.Warn("pool %s: check failed: %s; keeping the minimum of %d", p.Name, p.Error, p.Min)
		}
	}
}
