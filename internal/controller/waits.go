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
	waitChunk = time.Hour        // for one query
	waitPause = 10 * time.Second // after a query that failed
)

// waitList watches stored waits, and turns those that are met into nudges.
type waitList struct {
	*core
	l    *loop
	list []*waiting
}

// waiting is a stored wait and its progress.
type waiting struct {
	session.Wait
	saving bool // not on disk yet: it must not wake its agent
	isMet  bool // while it was being saved
	asking bool
	cancel context.CancelFunc // ends the query in flight
	notYet time.Time          // do not ask before
}

// watch queries every stored wait whose agent runs, and returns when it wants to
// be called again.
func (wl *waitList) watch(now, next time.Time) time.Time {
	for _, w := range wl.list {
		ag := wl.l.agents.named(w.Agent)
		if w.asking || w.isMet || ag == nil || ag.foreign || ag.seen.Presence != plan.Alive || ag.op.name != "" {
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
			continue // exited handles it
		}
		wl.ask(w, ag.seen.Session, c)
	}
	return next
}

func (wl *waitList) ask(w *waiting, name string, c api.Condition) {
	ctx, cancel := context.WithCancel(wl.ops.ctx)
	w.asking, w.cancel = true, cancel
	wl.ops.Go(func() {
		err := waitFor(ctx, wl.p, name, c)
		cancel()
		wl.post(func() {
			w.asking = false
			if !slices.Contains(wl.list, w) {
				return // dropped meanwhile
			}
			if err == nil {
				wl.met(w)
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

// met replaces a wait by the nudge that reports it, once the wait is on disk.
func (wl *waitList) met(w *waiting) {
	if w.isMet = w.saving; w.saving {
		return
	}
	wl.forget(w.ID)
	text := fmt.Sprintf("gc wait: %s: %s", w.Agent, w.Until)
	if w.Note != "" {
		text += "\n" + w.Note
	}
	ag := wl.l.agents.named(w.Wake)
	if ag == nil {
		wl.store.DeleteWait(w.ID)
		wl.note(api.Event{Kind: api.EventWait, Agent: w.Agent, Why: w.Until, Detail: "met, but there is no agent " + w.Wake + " to wake"})
		return
	}
	n := wl.store.NewNudge(session.Nudge{Agent: ag.name(), Text: text, From: "wait " + w.ID}, 0)
	wl.store.MeetWait(w.ID, n)
	wl.l.nudges.list = append(wl.l.nudges.list, &n)
	wl.note(api.Event{Kind: api.EventWait, Agent: w.Agent, Why: w.Until, Detail: "met, " + w.Wake + " is woken"})
	ag.seen.Record.IdleStopped = false // a note wakes an idle-stopped agent
}

func (wl *waitList) forget(id string) {
	for i, w := range wl.list {
		if w.ID == id {
			wl.list = append(wl.list[:i:i], wl.list[i+1:]...)
			if w.asking {
				w.cancel()
			}
			return
		}
	}
}

// exited meets the waits for an agent's end.
func (wl *waitList) exited(ag *agentState) {
	for _, w := range append([]*waiting(nil), wl.list...) {
		if c, err := api.ParseUntil(w.Until); err == nil && c.Exit && w.Agent == ag.seen.Agent {
			wl.met(w)
		}
	}
}

func (c *calls) StoreWait(ctx context.Context, q api.WaitRequest) (session.Wait, error) {
	w := &waiting{saving: true}
	var stored session.Wait
	var commit *session.Commit
	if _, err := api.ParseUntil(q.Until); err != nil {
		return stored, err
	}
	err := c.call(ctx, func() error {
		ag, err := c.l.agents.pickOne(q.Agent)
		if err != nil {
			return err
		}
		wake, err := c.l.agents.pickOne(q.Wake)
		if err != nil {
			return err
		}
		stored = c.store.NewWait(session.Wait{Agent: ag.name(), Until: q.Until, Wake: wake.name(), Note: q.Note})
		w.Wait, commit = stored, c.store.SaveWait(stored)
		c.l.waits.list = append(c.l.waits.list, w)
		return nil
	})
	if err != nil {
		return stored, err
	}
	if err = commit.Wait(); err != nil { // not acknowledged: forget it
		c.store.DeleteWait(stored.ID)
		err = api.Hinted(roomHint, "the wait is not stored: %w", err)
	}
	_ = c.do(context.WithoutCancel(ctx), func() { c.l.waits.saved(w, err) }) // else the next controller reads the disk
	return stored, err
}

// saved begins a wait that is on disk, and forgets one that could not be saved.
func (wl *waitList) saved(w *waiting, err error) {
	w.saving = false
	switch {
	case err != nil:
		wl.forget(w.ID)
	case w.isMet && slices.Contains(wl.list, w): // else it was dropped meanwhile
		wl.met(w)
	}
}

// DropWait forgets a wait, even one about to be met. It is off the disk when
// DropWait returns nil.
func (c *calls) DropWait(ctx context.Context, id string) error {
	var commit *session.Commit
	if err := c.do(ctx, func() {
		c.l.waits.forget(id)
		commit = c.store.DeleteWait(id)
	}); err != nil {
		return err
	}
	return forgotten("wait "+id, commit.Wait())
}
