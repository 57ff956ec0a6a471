package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

const (
	waitChunk = time.Hour        // one question to a backend
	waitPause = 10 * time.Second // after one that failed
)

// waiting is a stored wait and how far it is.
type waiting struct {
	session.Wait
	asking bool
	cancel context.CancelFunc // ends the question in flight
	notYet time.Time          // do not ask before
}

// watchWaits asks about every stored wait whose agent runs, and returns when it
// wants to be called again.
func (l *loop) watchWaits(now, next time.Time) time.Time {
	for _, w := range l.waits {
		m := l.agentNamed(w.Agent)
		if w.asking || m == nil || m.foreign || m.seen.Presence != plan.Alive || m.op != "" {
			continue
		}
		if now.Before(w.notYet) {
			if w.notYet.Before(next) {
				next = w.notYet
			}
			continue
		}
		c, err := api.ParseUntil(w.Until)
		if err != nil || c.Exit {
			continue // an exit is told by the exit
		}
		l.askWait(w, m.seen.Session, c)
	}
	return next
}

func (l *loop) askWait(w *waiting, name string, c api.Condition) {
	ctx, cancel := context.WithCancel(l.opCtx)
	w.asking, w.cancel = true, cancel
	l.work.Go(func() {
		err := waitFor(ctx, l.p, name, c)
		cancel()
		l.post(func() {
			w.asking = false
			if !slices.Contains(l.waits, w) {
				return // dropped meanwhile
			}
			if err == nil {
				l.met(w)
				return
			}
			w.notYet = time.Now().Add(waitPause)
			w.Detail = ""
			if !errors.Is(err, context.DeadlineExceeded) {
				w.Detail = oneLine(err.Error())
			}
		})
	})
}

// waitFor blocks until the condition holds in a running session.
func waitFor(ctx context.Context, p runtime.Provider, name string, c api.Condition) error {
	if c.Idle {
		w, ok := runtime.As[runtime.IdleWaitProvider](p)
		if !ok {
			return fmt.Errorf("wait for idle: %w", runtime.ErrUnsupported)
		}
		return w.WaitForIdle(ctx, name, waitChunk)
	}
	w, ok := runtime.As[runtime.Waiter](p)
	if !ok {
		return fmt.Errorf("wait: %w", runtime.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeout(ctx, waitChunk)
	defer cancel()
	_, err := w.WaitFor(ctx, name, []runtime.Condition{{Text: c.Text, Quiet: c.Quiet}})
	return err
}

// met replaces a wait by the nudge that tells of it.
func (l *loop) met(w *waiting) {
	l.forgetWait(w.ID)
	text := fmt.Sprintf("gc wait: %s: %s", w.Agent, w.Until)
	if w.Note != "" {
		text += "\n" + w.Note
	}
	m := l.agentNamed(w.Wake)
	if m == nil {
		l.book.DeleteWait(w.ID)
		l.note(api.Event{Kind: api.EventWait, Agent: w.Agent, Why: w.Until, Detail: "met, but there is no agent " + w.Wake + " to wake"})
		return
	}
	n := l.book.NewNudge(session.Nudge{Agent: m.name(), Text: text, From: "wait " + w.ID}, 0)
	l.book.MeetWait(w.ID, n)
	l.nudges = append(l.nudges, &n)
	l.note(api.Event{Kind: api.EventWait, Agent: w.Agent, Why: w.Until, Detail: "met, " + w.Wake + " is woken"})
	m.seen.Record.Asleep = false // a note wakes who was put to sleep
}

func (l *loop) forgetWait(id string) {
	for i, w := range l.waits {
		if w.ID == id {
			l.waits = append(l.waits[:i:i], l.waits[i+1:]...)
			if w.asking {
				w.cancel()
			}
			return
		}
	}
}

// exitWaits meets the waits for an agent's end.
func (l *loop) exitWaits(m *member) {
	for _, w := range append([]*waiting(nil), l.waits...) {
		if c, err := api.ParseUntil(w.Until); err == nil && c.Exit && w.Agent == m.seen.Agent {
			l.met(w)
		}
	}
}

func (l *loop) storeWait(ctx context.Context, q api.WaitRequest) (session.Wait, error) {
	var w session.Wait
	var ticket *session.Ticket
	_, err := api.ParseUntil(q.Until)
	if err != nil {
		return w, err
	}
	in := l.inLoop(ctx, func() {
		var who [2]string
		for i, name := range []string{q.Agent, q.Wake} {
			picked, e := l.pick([]string{name})
			switch {
			case e != nil:
				err = e
				return
			case len(picked) != 1:
				err = fmt.Errorf("%w: %s is a pool of %d, name one member", api.ErrUnknownAgent, name, len(picked))
				return
			}
			who[i] = picked[0].name()
		}
		w = l.book.NewWait(session.Wait{Agent: who[0], Until: q.Until, Wake: who[1], Note: q.Note})
		ticket = l.book.SaveWait(w)
		l.waits = append(l.waits, &waiting{Wait: w})
	})
	if err = errors.Join(in, err); err != nil {
		return w, err
	}
	if err = ticket.Wait(); err != nil { // what is not acknowledged is forgotten
		err = errors.Join(err, l.inLoop(context.WithoutCancel(ctx), func() {
			l.forgetWait(w.ID)
			l.book.DeleteWait(w.ID)
		}))
	}
	return w, err
}

// dropWait forgets a wait, also one that is about to be met. It is off the disk
// when dropWait returns nil.
func (l *loop) dropWait(ctx context.Context, id string) error {
	var ticket *session.Ticket
	if err := l.inLoop(ctx, func() {
		l.forgetWait(id)
		ticket = l.book.DeleteWait(id)
	}); err != nil {
		return err
	}
	return forgotten("wait "+id, ticket.Wait())
}
