// Package follow prints the lines of a session as a log: each line once it is
// final, although the program may still repaint it.
package follow

import (
	"context"
	"errors"
	"strings"
	"time"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
)

// A line on the screen is printed when it has not changed for quietFirst, and
// again when it was repainted and has not changed for quietAgain. A follower
// peeks at most once per pause.
const (
	quietFirst = 150 * time.Millisecond
	quietAgain = 2 * time.Second
	pause      = 50 * time.Millisecond
	tail       = 500 // lines of a peek, if that is enough
)

// Source is where a follower reads a session from.
type Source interface {
	Peek(ctx context.Context, r api.PeekRequest) (api.PeekResult, error)
	Wait(ctx context.Context, id string, r api.WaitRequest) (api.WaitResult, error)
}

// Follower prints the lines of a session once they are final.
type Follower struct {
	Source Source
	ID     string // of the session; a name could mean a later one
	Print  func(line string) error
	Note   func(text string) // prints a remark about the lines
	Flush  <-chan struct{}   // when closed, print every line and stop; may be nil

	began   bool                  // numbered lines were printed
	painted bool                  // an alternate screen was printed
	next    uint64                // all lines before it are done
	shown   map[uint64]*shownLine // lines of the screen
}

// shownLine is a line that may still change.
type shownLine struct {
	text    string
	since   time.Time
	printed string // the text that was printed
	ever    bool
}

// Run prints the session until it ends, Flush is closed or ctx ends. res is a first
// peek of it. The exit is nil unless the session ended.
func (l *Follower) Run(ctx context.Context, res api.PeekResult) (*api.Exit, error) {
	l.shown = map[uint64]*shownLine{}
	following, cancel := l.untilFlush(ctx)
	defer cancel()
	for {
		over := following.Err() != nil
		now := time.Now()
		due, err := l.take(res, now, over || res.Exit != nil)
		if err != nil || over || res.Exit != nil {
			return res.Exit, err
		}
		changed := api.WaitRequest{Conditions: []api.Condition{{Changed: &res.Revision}, {Exit: true}}}
		if !due.IsZero() {
			changed.Timeout = max(due.Sub(now), time.Millisecond)
		}
		if _, err := l.Source.Wait(following, l.ID, changed); err != nil && !errors.Is(err, api.ErrNotFound) && following.Err() == nil {
			return nil, err
		}
		_ = clock.Sleep(following, pause)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if res, err = l.look(ctx); err != nil {
			return nil, err
		}
	}
}

// untilFlush returns a context that also ends when Flush is closed.
func (l *Follower) untilFlush(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-l.Flush:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// look peeks at the last lines of the session, or at all of them if lines would
// be missed.
func (l *Follower) look(ctx context.Context) (api.PeekResult, error) {
	res, err := l.Source.Peek(ctx, api.PeekRequest{Name: l.ID, Lines: tail, Join: true})
	if err != nil || res.Lines == nil || res.Lines.First <= l.next {
		return res, err
	}
	return l.Source.Peek(ctx, api.PeekRequest{Name: l.ID, Join: true})
}

// take prints the lines that are final, or all lines if over, and returns when
// more may become final.
func (l *Follower) take(res api.PeekResult, now time.Time, over bool) (due time.Time, err error) {
	n := res.Lines
	if n == nil { // the alternate screen, or an empty one
		if !l.began && !l.painted {
			l.painted = true
			err = l.PrintAll(res.Text)
		}
		return due, err
	}
	switch {
	case !l.began && l.painted:
		l.next = n.Closed // the history was printed with the alternate screen
	case !l.began:
		l.next = n.First // earlier lines were not asked for
	case n.First > l.next:
		l.Note(display.Count(int(n.First-l.next), "line") + " were not kept")
	}
	for k, text := range Lines(res.Text) {
		number := n.First + uint64(k)
		if number < l.next {
			continue
		}
		at, err := l.line(number, text, now, over || number < n.Closed, number < n.Cursor)
		if err != nil {
			return due, err
		}
		if !at.IsZero() && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	l.next = max(l.next, n.Closed)
	for number := range l.shown {
		if number < l.next {
			delete(l.shown, number)
		}
	}
	l.began = true
	return due, nil
}

// line prints a line that is final, or has been unchanged above the cursor for
// long enough; otherwise it returns when that will be.
func (l *Follower) line(number uint64, text string, now time.Time, final, above bool) (due time.Time, err error) {
	s := l.shown[number]
	if s == nil {
		s = &shownLine{text: text, since: now}
		if !l.began {
			s.since = now.Add(-quietAgain) // it was there before
		}
		l.shown[number] = s
	}
	if s.text != text {
		s.text, s.since = text, now
	}
	if s.ever && s.printed == text || !final && !above {
		return due, nil
	}
	quiet := quietFirst
	if s.ever {
		quiet = quietAgain
	}
	if at := s.since.Add(quiet); !final && at.After(now) {
		return at, nil
	}
	s.printed, s.ever = text, true
	return due, l.Print(text)
}

// PrintAll prints every line of a text.
func (l *Follower) PrintAll(text string) error {
	for _, line := range Lines(text) {
		if err := l.Print(line); err != nil {
			return err
		}
	}
	return nil
}

// Lines splits a text into lines; an empty text has none.
func Lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
