package main

import (
	"context"
	"errors"
	"time"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// A line on the screen is printed when it has stood unchanged for settleFirst,
// and once more when it was painted over and has stood for settleAgain. No more
// than one look in followPause.
const (
	settleFirst = 150 * time.Millisecond
	settleAgain = 2 * time.Second
	followPause = 50 * time.Millisecond
	followTail  = 500 // lines of one look, when no more are missing
)

// follower prints the lines of a session as they come to rest.
type follower struct {
	client *client.Client
	id     string // of the session: a later one of its name is another
	print  func(line string) error
	say    func(text string) // about the lines
	flush  <-chan struct{}   // closed: print what stands there, and end; nil: never

	began   bool                  // lines with numbers were printed
	painted bool                  // a screen without was
	next    uint64                // lines below it are done with
	shown   map[uint64]*shownLine // of the screen
}

// shownLine is a line that may still change.
type shownLine struct {
	text    string
	since   time.Time
	printed string // what was printed of it
	ever    bool
}

// run prints until the session ends, or ctx does, or flush is closed: then
// without an exit.
func (l *follower) run(ctx context.Context, res api.PeekResult) (*api.Exit, error) {
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
		wait := api.WaitRequest{Conditions: []api.Condition{{Changed: &res.Revision}, {Exit: true}}}
		if !due.IsZero() {
			wait.Timeout = max(due.Sub(now), time.Millisecond)
		}
		if _, err := l.client.Wait(following, l.id, wait); err != nil && !errors.Is(err, api.ErrNotFound) && following.Err() == nil {
			return nil, err
		}
		pause := time.NewTimer(followPause)
		select {
		case <-pause.C:
		case <-following.Done():
			pause.Stop()
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if res, err = l.look(ctx); err != nil {
			return nil, err
		}
	}
}

// untilFlush is a context that flush ends, too.
func (l *follower) untilFlush(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-l.flush:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// look peeks at the end of the session's lines, or at all of them when that is
// not enough.
func (l *follower) look(ctx context.Context) (api.PeekResult, error) {
	res, err := l.client.Peek(ctx, api.PeekRequest{Name: l.id, Lines: followTail, Join: true})
	if err != nil || res.Lines == nil || res.Lines.First <= l.next {
		return res, err
	}
	return l.client.Peek(ctx, api.PeekRequest{Name: l.id, Join: true})
}

// take prints what has come to rest, or all of it when that is over, and says
// when more may have.
func (l *follower) take(res api.PeekResult, now time.Time, over bool) (due time.Time, err error) {
	n := res.Lines
	if n == nil { // the alternate screen, or nothing at all
		if !l.began && !l.painted {
			l.painted = true
			err = l.printAll(res.Text)
		}
		return due, err
	}
	switch {
	case !l.began && l.painted:
		l.next = n.Closed // the history was printed with the full screen
	case !l.began:
		l.next = n.First // what is above was not asked for
	case n.First > l.next:
		l.say(display.Count(int(n.First-l.next), "line") + " were not kept")
	}
	for k, text := range linesOf(res.Text) {
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

// line prints a line that is final, or stands above the cursor for long enough;
// else it says when that will be.
func (l *follower) line(number uint64, text string, now time.Time, final, above bool) (due time.Time, err error) {
	s := l.shown[number]
	if s == nil {
		s = &shownLine{text: text, since: now}
		if !l.began {
			s.since = now.Add(-settleAgain) // it stands there
		}
		l.shown[number] = s
	}
	if s.text != text {
		s.text, s.since = text, now
	}
	if s.ever && s.printed == text || !final && !above {
		return due, nil
	}
	settle := settleFirst
	if s.ever {
		settle = settleAgain
	}
	if at := s.since.Add(settle); !final && at.After(now) {
		return at, nil
	}
	s.printed, s.ever = text, true
	return due, l.print(text)
}

// printAll prints every line of a text.
func (l *follower) printAll(text string) error {
	for _, line := range linesOf(text) {
		if err := l.print(line); err != nil {
			return err
		}
	}
	return nil
}
