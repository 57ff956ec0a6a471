// Package fleetfake is a fleet in memory, for tests of the front-ends. Only tests import
// it.
//
// A test sets what the fleet shows and reads what was done to it.
package fleetfake

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/screens"
)

// Fleet is a fleet in memory. The zero value is an empty one.
type Fleet struct {
	mu       sync.Mutex
	snapshot fleet.Snapshot
	screens  map[string]screens.Screen
	events   []fleet.Event
	done     []string
	changed  chan struct{}

	// What the methods return; set before use.
	Explained  fleet.Explanation
	Carried    fleet.Load
	Rows       fleet.History
	Cast       string // recording
	Receipt    fleet.Receipt
	AnswerErr  error
	DoErr      error
	Background []fleet.Command
	Printed    fleet.Output
	// Attached is called with the other end of each attached terminal; nil: ErrUnsupported.
	Attached func(id string, o fleet.AttachOptions, conn io.ReadWriteCloser)
}

var _ fleet.Fleet = (*Fleet)(nil)

// change wakes those that wait. mu is held.
func (f *Fleet) change() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// next returns the channel that closes at the next change. mu is held.
func (f *Fleet) next() <-chan struct{} {
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

// Set replaces the snapshot.
func (f *Fleet) Set(s fleet.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.snapshot = s
	f.change()
}

// Show replaces the screen of an agent. The revision must be another one.
func (f *Fleet) Show(id string, s screens.Screen) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.screens == nil {
		f.screens = map[string]screens.Screen{}
	}
	f.screens[id] = s
	f.change()
}

// Happen adds an event.
func (f *Fleet) Happen(e fleet.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.ID = fmt.Sprint(len(f.events) + 1)
	f.events = append(f.events, e)
	f.change()
}

// Done returns what was done, in order: "nudge coder: text", "answer coder: Yes",
// "restart coder", "cancel m1", "retry m1".
func (f *Fleet) Done() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.done...)
}

func (f *Fleet) did(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = append(f.done, fmt.Sprintf(format, args...))
	f.change()
}

// Watch implements [fleet.Fleet].
func (f *Fleet) Watch(ctx context.Context, show func(fleet.Snapshot)) error {
	for {
		f.mu.Lock()
		s, next := f.snapshot, f.next()
		f.mu.Unlock()
		show(s)
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Screens implements [fleet.Fleet].
func (f *Fleet) Screens(context.Context) (screens.Viewer, error) {
	return screens.NewHub(source{f}).View(), nil
}

// source is the fleet as a source of screens.
type source struct{ f *Fleet }

func (s source) Next(ctx context.Context, id string, after screens.Mark, _ float64) (*screens.Screen, error) {
	for {
		s.f.mu.Lock()
		screen, ok := s.f.screens[id]
		next := s.f.next()
		s.f.mu.Unlock()
		if !ok {
			screen = screens.Screen{State: screens.Gone}
		}
		if screen.Mark() != after {
			return &screen, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Events implements [fleet.Fleet].
func (f *Fleet) Events(ctx context.Context, after string, fn func(fleet.Event) error) error {
	n := 0
	_, _ = fmt.Sscan(after, &n)
	for {
		f.mu.Lock()
		list, next := f.events[min(n, len(f.events)):], f.next()
		f.mu.Unlock()
		for _, e := range list {
			if err := fn(e); err != nil {
				return err
			}
		}
		n += len(list)
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Load implements [fleet.Fleet].
func (f *Fleet) Load(context.Context) (fleet.Load, error) { return f.Carried, nil }

// Explain implements [fleet.Fleet].
func (f *Fleet) Explain(context.Context, string) (fleet.Explanation, error) { return f.Explained, nil }

// History implements [fleet.Fleet].
func (f *Fleet) History(context.Context, string, fleet.Page) (fleet.History, error) {
	return f.Rows, nil
}

// Recording implements [fleet.Fleet].
func (f *Fleet) Recording(context.Context, string) (io.ReadCloser, error) {
	if f.Cast == "" {
		return nil, fleet.ErrUnsupported
	}
	return io.NopCloser(strings.NewReader(f.Cast)), nil
}

// Attach implements [fleet.Fleet].
func (f *Fleet) Attach(_ context.Context, id string, o fleet.AttachOptions) (fleet.Terminal, error) {
	if f.Attached == nil {
		return nil, fleet.ErrUnsupported
	}
	fromProgram, program := io.Pipe()
	person, toProgram := io.Pipe()
	go f.Attached(id, o, &terminal{f: f, id: id, Reader: person, Writer: program, closes: []io.Closer{person, program}})
	return &terminal{f: f, id: id, Reader: fromProgram, Writer: toProgram, closes: []io.Closer{fromProgram, toProgram}}, nil
}

// terminal is one end of an attached terminal.
type terminal struct {
	f  *Fleet
	id string
	io.Reader
	io.Writer
	closes []io.Closer
}

func (t *terminal) Resize(cols, rows int) error {
	t.f.did("resize %s: %dx%d", t.id, cols, rows)
	return nil
}

func (t *terminal) Close() error {
	for _, c := range t.closes {
		_ = c.Close() // a pipe
	}
	return nil
}

// Nudge implements [fleet.Fleet].
func (f *Fleet) Nudge(_ context.Context, id, text string) (fleet.Receipt, error) {
	f.did("nudge %s: %s", id, text)
	return f.Receipt, nil
}

// Queue implements [fleet.Fleet].
func (f *Fleet) Queue(_ context.Context, id, text string) (fleet.Message, error) {
	f.did("queue %s: %s", id, text)
	return fleet.Message{ID: "m1", Agent: id, Text: text, State: "queued"}, nil
}

// Answer implements [fleet.Fleet].
func (f *Fleet) Answer(_ context.Context, id string, a fleet.Answer) error {
	if f.AnswerErr != nil {
		return f.AnswerErr
	}
	f.did("answer %s: %s%s", id, a.Option, a.Text)
	return nil
}

// Do implements [fleet.Fleet].
func (f *Fleet) Do(_ context.Context, id string, a fleet.Action) error {
	if f.DoErr != nil {
		return f.DoErr
	}
	f.did("%s %s", a, id)
	return nil
}

// CancelMessage implements [fleet.Fleet].
func (f *Fleet) CancelMessage(_ context.Context, message string) error {
	f.did("cancel %s", message)
	return nil
}

// RetryMessage implements [fleet.Fleet].
func (f *Fleet) RetryMessage(_ context.Context, message string) error {
	f.did("retry %s", message)
	return nil
}

// Commands implements [fleet.Fleet].
func (f *Fleet) Commands(context.Context) ([]fleet.Command, error) { return f.Background, nil }

// Output implements [fleet.Fleet].
func (f *Fleet) Output(context.Context, string, fleet.Page) (fleet.Output, error) {
	return f.Printed, nil
}

// Close implements [fleet.Fleet].
func (f *Fleet) Close() error { return nil }
