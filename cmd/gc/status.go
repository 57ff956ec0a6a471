package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
)

type statusOptions struct {
	listing
	json  bool
	watch bool
}

// watchInterval is how often --watch looks again.
const watchInterval = time.Second

func newStatusCmd(a *app) *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the agents: state, what they are doing, restarts, last line",
		Args:  exactly(0),
		RunE:  graceful(func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), a, o) }),
	}
	addListing(cmd, &o.listing, statusOrders.keys())
	cmd.Flags().BoolVar(&o.json, "json", false, "as JSON")
	cmd.Flags().BoolVar(&o.watch, "watch", false, "show it again every second, until Ctrl-C")
	return describe(cmd, `Shows every agent of the city. An agent is stopped, starting, running, draining,
exited (a one_shot that is done), crashed, quarantined (it died too often),
suspended, or unknown when the backend gives no answer. The status is what there
is evidence for: idle, working, blocked by a permission, a question …, else "-".
SINCE is how long the agent has been in its state; of a blocked one how long it has
been blocked, and its question stands in the place of the last line. -o wide shows
both times, how long it has been up and when it printed something last.
It works without a controller too, but then knows only what runs.`, `
		gc status
		gc status -o wide --sort state
		gc status --json | jq -r '.agents[] | select(.state != "running").name'`,
		statuses{exitNotFound: "no city here", exitCannotTell: ""})
}

func runStatus(ctx context.Context, a *app, o statusOptions) error {
	a.looksOnly = true
	if err := o.check(&o.json); err != nil {
		return err
	}
	if o.watch && o.json {
		return fail(exitUsage, "gc status --json gives one status", "--watch and --json exclude each other")
	}
	if o.watch && a.width() == 0 {
		return fail(exitUsage, "gc events --follow is for pipes and files", "--watch needs a terminal, and standard output is none")
	}
	if o.watch {
		return watchStatus(ctx, a, o.listing)
	}
	status, err := cityStatus(ctx, a)
	if err != nil {
		return err
	}
	if err := sorted(status.Agents, o.listing, statusOrders); err != nil {
		return err
	}
	if o.json {
		return a.printJSON(status)
	}
	a.warnUncertain(status)
	return a.printStatus(ctx, status, o.listing)
}

// warnUncertain says why the state of agents is only what was last seen, or not
// known, once for all of whom it holds.
func (a *app) warnUncertain(s cityapi.Status) {
	var reasons []string
	about := map[string][]string{}
	for _, ag := range s.Agents {
		if !uncertain(ag) {
			continue
		}
		if about[ag.Error] == nil {
			reasons = append(reasons, ag.Error)
		}
		about[ag.Error] = append(about[ag.Error], ag.Name)
	}
	for _, why := range reasons {
		a.warn("%s: %s", strings.Join(about[why], ", "), why)
	}
}

// watchStatus paints the status over the last one until ctx ends.
func watchStatus(ctx context.Context, a *app, l listing) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	var frame bytes.Buffer
	once := &app{stdio: stdio{in: a.in, out: &frame, err: &frame}, city: a.city, color: colorNever}
	if a.colours(a.out) {
		once.color = colorAlways
	}
	defer once.close()
	for {
		frame.Reset()
		once.cols = a.width()
		if err := runStatus(ctx, once, statusOptions{listing: l}); err != nil && ctx.Err() == nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		// ED and CUP, ECMA-48 8.3.39 and 8.3.21: home, then what is below goes.
		if _, err := fmt.Fprintf(a.out, "\x1b[H\x1b[J%s", a.fit(frame.String())); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// fit cuts text to the height of the terminal, so that its top stays in sight.
func (a *app) fit(text string) string {
	rows := a.height()
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	if rows < 3 || len(lines) < rows {
		return text
	}
	return strings.Join(lines[:rows-2], "") + fmt.Sprintf("… %d more\n", len(lines)-rows+2)
}

// cityStatus asks the controller, or the provider when none runs. The config is
// read only for the latter, so that a broken one hides nothing that runs.
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
	if err != nil {
		return cityapi.Status{}, fail(exitCannotTell, "gc start", "%v", err)
	}
	defer c.Close()
	status, err := c.Status(ctx)
	if err == nil {
		a.warnMoved(dir, status)
	}
	return status, err
}

// warnMoved says that the city's folder is another one than its controller knows.
func (a *app) warnMoved(dir string, s cityapi.Status) {
	if s.CityPath != realPath(dir) {
		a.warn("the city was moved here from %s while it ran: %s stop, then %s start", s.CityPath, program, program)
	}
}

// offlineStatus is what a provider knows of a city without a controller.
func (a *app) offlineStatus(ctx context.Context, city *config.City) (cityapi.Status, error) {
	status := cityapi.Status{City: city.Name(), CityPath: city.Dir, Agents: []cityapi.AgentStatus{}}
	c := selectedIn(city)
	status.SessionProvider = c.name
	p, err := a.newProvider(c, city.Dir)
	if err != nil {
		return status, err
	}
	_, err = os.Stat(cityapi.StateDir(city.Dir))
	started := !errors.Is(err, os.ErrNotExist) // else nothing that runs is this city's
	var running []string
	if started {
		running, _ = p.ListRunning(ctx, "") // a failure shows at each agent
	}
	specs, err := members(city, func(session string) bool { return slices.Contains(running, session) })
	if err != nil {
		return status, err
	}
	for _, s := range specs {
		if !started || anothers(ctx, p, s) {
			status.Agents = append(status.Agents, downAgent(s))
			continue
		}
		status.Agents = append(status.Agents, offlineAgent(ctx, p, s))
	}
	return status, nil
}

// anothers reports a session that bears another city's mark.
func anothers(ctx context.Context, p runtime.Provider, s *agent.Spec) bool {
	mark, err := p.GetMeta(ctx, s.Session, agent.MetaCityPath)
	return err == nil && mark != "" && mark != s.City.Dir && mark != config.MovedFrom(s.City.Dir)
}

// downAgent is an agent that has no session. Without the name of its session
// nobody takes another city's for it.
func downAgent(s *agent.Spec) cityapi.AgentStatus {
	ag := newAgentStatus(s)
	ag.Session = ""
	return ag
}

func newAgentStatus(s *agent.Spec) cityapi.AgentStatus {
	ag := cityapi.AgentStatus{
		Name: s.Name(), Session: s.Session, Provider: s.Resolved.Provider, Description: s.Resolved.Description,
		State: cityapi.StateStopped, Activity: runtime.ActivityUnknown, OneShot: s.Config.Lifecycle == runtime.OneShot,
	}
	if s.Resolved.Suspended {
		ag.State = cityapi.StateSuspended
	}
	return ag
}

func offlineAgent(ctx context.Context, p runtime.Provider, s *agent.Spec) cityapi.AgentStatus {
	ag := newAgentStatus(s)
	live, err := runtime.ObserveLiveness(ctx, p, s.Session, s.Config.ProcessNames)
	switch {
	case err != nil:
		ag.State, ag.Error = cityapi.StateUnknown, err.Error()
	case live == runtime.Alive:
		ag.State = cityapi.StateRunning
		if w, ok := runtime.As[runtime.ActivityProvider](p); ok {
			if doing, err := w.Activity(ctx, s.Session); err == nil {
				ag.Activity, doing.Sources, ag.ActivityInfo = doing.State, nil, &doing
			}
		}
	case live == runtime.Zombie:
		ag.State = cityapi.StateCrashed
	}
	if at, err := p.GetLastActivity(ctx, s.Session); err == nil && !at.IsZero() {
		ag.LastActivity = &at
	}
	ag.LastExit = lastExit(ctx, &target{session: s.Session, provider: p})
	return ag
}

// lastLinesTime bounds what last lines may cost a status.
const lastLinesTime = 2 * time.Second

// lastLines is the last line of each session's screen, as far as it can be had
// in time: one request for all that live in a mux.
func (a *app) lastLines(ctx context.Context, s cityapi.Status) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, lastLinesTime)
	defer cancel()
	last := map[string]string{}
	for _, ag := range s.Agents {
		if ag.LastLine != "" {
			last[ag.Session] = display.Line(ag.LastLine)
		}
	}
	p, err := a.newProvider(choice{s.SessionProvider, "the city"}, s.CityPath)
	if err != nil {
		return last
	}
	agents := slices.DeleteFunc(slices.Clone(s.Agents), func(ag cityapi.AgentStatus) bool {
		return ag.Session == "" || ag.Error == cityapi.ErrForeign.Error() // another city's screen
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
