package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/follow"
	"gascity.dev/gc/cmd/gc/internal/words"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

// runHere runs the controller in this process.
func (a *app) runHere(ctx context.Context, opts controller.Options, o startOptions) error {
	var last cityapi.Status
	opts.Once = o.once
	opts.Ready = func(s cityapi.Status) { last = s }
	if o.foreground {
		return a.runForeground(ctx, opts, o)
	}
	if err := controller.Run(ctx, opts); err != nil {
		return err
	}
	return a.showStarted(ctx, last)
}

// runForeground runs the city until it is stopped or --until is reached.
func (a *app) runForeground(ctx context.Context, opts controller.Options, o startOptions) error {
	result := runResult{}
	opts.Until, opts.Timeout, opts.StopOnCancel = controller.Until(o.until), o.timeout, true
	opts.BlockedTimeout, opts.FailOnBlocked = o.blockedTimeout, o.failOn == "blocked"
	opts.Ready = func(s cityapi.Status) {
		if result.status = s; !o.quiet {
			a.sayUnchecked(s)
		}
	}
	stream := a.newCityStream(opts, o.json)
	opts.Finished = func(ctx context.Context, s cityapi.Status) error {
		stream.finish(ctx)
		result = runResult{s, a.lastLines(ctx, s), time.Now()}
		return nil
	}
	kill, stop := onSecondInterrupt()
	defer stop()
	opts.Kill = kill
	if o.artifacts != "" {
		opts.Artifacts, opts.Build.Record, opts.Record = o.artifacts, true, recorder(opts.Provider)
	}
	if !o.quiet {
		opts.Log, opts.Event = a.Err, stream.take
	}
	after := context.WithoutCancel(ctx) // to print the stop of the city, too
	stream.run(after)
	err := controller.Run(ctx, opts)
	stream.close(after)
	if result.at.IsZero() { // stopped by the user, or never ran
		return err
	}
	return errors.Join(a.printResult(result, o.json), a.runFailed(result.status, err))
}

// runFailed is the error of a run.
func (a *app) runFailed(s cityapi.Status, err error) error {
	var failed *controller.FailedError
	var blocked *controller.BlockedError
	switch {
	case errors.Is(err, cityapi.ErrTimeout):
		return cli.Fail(cli.ExitTimeout, "", "%w", err)
	case errors.As(err, &blocked):
		return a.blockedAgent(blocked)
	case errors.As(err, &failed):
		return a.failedAgent(s, failed)
	case err != nil:
		return err
	}
	return a.sayBad(s)
}

// failedAgent returns the exit status of the agent that failed first, and explains
// the failure.
func (a *app) failedAgent(s cityapi.Status, failed *controller.FailedError) error {
	for _, ag := range s.Agents {
		if ag.Name == failed.Agent {
			ag.Hint = cmp.Or(ag.Hint, "gc start runs it again")
			a.explainAgent(ag)
		}
	}
	if failed.Code < 1 || failed.Code > 255 {
		return cli.Quiet(cli.ExitFailure)
	}
	return cli.Quiet(failed.Code)
}

// blockedAgent prints the unanswered question and returns the error.
func (a *app) blockedAgent(b *controller.BlockedError) error {
	if q := b.Activity.Pending; q != nil {
		fmt.Fprint(a.Err, questionText(q))
	}
	return cli.Fail(cli.ExitFailure, `permissions in city.toml decide what agents do without asking; --blocked-timeout leaves time for gc respond `+shell.Word(b.Agent), "%w", b)
}

// hasOneShot reports whether the city has an agent that ends by itself.
func hasOneShot(city *config.City) bool {
	specs, err := templates(city)
	return err != nil || slices.ContainsFunc(specs, func(s *agent.Spec) bool { return s.Config.Lifecycle == runtime.OneShot })
}

// runResult is the result of a run with --until.
type runResult struct {
	status cityapi.Status
	last   map[string]string // the last line of each session
	at     time.Time
}

// resultLine is the last line of gc start --foreground --until … --json.
type resultLine struct {
	Time   time.Time      `json:"time"`
	Kind   string         `json:"kind"` // "result"
	Status cityapi.Status `json:"status"`
}

// printResult prints the result of every agent, as it was before the city was
// stopped.
func (a *app) printResult(r runResult, asJSON bool) error {
	if asJSON {
		return display.NewMergedJSON(a.Out).Object(resultLine{time.Now().UTC(), "result", r.status})
	}
	t := display.Table{Width: a.Width(), Colour: a.Colours(a.Out)}
	t.Add("AGENT", "RESULT", "TOOK", "RESTARTS", "LAST LINE")
	for _, ag := range r.status.Agents {
		text, c := words.Result(ag)
		t.Add(ag.Name, text, words.Took(ag, r.at), strconv.Itoa(ag.Restarts), cmp.Or(words.Question(ag), r.last[ag.Session]))
		t.Paint(1, c)
	}
	return t.Print(a.Out)
}

// cityStream prints the events of a city that this process runs, and the output of
// the agents whose sessions live in a mux. The controller never waits for it.
type cityStream struct {
	app  *app
	out  *display.Merged
	city string // its name, the source of lines about no agent
	p    runtime.Provider

	events    chan func(context.Context) // functions that print
	work      sync.WaitGroup             // the goroutine of the events
	followers sync.WaitGroup
	flush     chan struct{} // when closed, followers print what is left and end
	finished  sync.Once

	mu      sync.Mutex
	current map[string]*following // by session
	seen    map[string]bool       // ids of sessions whose lines were printed
	dropped int                   // events that could not be printed in time
}

// following is an incarnation of an agent whose output is followed.
type following struct {
	done  chan struct{}
	whole bool   // all of its lines were printed
	last  string // the newest printed line
}

const (
	streamBacklog = 4096                   // events that may wait for a slow reader
	lastLinesWait = 500 * time.Millisecond // for the last lines of an ended agent
	adoptedLines  = 5                      // lines to print of an adopted agent
)

func (a *app) newCityStream(opts controller.Options, json bool) *cityStream {
	names := []string{opts.City.Name()}
	for i := range opts.City.Agents {
		names = append(names, opts.City.Agents[i].QualifiedName())
	}
	s := &cityStream{
		app: a, city: opts.City.Name(), out: display.NewMerged(a.Out, a.Colours(a.Out), names...), p: opts.Provider,
		events: make(chan func(context.Context), streamBacklog), flush: make(chan struct{}),
		current: map[string]*following{}, seen: map[string]bool{},
	}
	s.out.JSON = json
	return s
}

// take is called by the controller for every event.
func (s *cityStream) take(e cityapi.Event) {
	select {
	case s.events <- func(ctx context.Context) { s.event(ctx, e) }:
	default:
		s.mu.Lock()
		s.dropped++
		s.mu.Unlock()
	}
}

// run prints until close.
func (s *cityStream) run(ctx context.Context) {
	s.work.Go(func() {
		for act := range s.events {
			act(ctx)
		}
	})
}

// finish prints all events and output so far and stops following. It returns when
// ctx ends at the latest.
func (s *cityStream) finish(ctx context.Context) {
	done := make(chan struct{})
	s.work.Go(func() {
		s.events <- func(context.Context) {
			s.finished.Do(func() { close(s.flush) })
			s.followers.Wait()
			close(done)
		}
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// close prints what is left after the controller has ended.
func (s *cityStream) close(ctx context.Context) {
	s.finish(ctx)
	close(s.events)
	s.work.Wait()
	if s.dropped > 0 {
		s.app.Warn("%s could not be printed in time: gc events shows them", display.Count(s.dropped, "event"))
	}
}

func (s *cityStream) event(ctx context.Context, e cityapi.Event) {
	switch e.Kind {
	case cityapi.EventExited, cityapi.EventCrashed, cityapi.EventZombie:
		s.ending(ctx, e)
	}
	_ = s.print(e) // a closed pipe must not stop the city
	switch e.Kind {
	case cityapi.EventStarted, cityapi.EventRelaunched:
		s.follow(ctx, e, 0)
	case cityapi.EventAdopted:
		s.follow(ctx, e, adoptedLines)
	}
}

func (s *cityStream) print(e cityapi.Event) error {
	if s.out.JSON {
		return s.out.Object(e)
	}
	name, text := cmp.Or(e.Agent, e.Session), e
	if name == "" {
		name = s.city
	}
	text.Agent, text.Session = "", ""
	return s.out.Note(name, words.Event(text), words.EventColour(e))
}

// follow prints the last lines of the agent's session (0: all), and new ones from
// now on.
func (s *cityStream) follow(ctx context.Context, e cityapi.Event, lines int) {
	client := s.client(ctx, e.Session)
	if client == nil {
		return
	}
	res, err := client.Peek(ctx, api.PeekRequest{Name: e.Session, Lines: lines, Join: true})
	if err != nil || !s.first(res.ID) {
		return
	}
	f := &following{done: make(chan struct{})}
	s.mu.Lock()
	s.current[e.Session] = f
	s.mu.Unlock()
	l := &follow.Follower{Source: client, ID: res.ID, Note: func(text string) { _ = s.out.Note(e.Agent, text, display.Dim) }, Flush: s.flush}
	l.Print = func(line string) error {
		f.last = line
		return s.out.Output(e.Agent, line)
	}
	s.followers.Go(func() {
		defer close(f.done)
		exit, err := l.Run(ctx, res)
		f.whole = err == nil && exit != nil
	})
}

// ending prints the last lines of an agent that has ended. Lines that the follower
// missed are taken from the last screen.
func (s *cityStream) ending(ctx context.Context, e cityapi.Event) {
	s.mu.Lock()
	f := s.current[e.Session]
	delete(s.current, e.Session)
	s.mu.Unlock()
	screen := follow.Lines(strings.Trim(e.Screen, "\n"))
	if f == nil {
		if text, ok := s.ended(ctx, e.Session); ok {
			screen = follow.Lines(text)
		}
	} else {
		late := time.NewTimer(lastLinesWait)
		defer late.Stop()
		select {
		case <-f.done:
		case <-late.C:
			return
		}
		if f.whole {
			return
		}
		for i, line := range screen {
			if line == f.last {
				screen = screen[i+1:]
				break
			}
		}
	}
	for _, line := range screen {
		_ = s.out.Output(e.Agent, line)
	}
}

// ended is the whole output of a session that ended before it was followed.
func (s *cityStream) ended(ctx context.Context, session string) (text string, ok bool) {
	client := s.client(ctx, session)
	if client == nil {
		return "", false
	}
	res, err := client.Peek(ctx, api.PeekRequest{Name: session, Join: true})
	if err != nil || res.Exit == nil || !s.first(res.ID) {
		return "", false
	}
	return res.Text, true
}

// first reports whether this is the first call for the session.
func (s *cityStream) first(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[id] {
		return false
	}
	s.seen[id] = true
	return true
}

// client is a client of the session's mux, or nil if it does not live in one.
func (s *cityStream) client(ctx context.Context, session string) *client.Client {
	m, ok, err := runtime.AsFor[muxed](ctx, s.p, session)
	if err != nil || !ok {
		return nil
	}
	client, err := m.Client(ctx)
	if err != nil {
		return nil
	}
	return client
}
