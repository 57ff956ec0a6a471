package controller

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/runtime"
)

// take updates one member by what was learned of it.
func (l *loop) take(m *member, a answer) {
	if a.err != nil {
		if m.queryErr == "" {
			l.logf("%s: cannot tell: %v", m.name(), a.err)
		}
		m.queryErr = a.err.Error()
		return
	}
	m.queryErr = ""
	if a.presence == Gone {
		up := m.seen.Presence == Alive || m.seen.Presence == Zombie || m.seen.Presence == Unknown && m.seen.Record.Open
		if up {
			l.died(m, a.exit, a.screen)
		}
		m.seen.Presence, m.foreign = Gone, false
		return
	}
	if a.question.meta {
		l.identify(m, a)
	} else if a.meta != nil {
		m.seen.Drain.Ack = a.meta[agent.MetaDrainAck] == "1"
		m.seen.RestartAsked = a.meta[agent.MetaRestart] != ""
	}
	if a.presence == Zombie && m.seen.Presence != Zombie {
		l.noteAgent(m, EventZombie, "", WhyZombie)
	}
	m.seen.Presence = a.presence
	if a.attach {
		m.seen.Attached, m.seen.Asked = a.attached, a.at
	}
	if a.active {
		m.seen.LastActivity = a.activity
	}
}

// identify decides whose a running session is, and adopts this city's.
func (l *loop) identify(m *member, a answer) {
	r := &m.seen.Record
	if a.meta[agent.MetaCityPath] != l.o.City.Dir {
		if !m.foreign {
			l.noteAgent(m, EventForeign, "", "a session of this name exists and is not this city's")
		}
		m.foreign, m.seen.Owned = true, false
		return
	}
	m.foreign, m.seen.Owned = false, true
	m.seen.Hashes = agent.Hashes{
		Core: a.meta[agent.MetaConfigHash], Launch: a.meta[agent.MetaLaunchHash],
		Provision: a.meta[agent.MetaProvisionHash], Live: a.meta[agent.MetaLiveHash],
	}
	if id := a.meta[agent.MetaSessionID]; id != "" {
		r.ID, r.Token = id, a.meta[agent.MetaToken]
		if epoch, err := strconv.ParseInt(a.meta[agent.MetaEpoch], 10, 64); err == nil {
			r.Epoch = max(r.Epoch, epoch)
		}
	}
	if sec, err := strconv.ParseInt(a.meta[agent.MetaDrain], 10, 64); err == nil {
		m.seen.Drain = Drain{Since: time.Unix(sec, 0), Why: WhyDrained, Limit: l.o.City.Daemon.DriftDrainTimeout, Ack: a.meta[agent.MetaDrainAck] == "1"}
	}
	m.seen.RestartAsked = a.meta[agent.MetaRestart] != ""
	if m.spec != nil && m.seen.Presence != Alive {
		if m.oneShot() && r.Job.Run == "" {
			r.Job.Run, r.Job.Hash = l.runID, m.seen.Hashes.Core
		}
		r.Open = true
		l.save(m)
		l.noteAgent(m, EventAdopted, "", "")
		if a.meta[agent.MetaConfigHash] == "" {
			l.remark(m)
		}
	}
}

// byEnvironment asks the process table whose a session without a mark is: a
// start that was cut short left it so. Where the table cannot be asked, the
// intent on record decides: nobody else claims the session.
func (a *answer) byEnvironment(ctx context.Context, p runtime.Provider, city string) error {
	scan, ok := runtime.As[runtime.ProcessTableScanner](p)
	if !ok {
		if a.meta[agent.MetaSessionID] == "" {
			a.meta[agent.MetaCityPath] = city
		}
		return nil
	}
	live, err := ask(ctx, func(ctx context.Context) ([]runtime.LiveRuntime, error) {
		return scan.FindRuntimesBySessionID(ctx, a.openID)
	})
	for _, r := range live {
		if r.City == city {
			a.meta[agent.MetaCityPath] = city
			return nil
		}
	}
	return err
}

// endStrays ends agents of this city that run outside of any session the
// backend knows, as after the loss of a backend: processes with this city's mark
// whose session id no tracked process has. It runs once, before the first start,
// so that no agent runs twice.
func (l *loop) endStrays(city string) {
	scan, ok := runtime.As[runtime.ProcessTableScanner](l.p)
	if !ok {
		return
	}
	live, err := ask(l.opCtx, func(ctx context.Context) ([]runtime.LiveRuntime, error) {
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
		if r.City != city || tracked[r.SessionID] || r.PID == os.Getpid() {
			continue
		}
		_, err := ask(l.opCtx, func(ctx context.Context) (struct{}, error) { return struct{}{}, scan.TerminateRuntime(ctx, r) })
		detail := fmt.Sprintf("process %d of session id %s ran outside of any session: ended", r.PID, r.SessionID)
		if err != nil {
			detail = fmt.Sprintf("process %d runs outside of any session: %v", r.PID, err)
		}
		l.post(func() { l.note(Event{Kind: EventOrphan, Detail: detail}) })
	}
}
