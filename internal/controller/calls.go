package controller

import (
	"context"
	"errors"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
)

// calls is the controller as clients see it. Its methods run on the callers'
// goroutines and use the loop through do and await.
type calls struct{ l *loop }

var _ api.City = calls{}

func (c calls) Status(ctx context.Context) (api.Status, error) { return c.l.currentStatus(ctx) }

func (c calls) Stop(ctx context.Context, r api.StopRequest) error {
	l := c.l
	err := l.inLoop(ctx, func() { l.shutdownWithin(r.Limit(l.o.City.Daemon.ShutdownTimeout)) })
	if err != nil {
		return err
	}
	if err := l.awaitIn(ctx, func() bool { return l.stopDone }); err != nil && !errors.Is(err, api.ErrShuttingDown) {
		return err
	}
	<-l.done
	return l.stopErr
}

func (c calls) Poke(ctx context.Context) error { return c.l.inLoop(ctx, c.l.poke) }

// Reload returns when city.toml has been read; a broken file is the error.
func (c calls) Reload(ctx context.Context) error {
	l, reads := c.l, 0
	err := l.inLoop(ctx, func() {
		if reads = l.reads + 1; l.reading {
			reads++ // the read in flight may have begun too early
		}
		l.reload()
	})
	if err == nil {
		err = l.awaitIn(ctx, func() bool { return l.reads >= reads })
	}
	var bad error
	if err == nil {
		err = l.inLoop(ctx, func() {
			if l.configErr != "" {
				bad = api.Hinted(l.configHint, "%s", l.configErr)
			}
		})
	}
	return errors.Join(err, bad)
}

func (c calls) Restart(ctx context.Context, agents []string) error {
	return c.l.restartAgents(ctx, agents)
}
func (c calls) StopAgents(ctx context.Context, agents []string) error {
	return c.l.stopAgents(ctx, agents)
}
func (c calls) SetSuspended(ctx context.Context, agents []string, on bool) error {
	return c.l.setSuspended(ctx, agents, on)
}
func (c calls) SetRigsSuspended(ctx context.Context, rigs []string, on bool) error {
	return c.l.setRigs(ctx, rigs, on)
}
func (c calls) SetDrained(ctx context.Context, agents []string, on bool) error {
	return c.l.setDrained(ctx, agents, on)
}
func (c calls) DrainSelf(ctx context.Context, r api.InsideRequest) error {
	return c.l.drainSelf(ctx, r)
}
func (c calls) AckDrain(ctx context.Context, r api.InsideRequest) error { return c.l.ackDrain(ctx, r) }
func (c calls) RequestRestart(ctx context.Context, r api.InsideRequest) error {
	return c.l.requestRestart(ctx, r)
}

func (c calls) Queue(ctx context.Context, r api.QueueRequest) (session.Nudge, error) {
	n, err := c.l.queue(ctx, r)
	return c.l.shown(n), err
}

func (c calls) Nudges(ctx context.Context) ([]session.Nudge, error) {
	list := []session.Nudge{}
	err := c.l.inLoop(ctx, func() {
		for _, n := range c.l.nudges {
			list = append(list, c.l.shown(*n))
		}
	})
	return list, err
}

func (c calls) DropNudge(ctx context.Context, id string) error { return c.l.dropNudge(ctx, id) }

func (c calls) StoreWait(ctx context.Context, r api.WaitRequest) (session.Wait, error) {
	return c.l.storeWait(ctx, r)
}

func (c calls) Waits(ctx context.Context) ([]session.Wait, error) {
	list := []session.Wait{}
	err := c.l.inLoop(ctx, func() {
		for _, w := range c.l.waits {
			list = append(list, w.Wait)
		}
	})
	return list, err
}

func (c calls) DropWait(ctx context.Context, id string) error { return c.l.dropWait(ctx, id) }

func (c calls) Events(after uint64) ([]api.Event, error) { return c.l.book.Events(after, 0) }
func (c calls) Feed() *api.Feed                          { return &c.l.feed }
