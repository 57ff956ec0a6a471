package controller

import (
	"context"
	"os"
	"time"

	"gascity.dev/gc/internal/attention"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/internal/notify"
	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/internal/session"
)

// Attention returns what needs somebody.
func (c *calls) Attention(ctx context.Context) ([]api.Attention, error) {
	st, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	nudges, err := c.Nudges(ctx)
	if err != nil {
		return nil, err
	}
	var ends []process.Delivery
	if b := c.o.Background; b != nil { // without an answer, what else is known counts
		ends, _ = query.Ask(ctx, b.Dead)
	}
	return attention.Of(st.Agents, nudges, ends), nil
}

// cityNotify is the city as its notifier sees it.
type cityNotify struct{ *calls }

// notify tells a person of what needs somebody, until the workers end.
func (l *loop) notify() {
	l.changes = make(chan struct{}, 1)
	n := notify.Notifier{City: cityNotify{l.calls}, Dir: l.o.City.Dir, Env: append(os.Environ(), "GC_CITY_PATH="+l.o.City.Dir), Now: time.Now}
	l.ops.Go(func() { n.Run(l.ops.ctx, l.changes) })
}

// changed lets the notifier look, for an event that may concern it.
func (j *journal) changed(e api.Event) {
	switch e.Kind {
	case api.EventStatus, api.EventQuestion, api.EventAnswered, api.EventExited, api.EventCrashed, api.EventQuarantined, api.EventStartFailed,
		api.EventStarted, api.EventRelaunched, api.EventNudge, api.EventConfigReloaded, api.EventWarning:
		j.lookSoon()
	}
}

// lookSoon lets the notifier look.
func (j *journal) lookSoon() {
	select {
	case j.changes <- struct{}{}:
	default: // it will look anyway, or there is none
	}
}

// Notify implements [notify.City].
func (n cityNotify) Notify() config.Notify {
	var c config.Notify
	_ = n.do(n.l.ops.ctx, func() { c = n.l.o.City.Notify }) // the city ends: no command
	return c
}

// Told implements [notify.City].
func (n cityNotify) Told() (map[string]time.Time, error) { return n.l.store.Told() }

// SetTold implements [notify.City].
func (n cityNotify) SetTold(ctx context.Context, told map[string]time.Time) error {
	var saved *session.Commit
	if err := n.do(ctx, func() { saved = n.l.store.SaveTold(told) }); err != nil {
		return err
	}
	return saved.Wait()
}

// Failed implements [notify.City].
func (n cityNotify) Failed(why string) {
	n.l.post(func() { n.l.note(api.Event{Kind: api.EventNotify, Why: "failed", Detail: oneLine(why)}) })
}
