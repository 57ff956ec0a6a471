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
	"gascity.dev/gc/runtime"
)

// take updates one member by what was learned of it.
func (ob *observer) applyOne(m *member, a answer) {
	if a.err != nil {
		if m.queryErr == "" {
			ob.l.logf("%s: cannot tell: %v", m.name(), a.err)
		}
		m.queryErr = a.err.Error()
		if m.seen.Record.Unsure {
			ob.l.starts.backendFailed(m)
		}
		return
	}
	m.queryErr = ""
	if a.presence == plan.Gone {
		up := m.seen.Presence == plan.Alive || m.seen.Presence == plan.Zombie || m.seen.Presence == plan.Unknown && m.seen.Record.Open
		cut := up && m.seen.Presence == plan.Unknown && (a.neverRan || m.neverMade(a.exit))
		switch {
		case cut && m.oneShot() && time.Since(a.begun) < lateStart:
			ob.by(a.begun.Add(lateStart))
			return
		case cut:
			ob.neverStarted(m)
		case up:
			ob.l.stops.died(m, a.exit, a.screen)
		}
		m.seen.Presence, m.foreign, m.seen.Occupant = plan.Gone, false, ""
		return
	}
	if a.question.meta {
		ob.identify(m, a)
	} else if a.meta != nil {
		m.seen.Drain.Ack = a.meta[agent.MetaDrainAck] == "1"
		m.seen.RestartAsked = a.meta[agent.MetaRestart] != ""
	}
	if a.presence == plan.Zombie && m.seen.Presence != plan.Zombie {
		ob.l.noteAgent(m, api.EventZombie, "", plan.WhyZombie)
	}
	m.seen.Presence = a.presence
	if a.attach {
		m.seen.Attached, m.seen.Asked = a.attached, a.at
	}
	if a.active {
		m.noteQuiet(a.activity, a.at)
		m.seen.Working = a.working
	}
}

// lateStart is how long a backend may take to carry out a request whose sender
// has died. A one_shot that is started again earlier could run twice; a session
// that lasts cannot, by its name.
const lateStart = 2 * time.Second

// neverMade reports whether the backend failed the last start, and no session of
// it is known to have ended.
func (m *member) neverMade(exit *runtime.Exit) bool {
	r := &m.seen.Record
	known := r.LastExit != nil && exit != nil && exit.Time.Equal(r.LastExit.Time)
	return r.Unsure && (exit == nil || known || exit.Time.Before(r.Started))
}

// neverStarted takes back a start that made no session, as an earlier controller
// wrote it down and did not live to make it, or the backend failed it: it is no
// crash, and a one_shot has not had its run.
func (ob *observer) neverStarted(m *member) {
	failed := m.seen.Record.Unsure
	m.seen.Record.CutShort()
	ob.l.save(m)
	if !failed {
		ob.l.noteAgent(m, api.EventStartFailed, "", "the controller ended before it was started")
	}
}

// identify decides whose a running session is, and adopts this city's.
func (ob *observer) identify(m *member, a answer) {
	by := plan.Adopter{City: ob.l.o.City.Dir, Run: ob.l.runID, Wanted: m.spec != nil, OneShot: m.oneShot()}
	was := m.foreign
	seen, adoption := plan.Adopt(by, m.seen, a.claim(ob.l.o.City.Daemon.DriftDrainTimeout))
	m.seen, m.foreign = seen, adoption == plan.Foreign
	switch {
	case m.foreign && !was:
		ob.l.noteAgent(m, api.EventForeign, "", api.ErrForeign.Error())
	case adoption == plan.Adopted || adoption == plan.Unmarked:
		ob.l.save(m)
		ob.l.noteAgent(m, api.EventAdopted, "", "")
		ob.l.starts.attend(m)
		if adoption == plan.Unmarked {
			ob.remark(m)
		}
	}
	if a.moved && !m.foreign {
		ob.markMoved(m)
	}
}

// claim is what the session says of itself. A drain that an earlier controller
// began gets limit.
func (a *answer) claim(limit time.Duration) plan.Claim {
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
	if a.found != nil {
		c.InProcess, c.ProcessEpoch = true, a.found.Epoch
	}
	return c
}

// markMoved marks a session of a city that was moved with its new folder.
func (ob *observer) markMoved(m *member) {
	if m.op.name != "" {
		return // opMark, which does the same
	}
	ob.l.begin(m, opMark)
	name, city := m.seen.Session, ob.l.o.City.Dir
	ob.l.ops.Go(func() {
		err := setMeta(ob.l.ops.ctx, ob.l.p, name, map[string]string{agent.MetaCityPath: city})
		ob.l.post(func() { ob.l.finishOp(m, "mark session "+name, err) })
	})
}

// environment asks the process table, once for a whole look, which sessions
// hold processes of this city.
type environment struct {
	city string
	was  string // the city's folder before it was moved, "" for none
	once sync.Once
	live map[string]runtime.LiveRuntime // by session name
	err  error
}

func (e *environment) of(ctx context.Context, scan runtime.ProcessTableScanner, name string) (*runtime.LiveRuntime, error) {
	e.once.Do(func() {
		e.live = map[string]runtime.LiveRuntime{}
		list, err := ask(ctx, func(ctx context.Context) ([]runtime.LiveRuntime, error) { return scan.FindRuntimesBySessionID(ctx, "") })
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

// byEnvironment learns whose a session without a mark is: a start that was cut
// short left it so. Where the process table cannot be asked, the intent on
// record decides: nobody else claims the session.
func (a *answer) byEnvironment(ctx context.Context, p runtime.Provider, env *environment) error {
	scan, ok := runtime.As[runtime.ProcessTableScanner](p)
	if !ok {
		if !a.begun.IsZero() {
			a.meta[agent.MetaCityPath] = env.city
		}
		return nil
	}
	var err error
	if a.found, err = env.of(ctx, scan, a.session); a.found != nil {
		a.meta[agent.MetaCityPath] = env.city
		return nil
	}
	return err
}

// incarnations are the session ids of agents on record: the newest of each.
func (rs *roster) ids() map[string]bool {
	ids := map[string]bool{}
	for _, r := range rs.records {
		if r.ID != "" {
			ids[r.ID] = true
		}
	}
	return ids
}

// endStrays ends agents of this city that run outside of any session the
// backend knows, as after the loss of a backend: processes with this city's mark
// and the session id of an agent on record that no tracked process has. What an
// agent started elsewhere has the city's mark too, but an id of its own, such as
// a background command in the multiplexer: it is left alone. endStrays runs once,
// before the first start, so that no agent runs twice.
func (ob *observer) endStrays(city string, incarnations map[string]bool) {
	scan, ok := runtime.As[runtime.ProcessTableScanner](ob.l.p)
	if !ok {
		return
	}
	live, err := ask(ob.l.ops.ctx, func(ctx context.Context) ([]runtime.LiveRuntime, error) {
		return scan.FindRuntimesBySessionID(ctx, "")
	})
	if err != nil {
		return // which of them the backend knows cannot be told
	}
	tracked := map[string]bool{}
	for _, r := range live {
		tracked[r.SessionID] = tracked[r.SessionID] || r.Tracked
	}
	for _, r := range live {
		if r.City != city || !incarnations[r.SessionID] || tracked[r.SessionID] || r.PID == os.Getpid() {
			continue
		}
		_, err := ask(ob.l.ops.ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, scan.TerminateRuntime(ctx, r) })
		detail := fmt.Sprintf("process %d of session id %s ran outside of any session: ended", r.PID, r.SessionID)
		if err != nil {
			detail = fmt.Sprintf("process %d runs outside of any session: %v", r.PID, err)
		}
		ob.l.post(func() { ob.l.note(api.Event{Kind: api.EventOrphan, Detail: detail}) })
	}
}
