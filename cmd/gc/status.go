package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/report"
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
		cli.Statuses{cli.ExitNotFound: "no city here", cli.ExitCannotTell: "", cli.ExitUnsupported: "the session's city is on another machine and not connected to this one"})
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
	report.Uncertain(&a.Console, status)
	return a.printStatus(ctx, status, o.Listing)
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
		if _, err := fmt.Fprintf(a.Out, "\x1b[H\x1b[J%s", fit(frame.String(), a.Height())); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// fit cuts text to the rows of the terminal, so that its top stays visible.
func fit(text string, rows int) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if rows < 3 || len(lines) < rows {
		return text
	}
	return strings.Join(lines[:rows-2], "") + fmt.Sprintf("… %d more\n", len(lines)-rows+2)
}

// cityStatus asks the controller, or the provider if no controller runs. It reads
// the config only in the second case, so a broken one does not hide running agents. In a
// session on another machine it asks the controller by the multiplexer there.
func cityStatus(ctx context.Context, a *app) (cityapi.Status, error) {
	dir, err := a.city.dir()
	if errors.Is(err, cityapi.ErrAway) {
		return a.city.far().Client(os.Getenv).Status(ctx)
	}
	if err != nil {
		return cityapi.Status{}, err
	}
	c, err := cityapi.Dial(dir)
	if errors.Is(err, cityapi.ErrNoController) {
		city, err := config.Load(dir)
		if err != nil {
			return cityapi.Status{}, err
		}
		return offlineStatus(ctx, a.providers, city)
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
		report.Moved(&a.Console, dir, status)
	}
	return status, err
}

// runningAgents are the names of the agents that are running.
func runningAgents(ctx context.Context, a *app) ([]string, error) {
	status, err := cityStatus(ctx, a)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, ag := range status.Agents {
		if ag.State == cityapi.StateRunning {
			names = append(names, ag.Name)
		}
	}
	return names, nil
}

// offlineStatus is the status of a city without a controller, from its provider.
func offlineStatus(ctx context.Context, providers *backend.Set, city *config.City) (cityapi.Status, error) {
	c := backend.SelectedIn(city)
	p, err := providers.New(c, city.Dir)
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

// lastLines is the last line of each session's screen, if it can be read in time, or without
// providers if the controller has read it. Sessions in a mux take one request.
func lastLines(ctx context.Context, providers *backend.Set, s cityapi.Status) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, lastLinesTime)
	defer cancel()
	last := map[string]string{}
	for _, ag := range s.Agents {
		if ag.LastLine != "" {
			last[ag.Session] = display.Line(ag.LastLine)
		}
	}
	if providers == nil {
		return last
	}
	p, err := providers.New(backend.Choice{Name: s.SessionProvider, Origin: "the city"}, s.CityPath)
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

// printStatus prints the city and its agents.
func (a *app) printStatus(ctx context.Context, s cityapi.Status, l cli.Listing) error {
	report.City(&a.Console, s)
	var providers *backend.Set
	if far := a.city.far(); !far.Far() || far.Here() {
		providers = a.providers // else its sessions cannot be reached from here
	}
	return report.Agents(&a.Console, s, lastLines(ctx, providers, s), l)
}
