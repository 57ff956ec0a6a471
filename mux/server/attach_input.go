package server

import (
	"context"
	"errors"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keys"
)

// keyPause is the silence that ends an unfinished key.
const keyPause = 50 * time.Millisecond

// attachInput is what a person types. The session's mu guards it.
type attachInput struct {
	c      *attachClient
	scan   keys.Scanner    // used by the reader only
	typist *journal.Typist // how far the input came; nil: nobody counts
	taken  uint64          // bytes that the program has
	acked  uint64          // bytes of these that the client knows of
	active time.Time
}

// typed writes and counts a person's input.
func (i *attachInput) typed(ctx context.Context, p []byte) error {
	ignored, err := i.pass(ctx, p)
	if i.typist == nil {
		return err
	}
	s := i.c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if ignored {
		i.typist.Skip(len(p))
	}
	if i.taken = i.typist.Done; i.taken >= i.acked+ackBytes {
		i.c.poke()
	}
	return err
}

// pass writes a person's input, or ignores it.
func (i *attachInput) pass(ctx context.Context, p []byte) (ignored bool, err error) {
	c := i.c
	s := c.s
	s.mu.Lock()
	if !c.types() {
		s.mu.Unlock()
		return true, nil
	}
	now := time.Now()
	interrupted, person := false, false
	take := func(tok keys.Token) {
		person = person || !answersImages(tok)
		interrupted = interrupted || isInterrupt(tok)
		s.input.draft.typed(c, tok, now)
		if s.input.draft.owner != nil {
			s.nudges.Touch()
		}
	}
	before := s.input.draft
	if now.Sub(i.active) > keyPause {
		i.scan.Flush(take) // an earlier unfinished key is not the start of this
	}
	i.scan.Feed(p, take)
	if s.clients.ownedByOther(c) && !person && !i.scan.Pending() {
		s.mu.Unlock() // the question went to every terminal; one answer is enough
		return true, nil
	}
	i.active = now
	if person {
		s.activity.see()
	}
	s.clients.own(c)
	if before.owner != nil && s.input.draft.owner == nil {
		s.broadcast() // a nudge may wait for it
	}
	s.mu.Unlock()
	if interrupted {
		s.input.cancelNudge()
	}
	err = s.input.sendTyped(ctx, i.typist, p)
	if errors.Is(err, api.ErrExited) || errors.Is(err, api.ErrInputFull) {
		return errors.Is(err, api.ErrInputFull), nil // the writer reports the end
	}
	return false, err
}
