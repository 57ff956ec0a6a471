package controller

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/runtime"
)

// Background is where background commands run, and where their ends wait for
// owners that have no session there: agents that sleep, and those that another
// provider hosts.
type Background interface {
	// Follow calls changed once it follows and whenever something may wait
	// that did not, until ctx ends or the connection is lost.
	Follow(ctx context.Context, changed func()) error
	// Away returns the deliveries that are open for such owners, oldest first.
	Away(ctx context.Context) ([]process.Delivery, error)
	// Claim takes what is due to one of them in the name of by, durably; nobody
	// else types it then. Batch is "" when there is nothing to type.
	Claim(ctx context.Context, owner, by string) (batch string, events []string, text string, err error)
	// Settle says what became of a claim: Delivered, Dead, or Pending when it is
	// to be tried again. Idempotent.
	Settle(ctx context.Context, batch string, state process.DeliveryState, detail string) error
}

const (
	followPause   = 5 * time.Second // between tries to follow: there may be no multiplexer yet
	endsPause     = 2 * time.Second // after a try to tell that failed
	boundaryQuiet = 2 * time.Second // of no output: where an agent's word that it is idle is not to be had
	boundaryLook  = 500 * time.Millisecond
	restTime      = 500 * time.Millisecond // of no change: what was typed is shown, and Enter is no newline of a paste
	restLook      = 100 * time.Millisecond
	restLimit     = 10 * time.Second
	draftLimit    = 2 * time.Second // for a draft to leave the cursor's line after Enter
)

// ends is what the loop knows of background commands that wait for its agents.
type ends struct {
	asking, again bool
	open          map[string][]process.Delivery // by the owner's session
}

// followEnds keeps the loop told of ends, until every operation is ended.
func (l *loop) followEnds() {
	if l.o.Background == nil {
		return
	}
	l.work.Go(func() {
		for l.opCtx.Err() == nil {
			_ = l.o.Background.Follow(l.opCtx, func() { l.post(l.askEnds) })
			pause(l.opCtx, followPause)
		}
	})
}

// pause waits for d; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// askEnds asks what waits, in the background, one question at a time.
func (l *loop) askEnds() {
	e := &l.ends
	if e.asking {
		e.again = true
		return
	}
	e.asking, e.again = true, false
	l.work.Go(func() {
		list, err := ask(l.opCtx, l.o.Background.Away)
		l.post(func() {
			e.asking = false
			if err == nil {
				e.open = map[string][]process.Delivery{}
				for _, d := range list {
					e.open[d.Owner] = append(e.open[d.Owner], d)
				}
			}
			if e.again {
				l.askEnds()
			}
		})
	})
}

// tellEnds wakes who sleeps while an end waits for it, tells those who run
// elsewhere, and returns when it wants to be called again.
func (l *loop) tellEnds(now, next time.Time) time.Time {
	for owner, list := range l.ends.open {
		m := l.members[owner]
		if m == nil || m.spec == nil || m.op != "" {
			continue
		}
		if r := &m.seen.Record; m.seen.Presence == plan.Gone && r.Asleep && !r.Stopped && !r.Drained && l.suspendedBy(m) == "" {
			m.seen.Record.Asleep = false
			l.save(m)
			l.noteAgent(m, api.EventCommand, "wakes it", list[0].Event)
			continue
		}
		if m.foreign || m.seen.Presence != plan.Alive || m.delivering || !m.seen.Drain.Since.IsZero() {
			continue
		}
		at, ok := m.tellAt, !now.Before(m.tellAt)
		if ok {
			at, ok = dueEnds(list, l.o.City.Dir, now)
		}
		switch {
		case ok:
			l.tell(m, ownBatches(list, l.o.City.Dir))
		case !at.IsZero() && at.Before(next):
			next = at
		}
	}
	return next
}

// dueEnds reports whether one of the deliveries can be told now, or is in the
// hands of by; else when the first can be, zero for not known.
func dueEnds(list []process.Delivery, by string, now time.Time) (at time.Time, ok bool) {
	for i := range list {
		d := &list[i]
		switch {
		case d.State == process.Injecting && d.By == by, d.Due(now):
			return time.Time{}, true
		case d.State == process.Pending && (at.IsZero() || d.Next.Before(at)):
			at = d.Next
		}
	}
	return at, false
}

// ownBatches are the messages that by claimed and did not settle, with the
// events of each.
func ownBatches(list []process.Delivery, by string) map[string][]string {
	own := map[string][]string{}
	for _, d := range list {
		if d.State == process.Injecting && d.By == by {
			own[d.Batch] = append(own[d.Batch], d.Event)
		}
	}
	return own
}

// tell finds out what became of messages of an earlier try, or types the next
// one. While it does, nothing else is typed for the queue.
func (l *loop) tell(m *member, own map[string][]string) {
	m.delivering = true
	t := teller{p: l.p, b: l.o.Background, session: m.seen.Session, by: l.o.City.Dir}
	l.work.Go(func() {
		done, err := t.tell(l.opCtx, own)
		l.post(func() {
			m.delivering = false
			m.tellAt = time.Time{}
			if err != nil || done == "" {
				m.tellAt = time.Now().Add(endsPause)
			}
			if err != nil && l.opCtx.Err() == nil {
				l.logf("%s: the end of a background command waits: %v", m.name(), err)
			}
			if done != "" {
				l.noteAgent(m, api.EventCommand, string(done), t.detail)
			}
			l.askEnds()
		})
	})
}

// teller tells one session of ended commands, once.
type teller struct {
	p       runtime.Provider
	b       Background
	session string
	by      string
	detail  string // of what became of it
}

// tell settles the claims of an earlier try, or else makes one of its own. The
// state is what the last message came to, "" when there was none.
func (t *teller) tell(ctx context.Context, own map[string][]string) (state process.DeliveryState, err error) {
	for batch, events := range own {
		if state, err = t.settle(ctx, batch, events, process.Pending, "the controller was restarted before it was typed"); err != nil {
			return state, err
		}
	}
	if len(own) > 0 {
		return state, nil
	}
	if err := awaitBoundary(ctx, t.p, t.session); err != nil {
		return "", err
	}
	batch, events, text, err := t.b.Claim(ctx, t.session, t.by)
	if err != nil || batch == "" {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, typeTimeout)
	r, err := t.p.Nudge(limited, t.session, runtime.TextContent(text))
	cancel()
	if ctx.Err() != nil {
		return "", ctx.Err() // the next controller finds out
	}
	switch {
	case err == nil && r.State == runtime.Submitted:
		return process.Delivered, t.b.Settle(ctx, batch, process.Delivered, "")
	case errors.Is(err, runtime.ErrSessionNotFound):
		return process.Pending, t.b.Settle(ctx, batch, process.Pending, "the session ended before it was typed")
	case err != nil:
		return t.settle(ctx, batch, events, process.Dead, "it may have been typed: "+oneLine(err.Error()))
	case r.State == runtime.Unverified:
		return t.settle(ctx, batch, events, process.Dead, "unverified: typed and entered, and not typed again: "+r.Detail)
	}
	return t.settle(ctx, batch, events, process.Pending, joinReceipt(r))
}

func joinReceipt(r runtime.Receipt) string {
	text := string(r.State)
	for _, more := range []string{r.By, r.Detail} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// settle looks for the tags of a message that may have been typed: when they
// stand there it was delivered, after Enter where they are a draft still; else
// the state is what it comes to.
func (t *teller) settle(ctx context.Context, batch string, events []string, state process.DeliveryState, detail string) (process.DeliveryState, error) {
	if err := t.rest(ctx); err != nil {
		return "", err
	}
	shown, draft, err := t.look(ctx, events)
	switch {
	case err != nil:
		return "", err // unknown: it stays claimed, and is looked for again
	case shown && draft:
		taken, err := t.submit(ctx, events)
		if errors.Is(err, runtime.ErrUnsupported) {
			t.detail = "unverified: it was typed, and cannot be taken back here, so it is not typed again"
			return process.Dead, t.b.Settle(ctx, batch, process.Dead, t.detail)
		}
		if err != nil {
			return "", err
		}
		state, detail = process.Delivered, "it stood in the composer and was submitted"
		if !taken {
			if err := t.p.SendKeys(ctx, t.session, "C-u"); err != nil {
				return "", err
			}
			state, detail = process.Pending, "typed, not submitted, and taken out of the composer again"
		}
	case shown:
		state, detail = process.Delivered, "it stands on the screen"
	}
	t.detail = detail
	return state, t.b.Settle(ctx, batch, state, detail)
}

// rest waits until the screen stands still, restLimit at most. A program on a busy
// machine may not have shown yet what was typed just before a controller died;
// and to an Enter that comes with it agents listen as to a newline in a paste.
func (t *teller) rest(ctx context.Context) error {
	last, since := "", time.Time{}
	for begin := time.Now(); time.Since(begin) < restLimit; {
		text, err := ask(ctx, func(ctx context.Context) (string, error) { return t.p.Peek(ctx, t.session, screenLines) })
		switch {
		case errors.Is(err, runtime.ErrSessionNotFound):
			return nil
		case err != nil:
			return err
		case since.IsZero() || text != last:
			last, since = text, time.Now()
		case time.Since(since) >= restTime:
			return nil
		}
		if !pause(ctx, restLook) {
			return ctx.Err()
		}
	}
	return nil
}

// look finds the tags on the screen and in the history. draft: they stand on
// the cursor's line, or where that cannot be told on the last one.
func (t *teller) look(ctx context.Context, events []string) (shown, draft bool, err error) {
	text, err := ask(ctx, func(ctx context.Context) (string, error) { return t.p.Peek(ctx, t.session, 0) })
	if errors.Is(err, runtime.ErrSessionNotFound) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	lines := strings.Split(strings.TrimRight(text, "\n "), "\n")
	line := lines[len(lines)-1]
	if c, ok, err := runtime.AsFor[runtime.CursorLineProvider](ctx, t.p, t.session); err != nil {
		return false, false, err
	} else if ok {
		if line, err = ask(ctx, func(ctx context.Context) (string, error) { return c.CursorLine(ctx, t.session) }); err != nil {
			return false, false, err
		}
	}
	all, line := squeeze(text), squeeze(line)
	for _, id := range events {
		tag := squeeze(process.Tag(id))
		if !strings.Contains(all, tag) {
			return false, false, nil
		}
		// A tag that is wrapped has its end alone on the cursor's line.
		draft = draft || strings.Contains(line, tag) || line != "" && strings.HasSuffix(tag, line)
	}
	return true, draft, nil
}

// squeeze drops the white space, which wrapping changes.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// submit presses Enter behind a message of gc's own that stands in the composer,
// and reports whether it left it.
func (t *teller) submit(ctx context.Context, events []string) (taken bool, err error) {
	if err := t.p.SendKeys(ctx, t.session, "Enter"); err != nil {
		return false, err
	}
	for begin := time.Now(); time.Since(begin) < draftLimit; {
		shown, draft, err := t.look(ctx, events)
		if err != nil || shown && !draft {
			return err == nil, err
		}
		if !pause(ctx, boundaryLook) {
			return false, ctx.Err()
		}
	}
	return false, nil
}

// awaitBoundary waits until a session takes a message: it is known to be idle,
// or says nothing of itself and is quiet.
func awaitBoundary(ctx context.Context, p runtime.Provider, name string) error {
	last, since := "", time.Time{}
	for {
		busy, now, err := outputOf(ctx, p, name)
		if err != nil {
			return err
		}
		switch {
		case busy || since.IsZero() || now != last:
			last, since = now, time.Now()
		case time.Since(since) >= boundaryQuiet:
			return nil
		}
		w, ok, err := runtime.AsFor[runtime.IdleWaitProvider](ctx, p, name)
		if err != nil {
			return err
		}
		if ok {
			err = w.WaitForIdle(ctx, name, boundaryQuiet)
			if err == nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, runtime.ErrUnsupported) {
				return err
			}
		}
		if !pause(ctx, boundaryLook) {
			return ctx.Err()
		}
	}
}

// outputOf reports whether a session says that it works or asks something, and
// what changes with its output: the time of it, or where that is not told the
// screen.
func outputOf(ctx context.Context, p runtime.Provider, name string) (busy bool, mark string, err error) {
	doing, err := ask(ctx, func(ctx context.Context) (runtime.SessionActivity, error) { return activityOf(ctx, p, name) })
	if err != nil {
		return false, "", err
	}
	busy = doing.State == runtime.ActivityWorking || doing.State == runtime.ActivityBlocked
	if !doing.Last.IsZero() {
		return busy, doing.Last.String(), nil
	}
	mark, err = ask(ctx, func(ctx context.Context) (string, error) { return p.Peek(ctx, name, screenLines) })
	return busy, mark, err
}
