package delivery

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"

	"gascity.dev/gc/internal/clock"
)

// Errors of an [Agent].
var (
	ErrGone   = errors.New("the session has ended")
	ErrNoKeys = errors.New("the session accepts no keys")
)

const (
	typeTimeout = 2 * time.Minute        // for one try to type
	stillTime   = 500 * time.Millisecond // without a change: what was typed is shown, and Enter does not count as part of a paste
	stillPoll   = 100 * time.Millisecond
	stillLimit  = 10 * time.Second
	stillLines  = 40              // of the screen
	draftLimit  = 2 * time.Second // for a draft to leave the cursor's line after Enter
	draftPoll   = 500 * time.Millisecond
)

// Attempt is one try to deliver a message, or to find out what became of one.
type Attempt struct {
	Agent Agent
	Tags  []string // all occur in the message's text and nowhere else
}

// Type types the message and returns its state: Delivered, Dead, or Pending for
// one that was not submitted. With an error the state is unknown and the message
// stays Injecting.
func (a *Attempt) Type(ctx context.Context, text string) (State, string, error) {
	limited, cancel := context.WithTimeout(ctx, typeTimeout)
	o, err := a.Agent.Type(limited, text)
	cancel()
	if err == nil && o.Result == Submitted {
		return Delivered, "", nil
	}
	if ctx.Err() != nil {
		return "", "", ctx.Err() // the next attempt finds out
	}
	switch {
	case errors.Is(err, ErrGone):
		return Pending, "the session ended before it was typed", nil
	case err != nil:
		return a.Resolve(ctx, Dead, "it may have been typed: "+firstLine(err.Error()))
	case o.Result == Withdrawn:
		return Pending, o.Detail, nil
	case o.Result == Unverified:
		return a.Resolve(ctx, Dead, "unverified: typed and entered, and not typed again: "+o.Detail)
	}
	return a.Resolve(ctx, Pending, o.Detail)
}

// Resolve looks for the tags of a message that may have been typed. If they are
// on the screen it was delivered, a draft after Enter; otherwise the message gets
// the given state.
func (a *Attempt) Resolve(ctx context.Context, state State, detail string) (State, string, error) {
	if err := a.awaitStill(ctx); err != nil {
		return "", "", err
	}
	shown, draft, err := a.find(ctx)
	switch {
	case err != nil:
		return "", "", err
	case shown && draft:
		final, why, err := a.finishDraft(ctx)
		if errors.Is(err, ErrGone) { // with its draft
			return state, detail, nil
		}
		return final, why, err
	case shown:
		return Delivered, "it is on the screen", nil
	}
	return state, detail, nil
}

// finishDraft submits the message that is in the composer, or removes it.
func (a *Attempt) finishDraft(ctx context.Context) (State, string, error) {
	err := a.Agent.Press(ctx, "Enter")
	if errors.Is(err, ErrNoKeys) {
		return Dead, "unverified: it was typed, and cannot be taken back here, so it is not typed again", nil
	}
	if err != nil {
		return "", "", err
	}
	taken, err := a.awaitTaken(ctx)
	if err != nil {
		return "", "", err
	}
	if taken {
		return Delivered, "it was in the composer and was submitted", nil
	}
	if err := a.Agent.Press(ctx, "C-u"); err != nil {
		return "", "", err
	}
	return Pending, "typed, not submitted, and taken out of the composer again", nil
}

// awaitTaken reports whether the draft leaves the composer.
func (a *Attempt) awaitTaken(ctx context.Context) (bool, error) {
	for begin := time.Now(); time.Since(begin) < draftLimit; {
		shown, draft, err := a.find(ctx)
		if err != nil || shown && !draft {
			return err == nil, err
		}
		if err := clock.Sleep(ctx, draftPoll); err != nil {
			return false, err
		}
	}
	return false, nil
}

// awaitStill waits until the screen does not change, stillLimit at most. On a
// busy machine a program may not yet show what was typed just before its typist
// died, and agents take an Enter that follows at once as part of the paste.
func (a *Attempt) awaitStill(ctx context.Context) error {
	last, since := "", time.Time{}
	for begin := time.Now(); time.Since(begin) < stillLimit; {
		text, err := a.Agent.Screen(ctx, stillLines)
		switch {
		case errors.Is(err, ErrGone):
			return nil
		case err != nil:
			return err
		case since.IsZero() || text != last:
			last, since = text, time.Now()
		case time.Since(since) >= stillTime:
			return nil
		}
		if err := clock.Sleep(ctx, stillPoll); err != nil {
			return err
		}
	}
	return nil
}

// find looks for the tags on the screen and in the history. draft: they are on
// the cursor's line, or on the last line if the cursor's is unknown.
func (a *Attempt) find(ctx context.Context) (shown, draft bool, err error) {
	text, err := a.Agent.Screen(ctx, 0)
	if errors.Is(err, ErrGone) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	line, known, err := a.Agent.CursorLine(ctx)
	if err != nil {
		return false, false, err
	}
	if !known {
		lines := strings.Split(strings.TrimRight(text, "\n "), "\n")
		line = lines[len(lines)-1]
	}
	all, line := squeeze(text), squeeze(line)
	for _, tag := range a.Tags {
		tag = squeeze(tag)
		if !strings.Contains(all, tag) {
			return false, false, nil
		}
		// Of a wrapped tag only the end is on the cursor's line.
		draft = draft || strings.Contains(line, tag) || line != "" && strings.HasSuffix(tag, line)
	}
	return true, draft, nil
}

// squeeze drops white space, which wrapping changes.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
