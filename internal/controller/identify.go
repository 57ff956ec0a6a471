package controller

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/plan"
	"gascity.dev/gc/internal/controller/query"
	"gascity.dev/gc/runtime"
)

// applyOne updates one agent by the result of a probe.
func (ob *observer) applyOne(ag *agentState, a probeResult) {
	if a.err != nil {
		if ag.queryErr == "" {
			ob.logf("%s: cannot tell: %v", ag.name(), a.err)
		}
		ag.cannotTell(a.err)
		if ag.seen.Record.Unsure {
			ob.l.starts.backendSilent(ag)
		}
		return
	}
	ag.queryErr = ""
	if a.presence == plan.Gone {
		up := ag.seen.Presence == plan.Alive || ag.seen.Presence == plan.Zombie || ag.seen.Presence == plan.Unknown && ag.seen.Record.Open
		cut := up && ag.seen.Presence == plan.Unknown && ag.seen.Record.Ending == "" && (a.neverRan || ag.neverMade(a.exit))
		switch {
		case cut && ag.oneShot() && time.Since(a.startedAt) < lateStart:
			ob.observeBy(a.startedAt.Add(lateStart))
			return
		case cut:
			ob.neverStarted(ag)
		case up:
			ob.l.stops.died(ag, a.exit, a.screen)
		}
		ag.seen.Presence, ag.foreign, ag.seen.Occupant = plan.Gone, false, ""
		return
	}
	if a.probe.meta {
		ob.identify(ag, a)
	} else if a.meta != nil {
		ag.seen.Drain.Ack = a.meta[agent.MetaDrainAck] == "1"
		ag.seen.RestartAsked = a.meta[agent.MetaRestart] != ""
	}
	if a.presence == plan.Zombie && ag.seen.Presence != plan.Zombie {
		ob.noteAgent(ag, api.EventZombie, "", plan.WhyZombie)
	}
	ag.seen.Presence = a.presence
	if r := &ag.seen.Record; r.Ending != "" && a.at.Sub(r.EndingAt) > stopTimeout {
		r.Ending, r.EndingAt = "", time.Time{} // the stop did not reach it
		ob.l.save(ag)
	}
	if a.attach {
		ag.seen.Attached, ag.seen.Asked = a.attached, a.at
	}
	if a.active {
		ag.noteQuiet(a.activity, a.at)
		ag.seen.Working = a.working
	}
}

// lateStart is how long a backend may take to carry out a request whose sender
// has died. Restarted sooner, a one_shot could run twice; a long-lived session
// cannot, as its name is taken.
const lateStart = 2 * time.Second

// neverMade reports whether the backend failed the last start, and no end of a
// session from it is known.
func (ag *agentState) neverMade(exit *runtime.Exit) bool {
	r := &ag.seen.Record
	known := r.LastExit != nil && exit != nil && exit.Time.Equal(r.LastExit.Time)
	return r.Unsure && (exit == nil || known || exit.Time.Before(r.Started))
}

// neverStarted takes back a start that made no session: an earlier controller
// died before it, or the backend failed it. It is not a crash, and a one_shot
// may still run.
func (ob *observer) neverStarted(ag *agentState) {
	failed := ag.seen.Record.Unsure
	ag.seen.Record.CutShort()
	ob.l.save(ag)
	if !failed {
		ob.noteAgent(ag, api.EventStartFailed, "", "the controller ended before it was started")
	}
}

// identify decides whose a running session is, and adopts this city's.
func (ob *observer) identify(ag *agentState, a probeResult) {
	by := plan.Adopter{City: ob.o.City.Dir, Run: ob.runID, Wanted: ag.spec != nil, OneShot: ag.oneShot()}
	was := ag.foreign
	seen, adoption := plan.Adopt(by, ag.seen, a.claim(ob.o.City.Daemon.DriftDrainTimeout))
	ag.seen, ag.foreign = seen, adoption == plan.Foreign
	switch {
	case ag.foreign && !was:
		ob.noteAgent(ag, api.EventForeign, "", api.ErrForeign.Error())
	case adoption == plan.Adopted || adoption == plan.Unmarked:
		ob.l.save(ag)
		ob.noteAgent(ag, api.EventAdopted, "", "")
		ob.l.starts.attend(ag)
		ob.l.starts.followTurns(ag)
		if adoption == plan.Unmarked {
			ob.remark(ag)
		}
	}
	if a.moved && !ag.foreign {
		ob.markMoved(ag)
	}
}

// claim returns what the session says about itself. limit applies to a drain
// that an earlier controller began.
func (a *probeResult) claim(limit time.Duration) plan.Claim {
	c := plan.Claim{
		City: a.meta[agent.MetaCityPath], Agent: a.meta[agent.MetaAgent],
		ID: a.meta[agent.MetaSessionID], Token: a.meta[agent.MetaToken],
		Hashes: hashesFrom(a.meta), RestartAsked: a.meta[agent.MetaRestart] != "",
	}
	if epoch, err := strconv.ParseInt(a.meta[agent.MetaEpoch], 10, 64); err == nil {
		c.Epoch = epoch
	}
	if sec, err := strconv.ParseInt(a.meta[agent.MetaDrain], 10, 64); err == nil {
		c.Drain = plan.Drain{Since: time.Unix(sec, 0), Why: plan.WhyDrained, Limit: limit, Ack: a.meta[agent.MetaDrainAck] == "1"}
	}
	if a.live != nil {
		c.InProcess, c.ProcessEpoch = true, a.live.Epoch
	}
	return c
}

// markMoved marks a session of a moved city with its new folder.
func (ob *observer) markMoved(ag *agentState) {
	if ag.op.name != "" {
		return // by opMark, which does the same
	}
	ob.l.begin(ag, opMark)
	name, city := ag.seen.Session, ob.o.City.Dir
	ob.ops.Go(func() {
		err := setMeta(ob.ops.ctx, ob.p, name, map[string]string{agent.MetaCityPath: city})
		ob.post(func() { ob.l.finishOp(ag, "mark session "+name, err) })
	})
}

// environment queries the process table, once per observation, for sessions that
// hold processes of this city.
type environment struct {
	city string
	was  string // the city's folder before it was moved; "" if it was not
	once sync.Once
	live map[string]runtime.LiveRuntime // by session name
	err  error
}

func (e *environment) of(ctx context.Context, scan runtime.ProcessTableScanner, name string) (*runtime.LiveRuntime, error) {
	e.once.Do(func() {
		e.live = map[string]runtime.LiveRuntime{}
		list, err := query.Ask(ctx, func(ctx context.Context) ([]runtime.LiveRuntime, error) { return scan.FindRuntimesBySessionID(ctx, "") })
		e.err = err
		for _, r := range list {
			if (r.City == e.city || e.was != "" && r.City == e.was) && r.Session != "" && r.Tracked {
				e.live[r.Session] = r
			}
		}
	})
	if r, ok := e.live[name]; ok {
		return &r, nil
	}
	return nil, e.err
}

// byEnvironment finds the owner of an unmarked session, which a start that was
// cut short leaves behind. Without a process table the recorded intent decides,
// because no one else claims the session.
func (a *probeResult) byEnvironment(ctx context.Context, p runtime.Provider, env *environment) error {
	scan, ok := runtime.As[runtime.ProcessTableScanner](p)
	if !ok {
		if !a.startedAt.IsZero() {
			a.meta[agent.MetaCityPath] = env.city
		}
		return nil
	}
	var err error
	if a.live, err = env.of(ctx, scan, a.session); a.live != nil {
		a.meta[agent.MetaCityPath] = env.city
		return nil
	}
	return err
}

// incarnations returns the newest session id of each agent on record.
func (rs *roster) incarnations() map[string]bool {
	ids := map[string]bool{}
	for _, r := range rs.records {
		if r.ID != "" {
			ids[r.ID] = true
		}
	}
	return ids
}

// endStrays ends agents of this city that run outside of any session the backend
// knows, as after the loss of a backend: processes with this city's mark and the
// session id of an agent on record that no tracked process has. Processes that
// an agent started elsewhere, such as background commands, also have the city's
// mark but an id of their own; they are left alone. endStrays runs once, before the first
// start, so that no agent runs twice.
func (ob *observer) endStrays(city string, incarnations map[string]bool) {
	scan, ok := runtime.As[runtime.ProcessTableScanner](ob.p)
	if !ok {
		return
	}
	live, err := query.Ask(ob.ops.ctx, func(ctx context.Context) ([]runtime.LiveRuntime, error) {
		return scan.FindRuntimesBySessionID(ctx, "")
	})
	if err != nil {
		return // cannot tell which of them the backend knows
	}
	tracked := map[string]bool{}
	for _, r := range live {
		tracked[r.SessionID] = tracked[r.SessionID] || r.Tracked
	}
	for _, r := range live {
		if r.City != city || !incarnations[r.SessionID] || tracked[r.SessionID] || r.PID == os.Getpid() {
			continue
		}
		_, err := query.Ask(ob.ops.ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, scan.TerminateRuntime(ctx, r) })
		detail := fmt.Sprintf("process %d of session id %s ran outside of any session: ended", r.PID, r.SessionID)
		if err != nil {
			detail = fmt.Sprintf("process %d runs outside of any session: %v", r.PID, err)
		}
		ob.post(func() { ob.note(api.Event{Kind: api.EventOrphan, Detail: detail}) })
	}
}
