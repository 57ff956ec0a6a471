package driver_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// sim is a program on a screen, for tests of the start sequence: it answers
// keys as a function of what it shows.
type sim struct {
	mu      sync.Mutex
	screen  string
	alive   []string
	exit    *runtime.Exit
	keys    []string
	nudges  []string
	onKey   func(s *sim, key string) // called with mu held
	created bool
	gone    bool
	version int
	seen    int
	change  chan struct{}
	failing map[string]error
	order   []string
	receipt runtime.Receipt
}

func newSim(screen string) *sim {
	return &sim{screen: screen, change: make(chan struct{}), failing: map[string]error{}, receipt: runtime.Receipt{State: runtime.Submitted}}
}

// set changes the program under lock and wakes waiters.
func (s *sim) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.touch()
}

func (s *sim) touch() {
	s.version++
	close(s.change)
	s.change = make(chan struct{})
}

func (s *sim) did(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = append(s.order, what)
	return s.failing[what]
}

// hooks connects the sim; polling leaves Changed out.
func (s *sim) hooks(polling bool) driver.Hooks {
	h := driver.Hooks{
		Create: func(context.Context) error {
			if err := s.did("create"); err != nil {
				return err
			}
			s.set(func() { s.created = true })
			return nil
		},
		Destroy: func(context.Context) error {
			s.set(func() { s.gone = true })
			return s.did("destroy")
		},
		Ended: func(context.Context) (*runtime.Exit, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.exit, s.failing["ended"]
		},
		Alive: func(_ context.Context, names []string) (bool, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.seen = s.version
			return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(s.alive, n) }), s.failing["alive"]
		},
		Screen: func(context.Context) (string, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.seen = s.version
			return s.screen, s.failing["screen"]
		},
		Keys: func(_ context.Context, keys ...string) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, k := range keys {
				s.keys = append(s.keys, k)
				if s.onKey != nil {
					s.onKey(s, k)
				}
			}
			s.touch()
			return nil
		},
		Nudge: func(_ context.Context, text string) (runtime.Receipt, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.order = append(s.order, "nudge")
			s.nudges = append(s.nudges, text)
			return s.receipt, s.failing["nudge"]
		},
	}
	if !polling {
		h.Changed = s.changed
	}
	return h
}

func (s *sim) changed(ctx context.Context) error {
	s.mu.Lock()
	for s.version == s.seen {
		ch := s.change
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ch:
		}
		s.mu.Lock()
	}
	s.seen = s.version
	s.mu.Unlock()
	return nil
}

// menuSim shows a dialog with a selection that follows Up and Down, and after
// Enter what then returns for the selected label.
func menuSim(head string, labels []string, marked int, then func(label string) string) *sim {
	paint := func() string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n\n", head)
		for i, l := range labels {
			mark := " "
			if i == marked {
				mark = "❯"
			}
			fmt.Fprintf(&b, " %s %d. %s\n", mark, i+1, l)
		}
		return b.String() + "\n Enter to confirm · Esc to cancel\n"
	}
	s := newSim(paint())
	open := true
	s.onKey = func(s *sim, key string) {
		if !open {
			return
		}
		switch key {
		case "Down":
			marked = min(marked+1, len(labels)-1)
		case "Up":
			marked = max(marked-1, 0)
		case "Enter":
			open = false
			s.screen = then(labels[marked])
			return
		}
		s.screen = paint()
	}
	return s
}
