package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/outbox"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/mail"
	"gascity.dev/gc/internal/session"
	"gascity.dev/gc/runtime"
)

// drainStatus returns nil unless the agent is draining.
func (ag *agentState) drainStatus() *api.DrainStatus {
	d := &ag.seen.Drain
	if d.Since.IsZero() {
		return nil
	}
	return &api.DrainStatus{Since: d.Since, Until: d.Since.Add(d.Limit), Why: d.Why, Acked: d.Ack}
}

// inside finds the running agent that a request is about.
func (c *calls) inside(q api.InsideRequest) (*agentState, error) {
	ag, err := c.l.agents.pickOne(q.Agent)
	if err == nil && (q.Token == "" || ag.seen.Record.Token != q.Token) {
		return nil, api.Hinted("run it inside a session: GC_AGENT and GC_INSTANCE_TOKEN identify the agent", "%w: %s", api.ErrEarlierInstance, q.Agent)
	}
	return ag, err
}

// CheckInside implements api.FarCity.
func (c *calls) CheckInside(ctx context.Context, q api.InsideRequest) error {
	return c.call(ctx, func() error {
		_, err := c.inside(q)
		return err
	})
}

// markInside sets a key in the asking agent's metadata and observes the agent.
// It returns nil once the key is set.
func (c *calls) markInside(ctx context.Context, q api.InsideRequest, key string, check func(*agentState) error) error {
	var name string
	err := c.call(ctx, func() error {
		ag, err := c.inside(q)
		if err != nil {
			return err
		}
		name = ag.seen.Session
		return check(ag)
	})
	if err != nil {
		return err
	}
	if err := setMeta(ctx, c.p, name, map[string]string{key: "1"}); err != nil {
		return err
	}
	return c.do(ctx, c.l.observer.poke)
}

// AckDrain records that an agent may be ended.
func (c *calls) AckDrain(ctx context.Context, q api.InsideRequest) error {
	return c.markInside(ctx, q, agent.MetaDrainAck, func(ag *agentState) error {
		if ag.seen.Drain.Since.IsZero() && ag.op.name != opDrain {
			return api.Hinted("gc runtime drain starts one", "%w: %s", api.ErrNotDraining, ag.name())
		}
		return nil
	})
}

// RequestRestart records that an agent asks to be restarted.
func (c *calls) RequestRestart(ctx context.Context, q api.InsideRequest) error {
	return c.markInside(ctx, q, agent.MetaRestart, func(*agentState) error { return nil })
}

// DrainSelf is SetDrained for the asking agent.
func (c *calls) DrainSelf(ctx context.Context, q api.InsideRequest) error {
	err := c.call(ctx, func() error {
		_, err := c.inside(q)
		return err
	})
	if err != nil {
		return err
	}
	return c.SetDrained(ctx, []string{q.Agent}, true)
}

// farInbox applies what programs inside sessions on other machines say, each message once.
//
// A nudge, a wait and a drain are in city.db, and the id of their message with them, in one
// write. A drain-ack and a request for a restart are marks in the metadata of the session,
// set before the id is written: a controller that dies in between sets the same mark once
// more, and on the same incarnation only, because the message has that one's token. A letter
// has a key of its own, and what is done with it is a mark, too.
type farInbox struct {
	*core
	l       *loop
	taken   map[string]bool // ids of messages that were applied, and may still be in their outbox
	readers map[outbox.Outbox]context.CancelFunc

	following bool
}

var _ outbox.City = (*farInbox)(nil)

// With so many nudges and waits in the city, messages from other machines are left there.
const (
	maxOpenNudges = 10_000
	maxOpenWaits  = 1_000
)

func (in *farInbox) load() (err error) {
	in.taken, err = in.store.Taken()
	return err
}

// follow begins to read the outboxes that the config asks for, and leaves the others.
func (in *farInbox) follow() {
	if in.o.Outboxes == nil {
		return
	}
	readers := map[outbox.Outbox]context.CancelFunc{}
	for _, box := range in.o.Outboxes(in.o.City) {
		if readers[box] = in.readers[box]; readers[box] == nil {
			readers[box] = in.read(box)
		}
		delete(in.readers, box)
	}
	for _, leave := range in.readers {
		leave()
	}
	in.readers = readers
	if in.o.FollowOutboxes != nil && !in.following {
		in.following = true
		in.ops.Go(func() { in.o.FollowOutboxes(in.ops.ctx, func() { in.post(in.follow) }) })
	}
}

// read reads an outbox and answers requests from its machine, once it is known what runs.
func (in *farInbox) read(box outbox.Outbox) context.CancelFunc {
	ctx, cancel := context.WithCancel(in.ops.ctx)
	for _, name := range api.OutboxIDs(in.o.City.Dir) {
		r := outbox.Reader{Outbox: box, Name: name, City: in, Logf: func(format string, args ...any) {
			in.post(func() { in.logf(format, args...) })
		}}
		in.ops.Go(func() {
			if in.await(ctx, func() bool { return in.l.observer.done }) == nil {
				r.Run(ctx)
			}
		})
		asker, ok := box.(outbox.Asker)
		if !ok {
			continue
		}
		in.ops.Go(func() {
			if in.await(ctx, func() bool { return in.l.observer.done }) == nil {
				outbox.Answer(ctx, asker, name, func(ctx context.Context, request []byte) []byte { return api.AnswerFar(ctx, in.l.calls, request) })
			}
		})
	}
	return cancel
}

// Apply implements [outbox.City].
func (in *farInbox) Apply(ctx context.Context, from string, m outbox.Message) error {
	known := false
	if err := in.do(ctx, func() { known = in.taken[m.ID] }); err != nil {
		return err
	}
	if known {
		return in.saved(in.store.Flush())
	}
	q, err := api.ParseMessage(m.Body)
	if err != nil {
		return in.Refuse(ctx, from, m, err)
	}
	switch q.Kind {
	case api.MessageNudge:
		err = in.nudge(ctx, m.ID, q)
	case api.MessageWait:
		err = in.wait(ctx, m.ID, q)
	case api.MessageDrain, api.MessageUndrain:
		err = in.drain(ctx, m.ID, q)
	case api.MessageMail:
		err = in.letter(ctx, m.ID, q)
	case api.MessageMailAck:
		if err = in.l.calls.AckMail(ctx, api.MailQuery{InsideRequest: q.InsideRequest, IDs: q.Ack}); err == nil {
			err = in.applied(m.ID)
		}
	default:
		err = in.mark(ctx, m.ID, q)
	}
	for _, final := range []error{api.ErrUnknownAgent, api.ErrEarlierInstance, api.ErrNotDraining, api.ErrNoLetter, runtime.ErrSessionNotFound, runtime.ErrUnsupported} {
		if errors.Is(err, final) {
			return in.Refuse(ctx, from, m, fmt.Errorf("%s by %.200s: %w", q.Kind, q.Agent, err))
		}
	}
	return err
}

// Refuse implements [outbox.City].
func (in *farInbox) Refuse(ctx context.Context, from string, m outbox.Message, why error) error {
	var commit *session.Commit
	err := in.do(ctx, func() {
		in.note(api.Event{Kind: api.EventOutbox, Why: "refused", Detail: flat(fmt.Sprintf("a message from %s: %.500v", from, why))})
		commit = in.take(m.ID, in.store.Take(m.ID))
	})
	if err != nil {
		return err
	}
	return in.saved(commit)
}

// flat replaces line ends and other control characters by blanks.
func flat(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, s)
}

// Forget implements [outbox.City].
func (in *farInbox) Forget(id string) {
	in.post(func() {
		delete(in.taken, id)
		in.store.Forget(id)
	})
}

// take notes that a message was applied by the change in a commit.
func (in *farInbox) take(id string, commit *session.Commit) *session.Commit {
	in.taken[id] = true
	return commit
}

// saved waits until a commit is on disk, also over a disk that is full for a while: what
// it has is kept and written later. Only the controller's end cuts it short: a message
// that was taken takes effect even if its machine is no longer read.
func (in *farInbox) saved(commit *session.Commit) error {
	for said := false; ; commit = in.store.Flush() {
		err := commit.Wait()
		if err == nil {
			return nil
		}
		if !said {
			said = true
			in.post(func() { in.logf("messages from other machines wait: %v", err) })
		}
		if err := clock.Sleep(in.ops.ctx, time.Second); err != nil {
			return err
		}
	}
}

// sender checks that a message is from the newest incarnation of an agent, or the one
// before: a message may be under way when its sender ends.
func (in *farInbox) sender(q api.InsideRequest) (*agentState, error) {
	ag, err := in.l.agents.pickOne(q.Agent)
	if err != nil {
		return nil, err
	}
	if r := &ag.seen.Record; q.Token == "" || q.Token != r.Token && q.Token != r.TokenBefore {
		return nil, fmt.Errorf("%w: %s", api.ErrEarlierInstance, q.Agent)
	}
	return ag, nil
}

// nudge queues a nudge; id is that of its message.
func (in *farInbox) nudge(ctx context.Context, id string, m api.Message) error {
	var n session.Nudge
	var commit *session.Commit
	err := in.call(ctx, func() error {
		from, err := in.sender(m.InsideRequest)
		if err != nil {
			return err
		}
		ag, err := in.l.agents.pickOne(m.Nudge.Agent)
		if err != nil {
			return err
		}
		open := 0
		for _, n := range in.l.nudges.list {
			if n.Open() {
				open++
			}
		}
		if open >= maxOpenNudges {
			return fmt.Errorf("%d nudges are waiting in the city", open)
		}
		n = in.l.nudges.addressed(ag, session.Nudge{Text: m.Nudge.Text, By: "agent " + from.name(), Immediate: m.Nudge.Immediate, Raw: m.Nudge.Raw, Interrupt: m.Nudge.Interrupt}, m.Nudge.TTL)
		commit = in.take(id, in.store.TakeNudge(id, n))
		return nil
	})
	if err != nil {
		return err
	}
	if err := in.saved(commit); err != nil {
		return err
	}
	return in.do(in.ops.ctx, func() { in.l.nudges.insert(&n) })
}

// wait stores a wait; id is that of its message.
func (in *farInbox) wait(ctx context.Context, id string, m api.Message) error {
	var w session.Wait
	var commit *session.Commit
	err := in.call(ctx, func() error {
		if _, err := in.sender(m.InsideRequest); err != nil {
			return err
		}
		ag, err := in.l.agents.pickOne(m.Wait.Agent)
		if err != nil {
			return err
		}
		wake, err := in.l.agents.pickOne(m.Wait.Wake)
		if err != nil {
			return err
		}
		if n := len(in.l.waits.list); n >= maxOpenWaits {
			return fmt.Errorf("%d waits are stored in the city", n)
		}
		w = in.store.NewWait(session.Wait{Agent: ag.name(), Until: m.Wait.Until, Wake: wake.name(), Note: m.Wait.Note})
		commit = in.take(id, in.store.TakeWait(id, w))
		return nil
	})
	if err != nil {
		return err
	}
	if err := in.saved(commit); err != nil {
		return err
	}
	return in.do(in.ops.ctx, func() { in.l.waits.list = append(in.l.waits.list, &waiting{Wait: w}) })
}

// drain is DrainSelf, or takes it back; id is that of the message.
func (in *farInbox) drain(ctx context.Context, id string, m api.Message) error {
	var commit *session.Commit
	err := in.call(ctx, func() error {
		ag, err := in.l.calls.inside(m.InsideRequest)
		if err != nil {
			return err
		}
		ag.seen.Record.Drained = m.Kind == api.MessageDrain
		in.l.save(ag)
		commit = in.take(id, in.store.TakeRecord(id, ag.seen.Record))
		in.l.observer.next = time.Now() // observe at once
		return nil
	})
	if err != nil {
		return err
	}
	return in.saved(commit)
}

// mark is AckDrain or RequestRestart, once it is known whether the session exists.
func (in *farInbox) mark(ctx context.Context, id string, m api.Message) error {
	err := in.call(ctx, func() error {
		ag, err := in.l.calls.inside(m.InsideRequest)
		switch {
		case err != nil:
			return err
		case ag.seen.Presence == plan.Unknown:
			return fmt.Errorf("%s: %w", ag.name(), runtime.ErrBackendUnreachable)
		case ag.seen.Presence == plan.Gone:
			return fmt.Errorf("%s: %w", ag.name(), runtime.ErrSessionNotFound)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if m.Kind == api.MessageDrainAck {
		err = in.l.calls.AckDrain(ctx, m.InsideRequest)
	} else {
		err = in.l.calls.RequestRestart(ctx, m.InsideRequest)
	}
	if err != nil {
		return err
	}
	return in.applied(id)
}

// applied records that a message had its effect, which is on disk elsewhere.
func (in *farInbox) applied(id string) error {
	var commit *session.Commit
	if err := in.do(in.ops.ctx, func() { commit = in.take(id, in.store.Take(id)) }); err != nil {
		return err
	}
	return in.saved(commit)
}

// letter sends a letter. It is on disk before the id of its message, and has a key of its
// own: sent again by the next controller, it is the same letter.
func (in *farInbox) letter(ctx context.Context, id string, m api.Message) error {
	var l mail.Letter
	var commit *session.Commit
	var again bool
	err := in.call(ctx, func() error {
		ag, err := in.sender(m.InsideRequest)
		if err == nil {
			l, commit, again, err = in.l.mail.add(caller{ag, "agent " + ag.name()}, *m.Mail)
		}
		return err
	})
	if err != nil {
		return err
	}
	if commit != nil {
		err = commit.Wait()
		if !again {
			err = errors.Join(err, in.do(in.ops.ctx, func() { in.l.mail.added(l, err) }))
		}
	}
	if err != nil {
		return err
	}
	return in.applied(id)
}
