package controller

import (
	"context"
	"errors"
	"os"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
)

// DryRun returns what a start of the city would do, and does nothing: it queries
// the backend, reads the records and plans. ErrControllerRunning if a controller
// does so already. Pools count with their minimum; their checks are not run.
func DryRun(ctx context.Context, o Options) ([]plan.Action, error) {
	specs, err := agent.Build(o.City, o.Build)
	if err != nil {
		return nil, err
	}
	if c, err := api.Dial(o.City.Dir); err == nil {
		defer c.Close()
		st, err := c.Status(ctx)
		return nil, errors.Join(api.RunningError(o.City.Dir, api.Owner{PID: st.Controller.PID}), err)
	}
	l := makeLoop(o, nil)
	l.runID = "dry run"
	if err := l.peek(); err != nil {
		return nil, err
	}
	l.agents.setConfig(specs)
	var qs []probe
	skip := map[string]bool{}
	for name, ag := range l.agents.all {
		qs, skip[name] = append(qs, l.observer.probeOf(ag)), true
	}
	f := observeAll(ctx, l.p, o.City.Dir, qs, skip)
	if f.err != nil {
		return nil, f.err
	}
	for _, a := range f.answers {
		ag := l.agents.all[a.session]
		if a.err != nil {
			continue // unknown: plan nothing for it
		}
		ag.seen.Presence, ag.seen.Asked, ag.seen.Attached = a.presence, a.at, a.attached
		ag.seen.Owned = a.meta[agent.MetaCityPath] == o.City.Dir
		ag.seen.Hashes = hashesFrom(a.meta)
		if by := a.meta[agent.MetaAgent]; by != "" && by != ag.seen.Agent {
			ag.seen.Occupant = by
		}
	}
	actual := l.agents.actual()
	for _, a := range f.orphans {
		actual.Sessions = append(actual.Sessions, plan.Seen{
			Session: a.session, Presence: a.presence, Owned: true, Occupant: a.meta[agent.MetaAgent], Held: l.pools.mayBeMember(a.meta[agent.MetaAgent]),
		})
	}
	return plan.Foresee(l.agents.desired(), actual, time.Now()), nil
}

// peek reads the city's database, if it has one, and changes nothing.
func (l *loop) peek() error {
	if _, err := os.Stat(api.DBPath(l.o.City.Dir)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	b, err := api.OpenStore(l.o.City.Dir)
	if err != nil {
		return err
	}
	l.agents.records, err = b.Records()
	pauses, e := b.Suspensions()
	l.suspended.byKey, err = pauses, errors.Join(err, e)
	id, ok, e := b.CurrentRun()
	if ok {
		l.runID = id
	}
	return errors.Join(err, e, b.Close())
}

func hashesFrom(meta map[string]string) agent.Hashes {
	return agent.Hashes{
		Core: meta[agent.MetaConfigHash], Launch: meta[agent.MetaLaunchHash],
		Provision: meta[agent.MetaProvisionHash], Live: meta[agent.MetaLiveHash],
	}
}
