package controller

import (
	"context"
	"errors"
	"io"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/session"
)

// calls serves the clients. Its methods run on the callers' goroutines and reach
// the loop through do and await.
type calls struct {
	*core
	l *loop
}

var _ api.City = (*calls)(nil)

// HostStream implements api.City.
func (c *calls) HostStream(host string) func(ctx context.Context, rw io.ReadWriteCloser) error {
	if c.o.HostStream == nil {
		return nil
	}
	return c.o.HostStream(host)
}

func (c *calls) Stop(ctx context.Context, r api.StopRequest) error {
	l := c.l
	err := l.do(ctx, func() { l.shutdown.within(r.Limit(l.o.City.Daemon.ShutdownTimeout)) })
	if err != nil {
		return err
	}
	if err := l.await(ctx, func() bool { return l.shutdown.done }); err != nil && !errors.Is(err, api.ErrShuttingDown) {
		return err
	}
	<-l.done
	return l.shutdown.err
}

func (c *calls) Poke(ctx context.Context) error { return c.do(ctx, c.l.observer.poke) }

// Reload returns once city.toml has been read; a broken file is the error.
func (c *calls) Reload(ctx context.Context) error {
	l, reads := c.l, 0
	err := l.do(ctx, func() {
		if reads = l.config.reads + 1; l.config.reading {
			reads++ // the read in flight may have begun too early
		}
		l.config.reload()
	})
	if err == nil {
		err = l.await(ctx, func() bool { return l.config.reads >= reads })
	}
	var bad error
	if err == nil {
		err = l.do(ctx, func() {
			if l.config.err != "" {
				bad = api.Hinted(l.config.hint, "%s", l.config.err)
			}
		})
	}
	return errors.Join(err, bad)
}

func (c *calls) Nudges(ctx context.Context) ([]session.Nudge, error) {
	list := []session.Nudge{}
	err := c.do(ctx, func() {
		for _, n := range c.l.nudges.list {
			list = append(list, c.l.nudges.shown(*n))
		}
	})
	return list, err
}

func (c *calls) Waits(ctx context.Context) ([]session.Wait, error) {
	list := []session.Wait{}
	err := c.do(ctx, func() {
		for _, w := range c.l.waits.list {
			list = append(list, w.Wait)
		}
	})
	return list, err
}

func (c *calls) Events(after uint64) ([]api.Event, error) { return c.l.store.Events(after, 0) }
func (c *calls) Feed() *api.Feed                          { return &c.l.feed }
