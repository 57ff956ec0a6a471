package main

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/controller"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

// cityStream prints what happens in a city while this process runs it: its
// events, and the lines that its agents print where their sessions live in a
// mux. The controller never waits for it.
type cityStream struct {
	app  *app
	out  *display.Merged
	city string // its name, the source of lines about no agent
	p    runtime.Provider

	events    chan func(context.Context) // what is to be printed
	work      sync.WaitGroup             // the goroutine of the events
	followers sync.WaitGroup
	flush     chan struct{} // closed: followers print what stands there, and end
	settled   sync.Once

	mu      sync.Mutex
	current map[string]*following // by session
	seen    map[string]bool       // ids of sessions whose lines were printed
	dropped int                   // events that nobody took in time
}

// following is one incarnation of an agent that is followed.
type following struct {
	done  chan struct{}
	whole bool   // its end was seen: all of its lines are printed
	last  string // the newest of them
}

const (
	streamBacklog = 4096                   // events that may wait for a slow reader
	lastLinesWait = 500 * time.Millisecond // for the lines before an end
	adoptedLines  = 5                      // of an agent that ran before
)

func (a *app) newCityStream(opts controller.Options, json bool) *cityStream {
	names := []string{opts.City.Name()}
	for i := range opts.City.Agents {
		names = append(names, opts.City.Agents[i].QualifiedName())
	}
	s := &cityStream{
		app: a, city: opts.City.Name(), out: display.NewMerged(a.out, a.colours(a.out), names...), p: opts.Provider,
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

// settle prints what has happened and what the agents have printed so far, and
// follows no more. It returns when ctx ends, at the latest.
func (s *cityStream) settle(ctx context.Context) {
	done := make(chan struct{})
	s.work.Go(func() {
		s.events <- func(context.Context) {
			s.settled.Do(func() { close(s.flush) })
			s.followers.Wait()
			close(done)
		}
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// close prints what is left. The controller has ended.
func (s *cityStream) close(ctx context.Context) {
	s.settle(ctx)
	close(s.events)
	s.work.Wait()
	if s.dropped > 0 {
		s.app.warn("%s could not be printed in time: gc events shows them", display.Count(s.dropped, "event"))
	}
}

func (s *cityStream) event(ctx context.Context, e cityapi.Event) {
	switch e.Kind {
	case cityapi.EventExited, cityapi.EventCrashed, cityapi.EventZombie:
		s.ending(ctx, e)
	}
	_ = s.print(e) // a reader that has gone ends nothing
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
	return s.out.Note(name, eventText(text), eventColour(e))
}

// follow prints the lines of the agent's session from now on, and the last of
// those that stand there; 0: all.
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
	l := &follower{client: client, id: res.ID, say: func(text string) { _ = s.out.Note(e.Agent, text, display.Dim) }, flush: s.flush}
	l.print = func(line string) error {
		f.last = line
		return s.out.Output(e.Agent, line)
	}
	s.followers.Go(func() {
		defer close(f.done)
		exit, err := l.run(ctx, res)
		f.whole = err == nil && exit != nil
	})
}

// ending prints the last lines of an agent that has ended: those that its
// follower had no time to see stand on the last screen.
func (s *cityStream) ending(ctx context.Context, e cityapi.Event) {
	s.mu.Lock()
	f := s.current[e.Session]
	delete(s.current, e.Session)
	s.mu.Unlock()
	screen := linesOf(strings.Trim(e.Screen, "\n"))
	if f == nil {
		if text, ok := s.ended(ctx, e.Session); ok {
			screen = linesOf(text)
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

// ended is all that a session printed that ended before anybody followed it.
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

// first reports a session that was not printed before.
func (s *cityStream) first(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[id] {
		return false
	}
	s.seen[id] = true
	return true
}

// client is the mux that the session lives in, nil when it lives elsewhere.
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
