package controller

import (
	"context"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/internal/process"
)

// Background is where background commands run. Their completions wait there for
// owners without a session: idle-stopped agents, and agents of other providers.
type Background interface {
	// Follow calls changed when it has connected and whenever a delivery may
	// have been added, until ctx ends or the connection is lost.
	Follow(ctx context.Context, changed func()) error
	// Away returns the open deliveries to such owners, oldest first.
	Away(ctx context.Context) ([]process.Delivery, error)
	// Dead returns the deliveries that were given up, while they are kept.
	Dead(ctx context.Context) ([]process.Delivery, error)
	// Claim durably claims the deliveries due to one of them in the name of by,
	// which alone may type them then. Batch is "" if nothing is due.
	Claim(ctx context.Context, owner, by string) (batch string, events []string, text string, err error)
	// Settle reports the outcome of a claim: Delivered, Dead, or Pending for
	// another try. Idempotent.
	Settle(ctx context.Context, batch string, state process.DeliveryState, detail string) error
}

const (
	followPause = 5 * time.Second // between tries to follow: the multiplexer may not run yet
	endsPause   = 2 * time.Second // after a try that failed
)

// completions delivers the ends of background commands to agents that the
// multiplexer does not reach.
type completions struct {
	*core
	l        *loop
	inFlight bool                          // a fetch of open
	again    bool                          // fetch once more
	open     map[string][]process.Delivery // by owner's session
}

// follow fetches the open deliveries whenever they change, until the operations
// end.
func (co *completions) follow() {
	if co.o.Background == nil {
		return
	}
	co.ops.Go(func() {
		for co.ops.ctx.Err() == nil {
			_ = co.o.Background.Follow(co.ops.ctx, func() { co.post(co.fetch) })
			_ = clock.Sleep(co.ops.ctx, followPause)
		}
	})
}

// fetch reads the open deliveries in the background, one query at a time.
func (co *completions) fetch() {
	e := co
	e.lookSoon() // a delivery may have been given up
	if e.inFlight {
		e.again = true
		return
	}
	e.inFlight, e.again = true, false
	co.ops.Go(func() {
		list, err := query.Ask(co.ops.ctx, co.o.Background.Away)
		co.post(func() {
			e.inFlight = false
			if err == nil {
				e.open = map[string][]process.Delivery{}
				for _, d := range list {
					e.open[d.Owner] = append(e.open[d.Owner], d)
				}
			}
			if e.again {
				co.fetch()
			}
		})
	})
}

// deliver wakes idle-stopped agents whose background commands have ended, types
// the ends to agents of other providers, and returns when it wants to be called
// again.
func (co *completions) deliver(now, next time.Time) time.Time {
	city := co.o.City.Dir
	for owner, list := range co.open {
		ag := co.l.agents.all[owner]
		kind, at := plan.Completions(list, co.l.recipient(ag), city, now)
		switch {
		case kind == plan.ActWake:
			ag.seen.Record.IdleStopped = false
			co.l.save(ag)
			co.noteAgent(ag, api.EventCommand, "wakes it", list[0].Event)
		case kind == plan.ActReport:
			co.begin(ag, ownBatches(list, city))
		case !at.IsZero() && at.Before(next):
			next = at
		}
	}
	return next
}

// ownBatches are the messages that by claimed and has not settled, with the
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

// begin resolves the messages of an earlier try, or types the next one. Nudges
// wait meanwhile.
func (co *completions) begin(ag *agentState, own map[string][]string) {
	ag.typing.busy = true
	name := ag.seen.Session
	t := claimer{agent: query.Agent{Provider: co.p, Session: name}, b: co.o.Background, session: name, by: co.o.City.Dir}
	co.ops.Go(func() {
		done, detail, err := t.deliver(co.ops.ctx, own)
		co.post(func() {
			ag.typing.busy = false
			ag.typing.notBefore = time.Time{}
			if err != nil || done == "" {
				ag.typing.notBefore = time.Now().Add(endsPause)
			}
			if err != nil && co.ops.ctx.Err() == nil {
				co.logf("%s: cannot deliver the end of a background command yet: %v", ag.name(), err)
			}
			if done != "" {
				co.noteAgent(ag, api.EventCommand, string(done), detail)
			}
			co.fetch()
		})
	})
}

// claimer delivers ends to one session, once.
type claimer struct {
	agent   query.Agent
	b       Background
	by      string
	session string
}

// deliver resolves the claims of an earlier try, or else makes one of its own. The
// state is that of the last message, "" if there was none.
func (t *claimer) deliver(ctx context.Context, own map[string][]string) (state process.DeliveryState, detail string, err error) {
	for batch, events := range own {
		a := delivery.Attempt{Agent: t.agent, Tags: tags(events)}
		state, detail, err = a.Resolve(ctx, process.Pending, "the controller was restarted before it was typed")
		if err = t.settle(ctx, batch, state, detail, err); err != nil {
			return state, detail, err
		}
	}
	if len(own) > 0 {
		return state, detail, nil
	}
	if err := t.agent.AwaitIdle(ctx); err != nil {
		return "", "", err
	}
	batch, events, text, err := t.b.Claim(ctx, t.session, t.by)
	if err != nil || batch == "" {
		return "", "", err
	}
	a := delivery.Attempt{Agent: t.agent, Tags: tags(events)}
	state, detail, err = a.Type(ctx, text)
	return state, detail, t.settle(ctx, batch, state, detail, err)
}

// settle reports the outcome of a claim. After an error the outcome is unknown:
// the message stays claimed, and the next try resolves it.
func (t *claimer) settle(ctx context.Context, batch string, state process.DeliveryState, detail string, err error) error {
	if err != nil {
		return err
	}
	return t.b.Settle(ctx, batch, state, detail)
}

func tags(events []string) []string {
	list := make([]string, 0, len(events))
	for _, id := range events {
		list = append(list, process.Tag(id))
	}
	return list
}
