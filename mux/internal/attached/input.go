package attached

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

// input is what a person types. The session's lock guards it.
type input struct {
	c      *client
	scan   keys.Scanner    // used by the reader only
	typist *journal.Typist // how much of the input arrived; nil: not counted
	taken  uint64          // bytes that the program has
	acked  uint64          // bytes of these that the client knows of
	active time.Time
}

// typed writes and counts a person's input.
func (i *input) typed(ctx context.Context, p []byte) error {
	ignored, err := i.pass(ctx, p)
	if i.typist == nil {
		return err
	}
	i.c.s.Lock()
	defer i.c.s.Unlock()
	if ignored {
		i.typist.Skip(len(p))
	}
	if i.taken = i.typist.Done; i.taken >= i.acked+ackBytes {
		i.c.poke()
	}
	return err
}

// pass writes a person's input, or ignores it.
func (i *input) pass(ctx context.Context, p []byte) (ignored bool, err error) {
	c := i.c
	s, cs := c.s, c.all
	s.Lock()
	if !c.types() {
		s.Unlock()
		return true, nil
	}
	now := time.Now()
	interrupted, person := false, false
	take := func(tok keys.Token) {
		person = person || !answersImages(tok)
		interrupted = interrupted || isInterrupt(tok)
		cs.draft.typed(c, tok, now)
		if cs.draft.owner != nil {
			s.Drafted()
		}
	}
	before := cs.draft
	if now.Sub(i.active) > keyPause {
		i.scan.Flush(take) // an earlier unfinished key is not the start of this
	}
	i.scan.Feed(p, take)
	if cs.ownedByOther(c) && !person && !i.scan.Pending() {
		s.Unlock() // the question went to every terminal; one answer is enough
		return true, nil
	}
	i.active = now
	if person {
		s.Seen()
	}
	cs.own(c)
	if before.owner != nil && cs.draft.owner == nil {
		s.Changed() // a nudge may wait for it
	}
	s.Unlock()
	if interrupted {
		s.Interrupted()
	}
	err = s.Type(ctx, i.typist, p)
	if errors.Is(err, api.ErrExited) || errors.Is(err, api.ErrInputFull) {
		return errors.Is(err, api.ErrInputFull), nil // the writer reports the end
	}
	return false, err
}
