package attach

import (
	"context"
	"errors"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

// historySource reads the session's history from its server, for copy mode.
type historySource struct{ a *attachment }

var errTooOld = errors.New("its multiplexer is older than copy mode; gc mux upgrade replaces it")

func (s historySource) ask(r api.HistoryRequest) (api.HistoryResult, error) {
	ctx, cancel := context.WithTimeout(s.a.ctx, readTime)
	defer cancel()
	out, err := s.a.session.client.History(ctx, s.a.session.id, r)
	if remote := new(api.RemoteError); errors.As(err, &remote) && remote.Code == "" {
		err = errTooOld // it has no such route
	} else if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("no answer from " + s.a.where())
	}
	return out, err
}

// Lines implements copymode.Source.
func (s historySource) Lines(from uint64, count int) ([]vt.Line, uint64, error) {
	out, err := s.ask(api.HistoryRequest{From: from, Count: count})
	return out.Lines, out.From, err
}

// Find implements copymode.Source.
func (s historySource) Find(pattern string, fold bool, from uint64, back bool) (n uint64, found bool, err error) {
	out, err := s.ask(api.HistoryRequest{Find: pattern, Fold: fold, From: from, Back: back})
	if err != nil || out.Found == nil {
		return 0, false, err
	}
	return *out.Found, true, nil
}

// showEnd shows the end of a session whose last output did not reach the terminal, because
// something covered it: once the person has left that.
func (a *attachment) showEnd() {
	if v, ok := a.over.copying(); ok {
		a.over.mu.Lock()
		v.Say("the program has ended")
		a.over.mu.Unlock()
		a.over.draw.note()
	}
	for a.over.shown() && a.ctx.Err() == nil {
		select {
		case <-a.over.typing:
		case <-a.ctx.Done():
		}
	}
	if a.screen.isBare() || a.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(a.ctx, readTime)
	defer cancel()
	out, err := a.session.client.Peek(ctx, api.PeekRequest{Name: a.session.id, Format: api.FormatANSI, Screen: true})
	a.screen.lift()
	a.screen.uncover()
	if err == nil {
		_ = a.screen.write([]byte(out.Text)) // the terminal may be gone, too
	}
}

// How long the welcome is shown: at least, if there is output meanwhile, and at most.
const (
	welcomeLeast = time.Second
	welcomeMost  = 2 * time.Second
)

// welcome shows a line for a moment, or until the person types.
func (a *attachment) welcome() {
	select {
	case <-a.viewer.painted:
	case <-a.ctx.Done():
		return
	}
	a.screen.notice(a.o.Welcome)
	a.screen.hold()
	seen := a.viewer.received.Load()
	for _, d := range []time.Duration{welcomeLeast, welcomeMost - welcomeLeast} {
		select {
		case <-a.over.typing:
			d = welcomeMost
		case <-time.After(d):
		case <-a.ctx.Done():
			return
		}
		if d == welcomeMost || a.viewer.received.Load() != seen {
			break
		}
	}
	a.over.welcomed()
}
