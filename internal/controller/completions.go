package controller

import (
	"context"
	"time"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/delivery"
	"gascity.dev/gc/internal/process"
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
	followPause = 5 * time.Second // between tries to follow: there may be no multiplexer yet
	endsPause   = 2 * time.Second // after a try to tell that failed
)

// completions tells agents of their ended background commands, as far as the
// multiplexer does not.
type completions struct {
	l        *loop
	inFlight bool                          // a fetch of open
	again    bool                          // fetch once more
	open     map[string][]process.Delivery // by the owner's session
}

// followEnds keeps the loop told of ends, until every operation is ended.
func (co *completions) follow() {
	if co.l.o.Background == nil {
		return
	}
	co.l.ops.Go(func() {
		for co.l.ops.ctx.Err() == nil {
			_ = co.l.o.Background.Follow(co.l.ops.ctx, func() { co.l.post(co.fetch) })
			pause(co.l.ops.ctx, followPause)
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
func (co *completions) fetch() {
	e := co
	if e.inFlight {
		e.again = true
		return
	}
	e.inFlight, e.again = true, false
	co.l.ops.Go(func() {
		list, err := ask(co.l.ops.ctx, co.l.o.Background.Away)
		co.l.post(func() {
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

// deliver wakes idle-stopped agents whose background commands have ended, reports
// the ends to those that another provider hosts, and returns when it wants to be
// called again.
func (co *completions) deliver(now, next time.Time) time.Time {
	city := co.l.o.City.Dir
	for owner, list := range co.open {
		ag := co.l.agents.all[owner]
		kind, at := plan.Completions(list, co.l.recipient(ag), city, now)
		switch {
		case kind == plan.ActWake:
			ag.seen.Record.IdleStopped = false
			co.l.save(ag)
			co.l.noteAgent(ag, api.EventCommand, "wakes it", list[0].Event)
		case kind == plan.ActReport:
			co.tell(ag, ownBatches(list, city))
		case !at.IsZero() && at.Before(next):
			next = at
		}
	}
	return next
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
func (co *completions) tell(ag *agentState, own map[string][]string) {
	ag.typing.busy = true
	name := ag.seen.Session
	t := teller{agent: providerAgent{co.l.p, name}, b: co.l.o.Background, session: name, by: co.l.o.City.Dir}
	co.l.ops.Go(func() {
		done, detail, err := t.tell(co.l.ops.ctx, own)
		co.l.post(func() {
			ag.typing.busy = false
			ag.typing.notBefore = time.Time{}
			if err != nil || done == "" {
				ag.typing.notBefore = time.Now().Add(endsPause)
			}
			if err != nil && co.l.ops.ctx.Err() == nil {
				co.l.logf("%s: the end of a background command waits: %v", ag.name(), err)
			}
			if done != "" {
				co.l.noteAgent(ag, api.EventCommand, string(done), detail)
			}
			co.fetch()
		})
	})
}

// teller tells one session of ended commands, once.
type teller struct {
	agent   providerAgent
	b       Background
	by      string
	session string
}

// tell resolves the claims of an earlier try, or else makes one of its own. The
// state is what the last message came to, "" if there was none.
func (t *teller) tell(ctx context.Context, own map[string][]string) (state process.DeliveryState, detail string, err error) {
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

// settle reports what became of a claim. With an error that is unknown: it stays
// claimed, and is resolved by the next try.
func (t *teller) settle(ctx context.Context, batch string, state process.DeliveryState, detail string, err error) error {
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
