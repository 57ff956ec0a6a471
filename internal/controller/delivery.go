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
	idleChunk    = time.Minute     // one wait for an agent to become idle
	typeTimeout  = 2 * time.Minute // one try to type
	maxNudgeText = 1 << 20         // bytes
)

// readQueue takes up nudges and waits of an earlier controller.
func (l *loop) readQueue() error {
	list, err := l.book.Nudges()
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].Recover(l.book.Now()) {
			l.book.SaveNudge(list[i])
		}
		l.nudges = append(l.nudges, &list[i])
	}
	stored, err := l.book.Waits()
	for i := range stored {
		l.waits = append(l.waits, &waiting{Wait: stored[i]})
	}
	return err
}

// deliver moves queued nudges on and returns when it wants to be called again.
func (l *loop) deliver(now, next time.Time) time.Time {
	even := l.book.Now()
	busy := map[string]bool{}
	for _, n := range l.nudges {
		if n.State == session.NudgeDelivering {
			busy[n.Agent] = true
		}
	}
	for _, n := range l.nudges {
		if !n.Open() {
			continue
		}
		m := l.agentNamed(n.Agent)
		if id := l.incarnation(m); n.Fence(even, id) {
			l.nudgeMoved(n)
			continue
		}
		for _, at := range []time.Time{n.Expires, n.NotBefore} {
			if left := at.Sub(even); left > 0 && now.Add(left).Before(next) {
				next = now.Add(left)
			}
		}
		if busy[n.Agent] {
			continue // nudges of one agent are delivered in the order they came
		}
		busy[n.Agent] = true
		if m == nil || m.seen.Presence != plan.Alive || m.op != "" || m.delivering || !m.seen.Drain.Since.IsZero() || even.Before(n.NotBefore) {
			continue
		}
		if m.foreign {
			l.nudgeWaits(n, api.ErrForeign.Error())
			continue
		}
		l.tryNudge(m, n)
	}
	return next
}

func (l *loop) agentNamed(name string) *member {
	for _, m := range l.members {
		if m.spec != nil && m.seen.Agent == name {
			return m
		}
	}
	return nil
}

// incarnation is the session id of what runs, or of what ran last; "" when
// that is not known.
func (l *loop) incarnation(m *member) string {
	if m == nil || m.foreign || m.seen.Presence == plan.Unknown {
		return ""
	}
	return m.seen.Record.ID
}

// tryNudge waits until the agent is idle, in the background, then types.
func (l *loop) tryNudge(m *member, n *session.Nudge) {
	m.delivering = true
	id, name := m.seen.Record.ID, m.seen.Session
	if n.Immediate {
		l.typeNudge(m, n, id)
		return
	}
	w, ok := runtime.As[runtime.IdleWaitProvider](l.p)
	if !ok {
		m.delivering = false
		l.nudgeWaits(n, "whether the agent is idle cannot be told")
		return
	}
	ctx, cancel := context.WithCancel(l.opCtx)
	m.waitsWith, m.stopWaiting = n.ID, cancel
	l.work.Go(func() {
		err := w.WaitForIdle(ctx, name, idleChunk)
		cancel()
		l.post(func() {
			m.waitsWith, m.stopWaiting = "", nil
			if err == nil {
				l.typeNudge(m, n, id)
				return
			}
			m.delivering = false
			switch {
			case errors.Is(err, runtime.ErrSessionNotFound): // its exit is on the way
			case errors.Is(err, context.DeadlineExceeded):
				l.nudgeWaits(n, "the agent is not known to be idle")
			default:
				l.nudgeWaits(n, err.Error())
			}
		})
	})
}

// nudgeWaits keeps a nudge queued and says why.
func (l *loop) nudgeWaits(n *session.Nudge, why string) {
	if !n.Open() {
		return
	}
	if n.Postpone(l.book.Now(), oneLine(why)) == nil {
		l.book.SaveNudge(*n)
	}
}

// typeNudge types a leased nudge, once. The lease is on disk before.
func (l *loop) typeNudge(m *member, n *session.Nudge, id string) {
	now := l.book.Now()
	if m.seen.Record.ID != id || m.seen.Presence != plan.Alive || n.Begin(now, id, m.seen.Record.Epoch) != nil {
		m.delivering = false
		return
	}
	ticket, name, content := l.book.SaveNudge(*n), m.seen.Session, runtime.TextContent(n.Text)
	if n.Raw {
		content = runtime.RawContent(n.Text)
	}
	l.work.Go(func() {
		if err := ticket.Wait(); err != nil { // nothing was typed
			l.post(func() {
				m.delivering = false
				if n.Retry(l.book.Now(), "the city's records cannot be saved: "+oneLine(err.Error())) == nil {
					l.book.SaveNudge(*n)
				}
			})
			return
		}
		ctx, cancel := context.WithTimeout(l.opCtx, typeTimeout)
		r, err := l.p.Nudge(ctx, name, content)
		cancel()
		l.post(func() {
			m.delivering = false
			if n.End(l.book.Now(), r, err) == nil {
				l.nudgeMoved(n)
			}
		})
	})
}

// nudgeMoved writes and tells a change of a nudge's state.
func (l *loop) nudgeMoved(n *session.Nudge) {
	l.book.SaveNudge(*n)
	if n.State != session.NudgeQueued {
		l.note(api.Event{Kind: api.EventNudge, Agent: n.Agent, Why: string(n.State), Detail: n.Detail})
	}
}

// queue adds a nudge for the agent's incarnation of now, or for its next when
// it does not run.
func (l *loop) queue(ctx context.Context, q api.QueueRequest) (session.Nudge, error) {
	var n session.Nudge
	var ticket *session.Ticket
	var err error
	in := l.inLoop(ctx, func() {
		var picked []*member
		if picked, err = l.pick([]string{q.Agent}); err != nil {
			return
		}
		switch {
		case len(picked) != 1:
			err = fmt.Errorf("%w: %s is a pool of %d, name one member", api.ErrUnknownAgent, q.Agent, len(picked))
		case q.Text == "":
			err = errors.New("a nudge without text")
		case len(q.Text) > maxNudgeText:
			err = fmt.Errorf("a nudge has at most %d bytes", maxNudgeText)
		}
		if err != nil {
			return
		}
		n, ticket = l.enqueue(picked[0], session.Nudge{Text: q.Text, Immediate: q.Immediate, Raw: q.Raw}, q.TTL)
	})
	if err = errors.Join(in, err); err != nil {
		return n, err
	}
	if err := ticket.Wait(); err != nil { // acknowledged is on disk; what is not is forgotten
		_, e := l.forgetNudge(context.WithoutCancel(ctx), n.ID)
		return n, errors.Join(err, e)
	}
	return n, nil
}

func (l *loop) enqueue(m *member, n session.Nudge, ttl time.Duration) (session.Nudge, *session.Ticket) {
	n.Agent = m.name()
	if !m.foreign && (m.seen.Presence == plan.Alive || m.seen.Presence == plan.Zombie) {
		n.SessionID, n.Epoch = m.seen.Record.ID, m.seen.Record.Epoch
	}
	n = l.book.NewNudge(n, ttl)
	ticket := l.book.SaveNudge(n)
	l.nudges = append(l.nudges, &n)
	return n, ticket
}

// dropNudge forgets a nudge that is not being typed, also one whose delivery has
// begun. It is off the disk when dropNudge returns nil.
func (l *loop) dropNudge(ctx context.Context, id string) error {
	ticket, err := l.forgetNudge(ctx, id)
	if err != nil {
		return err
	}
	return forgotten("nudge "+id, ticket.Wait())
}

func (l *loop) forgetNudge(ctx context.Context, id string) (ticket *session.Ticket, err error) {
	in := l.inLoop(ctx, func() {
		i := slices.IndexFunc(l.nudges, func(n *session.Nudge) bool { return n.ID == id })
		switch {
		case i < 0:
			err = fmt.Errorf("no nudge %s", id)
			return
		case l.nudges[i].Drop(l.book.Now()) != nil: // whoever is about to type it finds it dropped
			err = fmt.Errorf("nudge %s is being delivered", id)
			return
		}
		l.nudges = slices.Delete(l.nudges, i, i+1)
		for _, m := range l.members {
			if m.waitsWith == id {
				m.stopWaiting()
			}
		}
		ticket = l.book.DeleteNudge(id)
	})
	return ticket, errors.Join(in, err)
}

// forgotten is the error of something that was dropped but is still on disk.
func forgotten(what string, err error) error {
	if err == nil {
		return nil
	}
	return api.Hinted("make room on the disk of the city's .gc folder", "%s is dropped, but comes back when the controller ends: %w", what, err)
}

// shown is a nudge with its times as the system's clock tells them.
func (l *loop) shown(n session.Nudge) session.Nudge {
	for _, t := range []*time.Time{&n.Created, &n.Expires, &n.NotBefore, &n.Lease, &n.Ended} {
		*t = l.book.Wall(*t)
	}
	return n
}
