package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

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

// Condition is what a wait waits for.
type Condition struct {
	Exit  bool
	Idle  bool
	Text  string
	Quiet time.Duration
}

// ParseUntil reads "exit", "idle", "text=RE" and "quiet=D".
func ParseUntil(until string) (Condition, error) {
	kind, arg, _ := strings.Cut(until, "=")
	switch kind {
	case "exit", "idle":
		if arg != "" {
			return Condition{}, fmt.Errorf("%s takes no value", kind)
		}
		return Condition{Exit: kind == "exit", Idle: kind == "idle"}, nil
	case "text":
		if _, err := regexp.Compile(arg); err != nil || arg == "" {
			return Condition{}, &Error{Err: fmt.Errorf("%q is not a regular expression", arg), Help: `write text=RE, as in text='tests? passed'`}
		}
		return Condition{Text: arg}, nil
	case "quiet":
		d, err := time.ParseDuration(arg)
		if err != nil || d <= 0 {
			return Condition{}, &Error{Err: fmt.Errorf("%q is not a duration", arg), Help: "write quiet=30s"}
		}
		return Condition{Quiet: d}, nil
	}
	return Condition{}, &Error{Err: fmt.Errorf("a wait for %q is not known", until), Help: "valid: exit, idle, text=RE, quiet=D"}
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
		c, err := ParseUntil(w.Until)
		if err != nil || c.Exit {
			continue // an exit is told by the exit
		}
		l.askWait(w, m.seen.Session, c)
	}
	return next
}

func (l *loop) askWait(w *waiting, name string, c Condition) {
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
func waitFor(ctx context.Context, p runtime.Provider, name string, c Condition) error {
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
		l.note(Event{Kind: EventWait, Agent: w.Agent, Why: w.Until, Detail: "met, but there is no agent " + w.Wake + " to wake"})
		return
	}
	n := l.book.NewNudge(session.Nudge{Agent: m.name(), Text: text, From: "wait " + w.ID}, 0)
	l.book.MeetWait(w.ID, n)
	l.nudges = append(l.nudges, &n)
	l.note(Event{Kind: EventWait, Agent: w.Agent, Why: w.Until, Detail: "met, " + w.Wake + " is woken"})
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
		if c, err := ParseUntil(w.Until); err == nil && c.Exit && w.Agent == m.seen.Agent {
			l.met(w)
		}
	}
}

// WaitRequest stores a wait: when it is met, Wake is woken with the note.
type WaitRequest struct {
	Agent string `json:"agent"`
	Until string `json:"until"` // exit, idle, text=RE, quiet=D
	Wake  string `json:"wake"`
	Note  string `json:"note,omitempty"`
}

func (l *loop) storeWait(ctx context.Context, q WaitRequest) (session.Wait, error) {
	var w session.Wait
	var ticket *session.Ticket
	_, err := ParseUntil(q.Until)
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
				err = fmt.Errorf("%w: %s is a pool of %d, name one member", ErrUnknownAgent, name, len(picked))
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

func (s *server) storeWait(w http.ResponseWriter, r *http.Request) {
	var q WaitRequest
	if !decode(w, r, &q) {
		return
	}
	stored, err := s.l.storeWait(r.Context(), q)
	if err != nil {
		fail(w, err)
		return
	}
	reply(w, stored)
}

func (s *server) waits(w http.ResponseWriter, r *http.Request) {
	list := []session.Wait{}
	if err := s.l.inLoop(r.Context(), func() {
		for _, one := range s.l.waits {
			list = append(list, one.Wait)
		}
	}); err != nil {
		fail(w, err)
		return
	}
	reply(w, list)
}

func (s *server) dropWait(w http.ResponseWriter, r *http.Request) {
	if err := s.l.dropWait(r.Context(), r.PathValue("id")); err != nil {
		fail(w, err)
		return
	}
	reply(w, struct{}{})
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

// StoreWait stores a wait; it is on disk when it returns, and goes on over any
// restart.
func (c *Client) StoreWait(ctx context.Context, q WaitRequest) (session.Wait, error) {
	var w session.Wait
	err := c.call(ctx, http.MethodPost, "/v1/waits", q, &w)
	return w, err
}

// Waits returns the stored waits that are not met.
func (c *Client) Waits(ctx context.Context) ([]session.Wait, error) {
	var list []session.Wait
	err := c.call(ctx, http.MethodGet, "/v1/waits", nil, &list)
	return list, err
}

// DropWait forgets a wait.
func (c *Client) DropWait(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/v1/waits/"+id, nil, nil)
}
