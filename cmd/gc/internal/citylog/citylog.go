// Package citylog prints a city that runs in this process, as gc start --foreground
// does: its events and the output of its agents, each line after its source's name.
//
// The controller never waits for it: events that do not fit the queue of a slow
// reader are counted and dropped. Every goroutine ends with Close. Only cmd/gc
// calls it.
package citylog

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/follow"
	"gascity.dev/gc/cmd/gc/internal/words"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

// Stream prints the events of a city that this process runs, and the output of the
// agents whose sessions live in a mux.
type Stream struct {
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

// New returns a stream that prints on out. city is the city's name, p its provider.
func New(out *display.Merged, city string, p runtime.Provider) *Stream {
	return &Stream{
		city: city, out: out, p: p,
		events: make(chan func(context.Context), streamBacklog), flush: make(chan struct{}),
		current: map[string]*following{}, seen: map[string]bool{},
	}
}

// Take takes an event from the controller, and never blocks.
func (s *Stream) Take(e cityapi.Event) {
	select {
	case s.events <- func(ctx context.Context) { s.event(ctx, e) }:
	default:
		s.mu.Lock()
		s.dropped++
		s.mu.Unlock()
	}
}

// Run starts printing, until Close.
func (s *Stream) Run(ctx context.Context) {
	s.work.Go(func() {
		for act := range s.events {
			act(ctx)
		}
	})
}

// Finish prints all events and output so far and stops following. It returns when
// ctx ends at the latest.
func (s *Stream) Finish(ctx context.Context) {
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

// Close prints what is left after the controller has ended. It returns the number of
// events that could not be printed in time.
func (s *Stream) Close(ctx context.Context) (dropped int) {
	s.Finish(ctx)
	close(s.events)
	s.work.Wait()
	return s.dropped
}

func (s *Stream) event(ctx context.Context, e cityapi.Event) {
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

func (s *Stream) print(e cityapi.Event) error {
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
func (s *Stream) follow(ctx context.Context, e cityapi.Event, lines int) {
	client := s.client(ctx, e.Session)
	if client == nil {
		return
	}
	res, err := look(ctx, client, e, lines)
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
func (s *Stream) ending(ctx context.Context, e cityapi.Event) {
	s.mu.Lock()
	f := s.current[e.Session]
	delete(s.current, e.Session)
	s.mu.Unlock()
	screen := follow.Lines(strings.Trim(e.Screen, "\n"))
	if f == nil {
		if text, ok := s.ended(ctx, e); ok {
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

// look peeks at the last lines (0: all) of the incarnation that an event is about: the name
// of its session may be that of the next one already.
func look(ctx context.Context, c *client.Client, e cityapi.Event, lines int) (api.PeekResult, error) {
	res, err := c.Peek(ctx, api.PeekRequest{Name: cmp.Or(e.SessionID, e.Session), Lines: lines, Join: true})
	if e.Kind == cityapi.EventAdopted && errors.Is(err, api.ErrNotFound) { // gc session new made it
		return c.Peek(ctx, api.PeekRequest{Name: e.Session, Lines: lines, Join: true})
	}
	return res, err
}

// ended is the whole output of a session that ended before it was followed.
func (s *Stream) ended(ctx context.Context, e cityapi.Event) (text string, ok bool) {
	client := s.client(ctx, e.Session)
	if client == nil {
		return "", false
	}
	res, err := look(ctx, client, e, 0)
	if err != nil || res.Exit == nil || !s.first(res.ID) {
		return "", false
	}
	return res.Text, true
}

// first reports whether this is the first call for the session.
func (s *Stream) first(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[id] {
		return false
	}
	s.seen[id] = true
	return true
}

// muxed is a provider whose sessions live in a mux.
type muxed interface {
	Client(context.Context) (*client.Client, error)
}

// client is a client of the session's mux, or nil if it does not live in one.
func (s *Stream) client(ctx context.Context, session string) *client.Client {
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
