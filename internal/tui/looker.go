package tui

import (
	"context"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/screens"
)

// looker follows the live screens that are shown. The newest wish counts.
type looker struct {
	mu   sync.Mutex // guards want
	want []screens.Look

	changed chan struct{}
}

func newLooker() *looker { return &looker{changed: make(chan struct{}, 1)} }

// set replaces what is looked at.
func (l *looker) set(want []screens.Look) {
	l.mu.Lock()
	same := slices.Equal(l.want, want)
	l.want = want
	l.mu.Unlock()
	if same {
		return
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

func (l *looker) wanted() []screens.Look {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.want
}

// Pauses between two connections for screens.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
)

// run sends what changes on the screens, until ctx ends. A connection that breaks is made
// again.
func (l *looker) run(ctx context.Context, source fleet.Fleet, send func(tea.Msg)) {
	pause := firstPause
	for ctx.Err() == nil {
		began := time.Now()
		err := l.follow(ctx, source, send)
		if ctx.Err() != nil {
			return
		}
		send(awayMsg(err.Error()))
		if time.Since(began) > maxPause {
			pause = firstPause
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, maxPause)
	}
}

// follow uses one connection until it breaks.
func (l *looker) follow(ctx context.Context, source fleet.Fleet, send func(tea.Msg)) error {
	v, err := source.Screens(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { _ = v.Close() })()
	var asks sync.WaitGroup
	asks.Go(func() {
		for err := v.Look(l.wanted()); err == nil && ctx.Err() == nil; err = v.Look(l.wanted()) {
			select {
			case <-l.changed:
			case <-ctx.Done():
			}
		}
		_ = v.Close() // so that Next ends too
	})
	defer asks.Wait()
	defer cancel()
	for {
		u, err := v.Next()
		if err != nil {
			return err
		}
		send(screenMsg(u))
	}
}
